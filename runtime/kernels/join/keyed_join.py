"""The common part of the kernels of joins: the keys of rows, and their slots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from fsql.runtime.arrow_types import arrow_type
from fsql.runtime.kernels.keyed.prepare import Evaluator

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from fsql.compiler.graph import CombineJoin
    from fsql.compiler.owner_map import BinRanges
    from fsql.runtime.arrays import Ints
    from fsql.runtime.batch import Batch, Root
    from fsql.runtime.kernels.keyed.slots import SlotTable


LEFT, RIGHT = 0, 1
PAIRS_MAX: Final = 1 << 18
"""The maximum number of pairs of one application, unless one root makes more."""


class KeyedJoin:
    """The part of `Kernel` that does not depend on how rows are stored.

    Prepared columns: keys, then those of the input.
    """

    def __init__(self, combine: CombineJoin, table: SlotTable) -> None:
        """`table` has the slots of the keys."""
        self._combine = combine
        self._evaluate = (Evaluator(combine.left_keys), Evaluator(combine.right_keys))
        self._keys = len(combine.left_keys)
        self._table = table

    def prepare(self, side: int, batch: Batch) -> tuple[Batch, Batch | None]:
        """Leave out rows with a NULL key; see `Kernel`."""
        keys, kept, errors = self._evaluate[side](batch)
        batch = batch if kept is None else batch.take(kept)
        prepared = batch.with_columns([*keys, *batch.columns])
        if any(key.null_count for key in keys):
            valid = np.logical_and.reduce(
                [key.is_valid().to_numpy(zero_copy_only=False) for key in keys]
            )
            prepared = prepared.take(np.flatnonzero(valid))
        return prepared, errors

    def keys(self, batch: Batch) -> Sequence[pa.Array]:
        return batch.columns[: self._keys]

    def slots(self, side: int, batch: Batch) -> Ints:
        del side
        return self._table.find(self.keys(batch), len(batch)).slots

    @property
    def table(self) -> SlotTable:
        return self._table

    def close(self, min_time: Root) -> None:
        """Return None: there are no windows."""
        del min_time

    def give_up(self, bins: BinRanges) -> None:
        """See `Kernel`."""

    def slots_in(self, bins: BinRanges, slots: Ints) -> Ints:
        types = [arrow_type(key.type) for key in self._combine.left_keys]
        return self._table.in_bins(bins, types, slots)

    @property
    def releases_in_parts(self) -> bool:
        return False

    def next_close(self) -> Root | None:
        return None
