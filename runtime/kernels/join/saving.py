"""Saving of joins: an increment has the rows that came in since the last one, each with its weight.

A join keeps rows, not states of keys, and which of them are new is told by their roots: an increment has
those between the position of the last one and its own.  Between key and expiry (see `increment`) are

    side   time   origin   path_0 …   weight   left_0 …   right_0 …

where the columns of the other side are NULL.  Of updating input, positions are 0: no later row asks for
them, and a row and its retraction are to be equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from fsql.runtime.arrow_types import arrow_type
from fsql.runtime.batch import START, Batch
from fsql.runtime.kernels.join.rows import LEFT, RIGHT, JoinRows, Stored, sorted_run
from fsql.runtime.kernels.keyed.increment import (
    EXPIRES,
    HASH,
    NEVER,
    WEIGHT,
    Increment,
    increment,
    merged,
)
from fsql.runtime.kernels.keyed.kernel import Slotted
from fsql.runtime.order import below, concat, key_values, plain
from fsql.runtime.weights import expanded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fsql.compiler.graph import CombineJoin
    from fsql.compiler.schema import Schema
    from fsql.runtime.batch import Root

    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

NAMES = ("left", "right")


class JoinSaving:
    """`kernel.Saving` over the rows that a join has."""

    def __init__(self, combine: CombineJoin, schemas: Sequence[Schema], rows: JoinRows) -> None:
        """Begin with nothing saved: the first increment has all rows, and until then none is noted."""
        self.position: Root | None = None
        self._combine = combine
        self._rows = rows
        self._key_types = [arrow_type(key.type) for key in combine.left_keys]
        self._types = [[arrow_type(column.type) for column in schema] for schema in schemas]
        self._depths = (combine.left_depth, combine.right_depth)
        self._saved_to = START
        self._settled: tuple[list[Batch], list[Batch]] | None = None

    def announce(self, position: Root) -> None:
        self.position = position

    def cancel(self) -> None:
        self.position = None

    def before(self, sides: Sequence[Slotted | None]) -> None:
        """See `Saving`: rows are noted when they settle."""

    def taken_back(self, slots: Bools, greatest: Root) -> None:
        """See `Saving`: what was taken back has not settled."""

    def freed(self, slots: list[int]) -> None:
        """See `Saving`: increments have keys, not slots."""

    def settled(self, stored: Stored) -> None:
        """Learn that rows are final.  A repair may let rows settle that have been saved already."""
        if self._settled is not None:
            for side, rows in enumerate(stored.sides):
                if rows is not None and len(rows.slot):
                    self._settled[side].append(rows.batch)

    def take(self) -> Increment | None:
        position = self.position
        assert position is not None
        unsaved = [self._unsaved(side) for side in (LEFT, RIGHT)]

        def rows() -> pa.RecordBatch:
            parts = [self._columns(side, batches) for side, batches in enumerate(unsaved)]
            keys = [pa.concat_arrays(one) for one in zip(*(keys for keys, _ in parts), strict=True)]
            state = pa.concat_batches([rows for _, rows in parts])
            return merged([increment(keys, state, appends=True)], position).rows

        self._saved_to = position
        self._settled = ([], [])
        self.position = None
        return Increment(rows, len(self._key_types), appends=True) if any(unsaved) else None

    def _unsaved(self, side: int) -> list[Batch]:
        """Return the rows between the position of the last increment and the announced one.

        Rows below it that have not settled are behind others in the fold's log, and as final as they.
        """
        assert self.position is not None
        if self._settled is None:
            batches = [run.batch for run in self._rows.stored(side)]
        else:
            pending = [run.batch for run in self._rows.pending(side)]
            batches = [*self._settled[side], *pending]
        found = []
        for batch in batches:
            new = below(batch, self.position) & ~below(batch, self._saved_to)
            if new.any():
                found.append(batch.take(np.flatnonzero(new)))
        return found

    def _columns(self, side: int, batches: list[Batch]) -> tuple[list[pa.Array], pa.RecordBatch]:
        """Return the keys of rows of a side, and the columns behind them."""
        types = [*self._key_types, *self._types[side]]
        batch = concat(batches) if batches else _no_rows(types, self._depths[side])
        count = len(batch)
        values = [plain(column) for column in batch.columns]
        keys = [_canonical(key) for key in values[: len(self._key_types)]]
        places = [batch.time, batch.origin, *batch.path]
        if not self._combine.input_append_only:
            places = [np.zeros(count, np.int64) for _ in places]
        places += [np.full(count, -1)] * (max(self._depths) - self._depths[side])
        names = ["time", "origin", *(f"path_{level}" for level in range(max(self._depths)))]
        columns = {"side": pa.array(np.full(count, side, np.int8))}
        columns.update((name, pa.array(place)) for name, place in zip(names, places, strict=True))
        columns[WEIGHT] = pa.array(batch.weights())
        for other, name in enumerate(NAMES):
            own = (
                values[len(keys) :]
                if other == side
                else [pa.nulls(count, t) for t in self._types[other]]
            )
            columns.update((f"{name}_{index}", column) for index, column in enumerate(own))
        expires = np.full(count, NEVER)
        if self._combine.time_range is not None:
            expires = self._rows.expires(side, batch)
        columns[EXPIRES] = pa.array(expires)
        return keys, pa.RecordBatch.from_pydict(columns)

    def load(self, state: Increment, position: Root) -> None:
        self._saved_to = position
        self._settled = ([], [])
        sides = state.rows.column("side").to_numpy()
        hashes = state.rows.column(HASH).to_numpy()
        slots = self._rows.table.load(state.rows.columns[: state.keys], hashes)
        loaded: list[Slotted | None] = []
        for side in (LEFT, RIGHT):
            places = np.flatnonzero(sides == side)
            rows = self._slotted(side, state.rows.take(pa.array(places)), slots[places])
            loaded.append(sorted_run(rows) if len(rows.slot) else None)
        self._rows.settle(Stored(loaded))

    def _slotted(self, side: int, rows: pa.RecordBatch, slots: Ints) -> Slotted:
        names = [f"key_{index}" for index in range(len(self._key_types))]
        names += [f"{NAMES[side]}_{index}" for index in range(len(self._types[side]))]
        path = [f"path_{level}" for level in range(self._depths[side])]
        time, origin, weight, *levels = (
            rows.column(name).to_numpy() for name in ("time", "origin", WEIGHT, *path)
        )
        columns = [rows.column(name) for name in names]
        batch = Batch(columns, time, origin, tuple(levels), weight)
        if self._combine.input_append_only:
            return Slotted(expanded(batch), np.repeat(slots, weight))
        return Slotted(batch, slots)


def _no_rows(types: Sequence[pa.DataType], depth: int) -> Batch:
    none = np.empty(0, np.int64)
    return Batch([pa.array([], kind) for kind in types], none, none, (none,) * depth)


def _canonical(key: pa.Array) -> pa.Array:
    """Return a key column, which has no NULL, with one zero and one NaN."""
    key = key_values(key)
    if pa.types.is_floating(key.type):
        doubles = key.to_numpy()
        return pa.array(np.where(np.isnan(doubles), np.nan, doubles))
    return key
