"""The last value of each slot, and whether or how often it has a row: the state of `graph.CombineChanges`.

Values of any type are kept in chunks, which are Arrow arrays: the values of each batch are appended, and a
slot has the index of its value.  Chunks are merged so that each is at least twice as long as the next, and
are packed when half of their values no longer belong to a slot.  The cost of a change does not depend on the
number of slots.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from fsql.runtime.arrow_types import arrow_type
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.kernels.aggregate.accumulators import Count
from fsql.runtime.kernels.aggregate.state_column import StateColumn, count_column, or_ones
from fsql.runtime.kernels.aggregate.steps import Values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler.sqltypes import SqlType
    from fsql.runtime.arrays import Ints
    from fsql.runtime.kernels.aggregate.steps import Steps


_PACKED_FROM: Final = 4096
"""Chunks with fewer values than this are not packed."""
_MERGED_BYTES_MAX: Final = 1 << 30
"""Chunks are not merged beyond this size: the offsets of Arrow's strings have 32 bits."""


class Present:
    """1 for a slot whose last row is present, else 0; the values are BOOLEAN, not NULL."""

    def __init__(self) -> None:
        self._present = StateColumn()

    def grow(self, slots: int) -> None:
        self._present.grow(slots)

    def clear(self, slots: Ints) -> None:
        self._present.values[slots] = 0

    def add(self, values: pa.Array | None, weights: Ints | None, steps: Steps) -> Values:
        del weights
        assert values is not None
        after = values.to_numpy(zero_copy_only=False)[_last_rows(steps)].astype(np.int64)
        self._present.set(after, steps)
        return Values(pa.array(after))

    def read(self, slots: Ints) -> Values:
        return Values(pa.array(self._present.values[slots]))

    def save(self, slots: Ints) -> Ints:
        return self._present.values[slots]

    def restore(self, slots: Ints, saved: Ints, kept: Ints) -> None:
        self._present.values[slots[kept]] = saved[kept]

    def columns(self, slots: Ints) -> dict[str, pa.Array]:
        return {"present": count_column(self._present, slots)}

    def load(self, slots: Ints, columns: Mapping[str, pa.Array]) -> None:
        self._present.values[slots] = columns["present"].fill_null(0).to_numpy()


class Balance(Count):
    """The added rows of each slot less the removed ones; the values are BOOLEAN, TRUE for an added row."""

    def add(self, values: pa.Array | None, weights: Ints | None, steps: Steps) -> Values:
        assert values is not None
        added = values.to_numpy(zero_copy_only=False).astype(np.int64)
        signs = (2 * added - 1) * or_ones(weights)
        return Values(pa.array(self._count.add(steps.sums(signs), steps)))


class LastValue:
    """The value of the last row of each slot, NULL for none."""

    def __init__(self, sql_type: SqlType) -> None:
        self._type = arrow_type(sql_type)
        self._index = StateColumn()
        """For each slot the index of its value in all chunks, from 1; 0 for NULL."""
        self._chunks: list[pa.Array] = []
        self._starts = np.zeros(1, np.int64)
        """The number of values before each chunk, and in all chunks."""
        self._packed_at = _PACKED_FROM

    def grow(self, slots: int) -> None:
        self._index.grow(slots)

    def clear(self, slots: Ints) -> None:
        self._index.values[slots] = 0

    def add(self, values: pa.Array | None, weights: Ints | None, steps: Steps) -> Values:
        del weights
        assert values is not None
        after = decode_dictionary(values).take(pa.array(_last_rows(steps)))
        last = after if steps.one_a_slot else after.take(pa.array(steps.last))
        self._set(steps.slots, last)
        return Values(after)

    def read(self, slots: Ints) -> Values:
        return Values(self._values(self._index.values[slots]))

    def save(self, slots: Ints) -> pa.Array:
        """Return the values: indexes change when chunks are packed."""
        return self._values(self._index.values[slots])

    def restore(self, slots: Ints, saved: pa.Array, kept: Ints) -> None:
        self._set(slots[kept], saved.take(pa.array(kept)))

    def columns(self, slots: Ints) -> dict[str, pa.Array]:
        return {"value": self.read(slots).array}

    def load(self, slots: Ints, columns: Mapping[str, pa.Array]) -> None:
        self._set(slots, columns["value"])

    def _set(self, slots: Ints, values: pa.Array) -> None:
        """Append the values of slots, which are distinct."""
        some = values.is_valid().to_numpy(zero_copy_only=False)
        indexes = np.cumsum(some) + self._starts[-1]
        self._index.values[slots] = np.where(some, indexes, 0)
        chunk = values.drop_null() if values.null_count else values
        if len(chunk):
            self._chunks.append(chunk)
            self._merge()
            if self._starts[-1] >= self._packed_at:
                self._pack()

    def _merge(self) -> None:
        while len(self._chunks) > 1 and len(self._chunks[-2]) < 2 * len(self._chunks[-1]):
            if self._chunks[-2].nbytes + self._chunks[-1].nbytes > _MERGED_BYTES_MAX:
                break
            last = self._chunks.pop()
            self._chunks[-1] = pa.concat_arrays([self._chunks[-1], last])
        self._starts = np.cumsum([0, *map(len, self._chunks)])

    def _pack(self) -> None:
        """Drop the values that belong to no slot."""
        slots = np.flatnonzero(self._index.values)
        slots = slots[np.argsort(self._index.values[slots], kind="stable")]
        indexes = self._index.values[slots] - 1
        bounds = np.searchsorted(indexes, self._starts)
        self._chunks = [
            chunk.take(pa.array(indexes[low:high] - start))
            for chunk, start, low, high in zip(
                self._chunks, self._starts, bounds, bounds[1:], strict=False
            )
            if high > low
        ]
        self._index.values[slots] = np.arange(1, len(slots) + 1)
        self._packed_at = 2 * len(slots) + _PACKED_FROM
        self._merge()

    def _values(self, indexes: Ints) -> pa.Array:
        if len(self._chunks) == 1:
            return self._chunks[0].take(pa.array(indexes - 1, mask=indexes == 0))
        chunk_of = np.searchsorted(self._starts[1:-1], indexes - 1, side="right")
        order = np.argsort(chunk_of, kind="stable")
        bounds = np.searchsorted(chunk_of[order], np.arange(len(self._chunks) + 1))
        parts = [pa.nulls(0, self._type)]
        for chunk, start, low, high in zip(
            self._chunks, self._starts, bounds, bounds[1:], strict=False
        ):
            if high > low:
                wanted = indexes[order[low:high]]
                parts.append(chunk.take(pa.array(wanted - 1 - start, mask=wanted == 0)))
        if not self._chunks:
            return pa.nulls(len(indexes), self._type)
        back = np.empty(len(indexes), np.int64)
        back[order] = np.arange(len(indexes))
        return pa.concat_arrays(parts).take(pa.array(back))


def _last_rows(steps: Steps) -> Ints:
    """Return the last row of each step."""
    return np.append(steps.start[1:], steps.rows) - 1
