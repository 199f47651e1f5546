"""Slots: dense integers that stand for the keys of a fold, so that its state can live in columns."""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from fsql.runtime.order import doubles_of_sortable, plain, sortable_doubles

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

NO_SLOT: Final = -1


class SlotTable:
    """Maps keys to slots.

    A slot that is freed is retired: nobody gets it before `recycle` says that no log knows it any more.

    Cost of `find`: vectorised per row, one dictionary look-up per distinct key of the batch.
    """

    def __init__(self) -> None:
        self._slot_of: dict[object, int] = {}
        self._key_of: list[object] = []
        self._free: list[int] = []
        self._retired: list[int] = []

    def __len__(self) -> int:
        """Return how many slots there are, free ones included: the length that state columns need."""
        return len(self._key_of)

    @property
    def live(self) -> int:
        """Return how many keys have a slot."""
        return len(self._slot_of)

    def find(self, keys: Sequence[pa.Array], count: int) -> tuple[Ints, Ints, Ints]:
        """Return the slot of each row, the new slots, and for each of these a row that has its key."""
        if not keys:
            new = not self._slot_of
            slot = self._slot(()) if new else self._slot_of[()]
            firsts = np.zeros(int(new and count > 0), np.int64)
            return np.full(count, slot, np.int64), firsts + slot, firsts
        codes, values = _distinct(keys[0])
        if len(keys) > 1:
            codes, values = _distinct_tuples(keys, codes, len(values))
        found = np.array(list(map(self._slot_of.get, values, repeat(NO_SLOT))), np.int64)
        missing = np.flatnonzero(found == NO_SLOT).tolist()
        fresh: dict[int, int] = {}
        for code in missing:
            count = len(self._slot_of)
            found[code] = slot = self._slot(values[code])
            if len(self._slot_of) > count:
                fresh[code] = slot
        return self._with_first_rows(found, codes, fresh)

    @staticmethod
    def _with_first_rows(
        table: Ints, codes: Ints, fresh: dict[int, int]
    ) -> tuple[Ints, Ints, Ints]:
        if not fresh:
            none = np.empty(0, np.int64)
            return table[codes], none, none
        first_row = np.full(len(table), -1, np.int64)
        first_row[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
        fresh_codes = np.fromiter(fresh, np.int64, len(fresh))
        rows = first_row[fresh_codes]
        used = rows >= 0
        return table[codes], table[fresh_codes][used], rows[used]

    def _slot(self, key: object) -> int:
        slot = self._slot_of.get(key)
        if slot is None:
            if self._free:
                slot = self._free.pop()
                self._key_of[slot] = key
            else:
                slot = len(self._key_of)
                self._key_of.append(key)
            self._slot_of[key] = slot
        return slot

    def keys(self, slots: Ints, types: Sequence[pa.DataType]) -> list[pa.Array]:
        """Return the key columns of live slots; `types` are the types of the key columns."""
        found = [self._key_of[slot] for slot in slots.tolist()]
        if len(types) == 1:
            return [_key_column(found, types[0])]
        columns = zip(*found, strict=True) if found else ([] for _ in types)
        return [_key_column(list(c), kind) for c, kind in zip(columns, types, strict=False)]

    def free(self, slots: Ints) -> None:
        """Forget the keys of these slots; the slots are retired."""
        for slot in slots.tolist():
            del self._slot_of[self._key_of[slot]]
            self._key_of[slot] = None
            self._retired.append(slot)

    def take_retired(self) -> list[int]:
        """Return the slots retired since the last call."""
        retired, self._retired = self._retired, []
        return retired

    def recycle(self, slots: list[int]) -> None:
        """Let retired slots be used again."""
        self._free += slots

    def free_all_but(self, used: NDArray[np.bool_]) -> None:
        """Forget the keys of all slots that `used` does not mark."""
        live = np.fromiter(self._slot_of.values(), np.int64, len(self._slot_of))
        self.free(live[~used[live]])


def _distinct(array: pa.Array) -> tuple[Ints, list[object]]:
    """Return a code for each row and the key value of each code; equal values may have two codes."""
    if pa.types.is_list(array.type) or pa.types.is_null(array.type):
        codes: dict[object, int] = {}
        values = [tuple(v) if isinstance(v, list) else v for v in array.to_pylist()]
        rows = [codes.setdefault(value, len(codes)) for value in values]
        return np.array(rows, np.int64), list(codes)
    if pa.types.is_timestamp(array.type) or pa.types.is_duration(array.type):
        array = array.view(pa.int64())
    elif pa.types.is_floating(array.type):
        values_of_rows = array.fill_null(0.0).to_numpy(zero_copy_only=False)
        array = pa.array(sortable_doubles(values_of_rows), mask=_nulls(array))
    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    distinct = array.dictionary.to_pylist()
    indices = array.indices
    if indices.null_count:
        indices = indices.fill_null(len(distinct))
        distinct.append(None)
    return indices.to_numpy(zero_copy_only=False), distinct


def _nulls(array: pa.Array) -> NDArray[np.bool_] | None:
    return array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None


def _distinct_tuples(keys: Sequence[pa.Array], codes: Ints, card: int) -> tuple[Ints, list[object]]:
    """Combine the codes of all key columns; the values are tuples."""
    columns = [(codes.astype(np.int64), card)]
    values = [_distinct(keys[0])[1]]
    for key in keys[1:]:
        more, distinct = _distinct(key)
        columns.append((more.astype(np.int64), len(distinct)))
        values.append(distinct)
    combined, space = columns[0]
    for column, cards in columns[1:]:
        if space * cards >= 1 << 62:
            _, combined = np.unique(combined, return_inverse=True)
            space = int(combined.max(initial=0)) + 1
        combined = combined * cards + column
        space *= cards
    encoded = pa.array(combined).dictionary_encode()
    rows = encoded.indices.to_numpy(zero_copy_only=False)
    first = np.empty(len(encoded.dictionary), np.int64)
    first[rows[::-1]] = np.arange(len(rows) - 1, -1, -1)
    parts = [
        [distinct[code] for code in column[first].tolist()]
        for (column, _), distinct in zip(columns, values, strict=True)
    ]
    return rows, list(zip(*parts, strict=True))


def _key_column(values: list[object], kind: pa.DataType) -> pa.Array:
    """Turn what `_distinct` made of key values back into a column."""
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return pa.array(values, pa.int64()).view(kind)
    if pa.types.is_floating(kind):
        keys = pa.array(values, pa.int64())
        doubles = doubles_of_sortable(keys.fill_null(0).to_numpy(zero_copy_only=False))
        return pa.array(doubles, mask=_nulls(keys))
    return pa.array(values, kind)


def key_values(array: pa.Array) -> pa.Array:
    """Return a key column as keys are compared: without dictionary, -0.0 as 0.0."""
    array = plain(array)
    if pa.types.is_floating(array.type):
        values = array.fill_null(0.0).to_numpy(zero_copy_only=False) + 0.0
        return pa.array(values, mask=_nulls(array))
    return array
