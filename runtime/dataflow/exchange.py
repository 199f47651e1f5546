"""The sending side of the exchange: which worker gets each row that a stage sends into a fold.

Rows of hot keys are pre-aggregated where the plan says so.  Rows on different sides of the announced position
of a snapshot or tick must not be combined.  So a worker agrees only to a position that is above all rows it
has replaced, and divides a batch with rows on both sides of a position that it has agreed to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fsql.compiler.tick_plan import Placement
from fsql.runtime.batch import START, Batch, Root
from fsql.runtime.hashing import hash_rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fsql.compiler.tick_plan import ToFold
    from fsql.runtime.arrays import Ints
    from fsql.runtime.dataflow.bin_loads import BinLoads
    from fsql.runtime.dataflow.routing import Routing
    from fsql.runtime.dataflow.stage_pipelines import StagePipelines

    Hashes = NDArray[np.uint32]


class Part(NamedTuple):
    """The rows of a batch for one worker (None: all rows); `moved` marks rows of bins that have moved."""

    worker: int
    moved: bool
    rows: Ints | None


class Exchange:
    """Splits batches by the owners of their keys.

    `reached` is the greatest root of a row that was replaced by others.
    """

    def __init__(self, pipelines: StagePipelines, loads: BinLoads | None, own: int) -> None:
        self.reached = START
        self._own = own
        self._pipelines = pipelines
        self._loads = loads
        self._position: Root | None = None
        """The last announced position that was agreed to."""

    def agrees_to(self, position: Root) -> bool:
        """Return whether no rows on both sides of a position were combined; from now on none are."""
        if position <= self.reached:
            return False
        self._position = position
        return True

    def parts(
        self, routing: Routing, stage: int, to: ToFold, batch: Batch
    ) -> tuple[Batch, list[Part], Batch | None]:
        """Return the rows to send, the part of each worker, and the rows whose keys are errors.

        If the worker owns all keys, or the rows stay, they need no exchange, and are only sampled for
        statistics; then the fold finds the errors of their keys.
        """
        if routing.only_owner(to.stage) == self._own:
            if self._loads is not None:
                self._loads.sample(to, self._pipelines.keys_of(stage, to), batch)
            return batch, [Part(self._own, moved=False, rows=None)], None
        if to.placement is Placement.HERE:
            here = routing.keep(to.stage, batch, self._own)
            if here is not None:
                if self._loads is not None:
                    self._loads.sample(to, self._pipelines.keys_of(stage, to), batch)
                return batch, [Part(*part) for part in here], None
        values, kept, errors = self._pipelines.keys_of(stage, to)(batch)
        if kept is not None:
            batch = batch.take(kept)
        hashes = sent = hash_rows(values, len(batch))
        if to.pre_aggregates:
            batch, sent = self._pre_aggregate(to, batch, hashes)
        if self._loads is not None:
            self._loads.add(to, values, hashes, sent, batch)
        if to.placement is Placement.EVERY:
            return batch, [Part(*part) for part in routing.copy(to.stage, batch)], errors
        return batch, [Part(*part) for part in routing.split(to.stage, batch, sent)], errors

    def _pre_aggregate(self, to: ToFold, batch: Batch, hashes: Hashes) -> tuple[Batch, Hashes]:
        """Return a batch with the rows of hot keys replaced, and the hashes of its rows."""
        if len(batch) < to.pre_aggregates:
            return batch, hashes
        found = self._pipelines.pre_aggregation(to)(batch, hashes, self._cut(batch))
        if found is None:
            return batch, hashes
        self.reached = max(self.reached, found.greatest)
        return found.batch, hashes[found.rows]

    def _cut(self, batch: Batch) -> Root | None:
        """Return the announced position if a batch has rows on both sides of it."""
        span = batch.span()
        if self._position is None or not span.least < self._position <= span.greatest:
            return None
        return self._position
