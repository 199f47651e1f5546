"""Rebalancing: which worker processes the rows that a front has read, before the first stage.

Contract.  The worker of a front assigns roots, rejects malformed rows, and promises.  A batch that it has
read goes to one worker as a whole, as a message to the stage of the table.  The receiver runs the stage, and
acknowledges the message in the same step in which it sends the results.  The stage has no state, and a row
that was read is never undone.  So any worker may get any batch, and released bytes do not depend on it.

The receiver is the worker that has got the fewest rows compared with its share.  Only the reader and workers
that own bins as of the root of the row have a share.  So no rows from the position of a change on go to a
worker that leaves, and if one worker owns all bins, no third one is between it and the front.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fsql.compiler.tick_plan import SourceHead
from fsql.runtime.dataflow.topology import source_stages
from fsql.runtime.order import below

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.compiler.owners import Owners
    from fsql.compiler.tick_plan import TickPlan
    from fsql.runtime.batch import Batch
    from fsql.runtime.dataflow.routing import Routing
    from fsql.runtime.dataflow.stage_pipelines import StagePipelines


class SourceRows(NamedTuple):
    """Rows for the worker that runs the stage of their table over them."""

    worker: int
    stage: int
    batch: Batch


class Rebalancing:
    """Divides the batches that one worker reads."""

    def __init__(self, pipelines: StagePipelines, own: int) -> None:
        self._pipelines, self._own = pipelines, own
        self._stages = source_stages(pipelines.plan)
        self._shares: dict[int, _Shares] = {}

    def parts(self, ordinal: int, batch: Batch, routing: Routing) -> Iterator[SourceRows]:
        """Yield the parts of a batch that was read of table number `ordinal`, with their receivers."""
        stage = self._stages[ordinal]
        change = routing.change
        if change is None or not change.switched:
            yield self._part(stage, batch, self._pipelines.plan, routing.owners)
            return
        under = below(batch, change.position)
        for marks, plan, owners in (
            (under, self._pipelines.plan, routing.owners),
            (~under, self._pipelines.next_plan, change.owners),
        ):
            if marks.all():
                yield self._part(stage, batch, plan, owners)
            elif marks.any():
                yield self._part(stage, batch.take(np.flatnonzero(marks)), plan, owners)

    def _part(self, stage: int, batch: Batch, plan: TickPlan, owners: Owners) -> SourceRows:
        head = plan.stages[stage].head
        assert isinstance(head, SourceHead)
        receiver = self._own
        if head.rebalanced:
            others = tuple(sorted(_receivers(plan, owners) - {self._own}))
            shares = self._shares.get(stage)
            if shares is None or (shares.others, shares.percent) != (others, head.rebalanced):
                shares = self._shares[stage] = _Shares(self._own, others, head.rebalanced)
            receiver = shares.next(len(batch))
        return SourceRows(receiver, stage, batch)


class _Shares:
    """How many rows of a table each worker has got, compared with its share of them."""

    def __init__(self, own: int, others: tuple[int, ...], percent: int) -> None:
        """Let the `others` have that percentage of the rows, in equal shares."""
        self.others, self.percent = others, percent
        self._workers = (own, *others)
        self._shares = (len(others) * (100 - percent), *(percent for _ in others))
        self._sent = [0] * len(self._workers)

    def next(self, rows: int) -> int:
        """Return the worker that gets the next rows."""
        if not self.others:
            return self._workers[0]
        total = sum(self._sent) + rows
        missing = [
            share * total - sent * sum(self._shares)
            for share, sent in zip(self._shares, self._sent, strict=True)
        ]
        chosen = missing.index(max(missing))
        self._sent[chosen] += rows
        return self._workers[chosen]


def _receivers(plan: TickPlan, owners: Owners) -> set[int]:
    """Return the workers that own bins of any exchange; without exchanges, of those that are not named."""
    maps = [owners.of(name) for name in plan.exchanges.values()] or [owners.every]
    return {worker for each in maps for worker, _, _ in each.ranges}
