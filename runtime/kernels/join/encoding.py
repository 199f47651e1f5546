"""The columns of the rows of a join in incremental snapshots.

    key_0 …   hash   side   time   origin   path_0 …   weight   left_0 …   right_0 …   expires

In a row of one side, the columns of the other side are NULL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from fsql.runtime.arrow_types import arrow_type
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.kernels.keyed.incremental_snapshot import (
    EXPIRES,
    WEIGHT,
    IncrementalSnapshot,
    incremental_snapshot,
    merge_snapshots,
)
from fsql.runtime.order import key_values

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.graph import CombineJoin
    from fsql.compiler.schema import Schema
    from fsql.runtime.arrays import Ints
    from fsql.runtime.batch import Root


SIDE: Final = "side"
_NAMES: Final = ("left", "right")

KeysAndState = tuple[list[pa.Array], pa.RecordBatch]


class JoinEncoding:
    """Encodes and decodes rows whose columns are the keys, then those of the input."""

    def __init__(self, combine: CombineJoin, schemas: Sequence[Schema]) -> None:
        """`schemas` are those of the sides."""
        self._keys = [arrow_type(key.type) for key in combine.left_keys]
        self._depth = max(combine.left_depth, combine.right_depth)
        self._types = [[arrow_type(column.type) for column in schema] for schema in schemas]

    def no_rows(self, side: int) -> list[pa.Array]:
        """Return the columns of a side without rows."""
        return [pa.array([], kind) for kind in (*self._keys, *self._types[side])]

    def positions(self, columns: Sequence[Ints]) -> dict[str, Ints]:
        """Return position columns by name: time, origin and path, padded to the depth of the deeper side."""
        names = ("time", "origin", *(f"path_{level}" for level in range(self._depth)))
        padding = [np.full(len(columns[0]), -1)] * (len(names) - len(columns))
        return dict(zip(names, [*columns, *padding], strict=True))

    def rows_of(
        self,
        side: int,
        columns: Sequence[pa.Array],
        positions: Mapping[str, Ints],
        weight: Ints,
        expires: Ints,
    ) -> KeysAndState:
        """Return the keys of rows of a side, and the other columns of the snapshot."""
        count = len(weight)
        values = [decode_dictionary(column) for column in columns]
        keys = [_canonical(key) for key in values[: len(self._keys)]]
        made = {SIDE: pa.array(np.full(count, side, np.int8))}
        made.update((name, pa.array(column)) for name, column in positions.items())
        made[WEIGHT] = pa.array(weight)
        for other, name in enumerate(_NAMES):
            nulls = (pa.nulls(count, kind) for kind in self._types[other])
            own = values[len(keys) :] if other == side else nulls
            made.update((f"{name}_{index}", column) for index, column in enumerate(own))
        made[EXPIRES] = pa.array(expires)
        return keys, pa.RecordBatch.from_pydict(made)

    def columns_of(self, side: int, rows: pa.RecordBatch) -> list[pa.Array]:
        """Return the columns of a side's rows in an incremental snapshot."""
        names = [f"key_{index}" for index in range(len(self._keys))]
        names += [f"{_NAMES[side]}_{index}" for index in range(len(self._types[side]))]
        return [rows.column(name) for name in names]


def merge_parts(parts: Sequence[KeysAndState], position: Root) -> pa.RecordBatch:
    """Return the rows of the incremental snapshot with the rows of both sides."""
    keys = [pa.concat_arrays(columns) for columns in zip(*(k for k, _ in parts), strict=True)]
    state = pa.concat_batches([rows for _, rows in parts])
    return merge_snapshots([incremental_snapshot(keys, state, appends=True)], position).rows


def rows_of_side(state: IncrementalSnapshot, side: int) -> Ints:
    """Return the indexes of the rows of a side."""
    return np.flatnonzero(state.rows.column(SIDE).to_numpy() == side)


def _canonical(key: pa.Array) -> pa.Array:
    """Return a key column, which has no NULL, with one zero and one NaN."""
    key = key_values(key)
    if pa.types.is_floating(key.type):
        doubles = key.to_numpy()
        return pa.array(np.where(np.isnan(doubles), np.nan, doubles))
    return key
