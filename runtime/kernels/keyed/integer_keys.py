"""Keys of integers and their slots: a hash table in arrays, which looks up all rows of a batch together.

A key is a row of *words*, one 64-bit integer for each key column.  The table has more *cells* than keys; a
cell refers to a slot, and a slot has words:

    cells   .  2  .  .  0  1  .  .        .  an empty cell
    words of slots 0, 1, 2:   (7, 1)  (9, 4)  (7, 3)
    find (9, 4): its hash is cell 4, whose slot 0 has other words; the next cell has slot 1, which is it

A batch is looked up in rounds.  Each round compares each of the remaining rows with its next cell; most rows
are found in the first. Rows with equal keys are compared with the same cells in the same rounds, so rows with
a new key reach an empty cell together: the first of them takes it, and the others find the key in it.

The cell of a removed key is not changed. Such a cell only matches if its slot has been given to the wanted
key, so it costs a comparison until the table is rebuilt.

Keys may be chosen so that their hashes collide.  A look-up that passes `_STEPS_MAX` cells rebuilds the table
with another hash function, which depends on those keys.  Outputs do not depend on it, and it is the same
whenever a run is repeated.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.few_rows import FEW_ROWS
from fsql.runtime.order import doubles_of_sortable, fixed_width, integers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.runtime.arrays import Bools, Ints


NO_SLOT: Final = -1
_EMPTY: Final = NO_SLOT
_CELLS_MIN: Final = 64
_SLOTS_MIN: Final = 16
_STEPS_MAX: Final = 128
"""Half of the cells are empty, so a key only takes this many steps if keys collide on purpose."""
_FACTOR: Final = 0x9E3779B97F4A7C15
_LAST_FACTOR: Final = 0xD6E8FEB86659FD93
_WORD: Final = (1 << 64) - 1


def integer_words(keys: Sequence[pa.Array]) -> tuple[list[Ints], Bools | None] | None:
    """Return key columns as words that are equal where the keys are, and which rows have a NULL.

    The words of rows with a NULL are arbitrary.  None if a column has a type that words cannot represent.
    """
    columns = [decode_dictionary(key) for key in keys]
    if not all(fixed_width(column.type) for column in columns):
        return None
    words, nulls = [], None
    for column in columns:
        values, valid = integers(column)
        words.append(values)
        if valid is not None:
            nulls = ~valid if nulls is None else nulls | ~valid
    return words, nulls


def columns_of_words(words: Sequence[Ints], types: Sequence[pa.DataType]) -> list[pa.Array]:
    """Return the key columns with these words; the inverse of `integer_words`."""
    return [_column_of(column, kind) for column, kind in zip(words, types, strict=True)]


def _column_of(words: Ints, kind: pa.DataType) -> pa.Array:
    if pa.types.is_floating(kind):
        return pa.array(doubles_of_sortable(words))
    if pa.types.is_boolean(kind):
        return pa.array(words != 0)
    column = pa.array(words)
    is_time = pa.types.is_timestamp(kind) or pa.types.is_duration(kind)
    return column.view(kind) if is_time else column.cast(kind)


class IntegerKeys:
    """Keys without NULL, each with a slot.

    Cost of `find`: about 50 ns a row, and 100 for a new key; up to `few_rows` rows are looked up one by one.
    """

    def __init__(self, columns: int, few_rows: int | None = None) -> None:
        """Begin without keys, which have this number of columns; `few_rows` affects speed only."""
        self._few_rows = FEW_ROWS if few_rows is None else few_rows
        self._factor = _FACTOR
        """Determines the hash function; odd."""
        self._cells = np.full(_CELLS_MIN, _EMPTY)
        self._taken = 0
        """The number of cells that are not empty."""
        self._words = [np.zeros(_SLOTS_MIN, np.int64) for _ in range(columns)]
        self._live = np.zeros(_SLOTS_MIN + 1, np.bool_)
        """Which slots have a key; the last element is False, so that an empty cell never matches."""
        self.count = 0

    def find(
        self, words: Sequence[Ints], count: int, give: Callable[[int], Ints]
    ) -> tuple[Ints, Ints]:
        """Return the slot of each row, and for each new key a row that has it.

        `give` returns the requested number of slots without keys.
        """
        if count <= self._few_rows:
            return self._find_one_by_one(words, give)
        slots = self._find_slots(words)
        unknown = np.flatnonzero(slots == NO_SLOT)
        if not len(unknown):
            return slots, unknown
        slots[unknown], new = self._insert([column[unknown] for column in words], give)
        return slots, unknown[new]

    def remove(self, slots: Ints) -> None:
        """Remove the keys of slots that have one, each given once."""
        self._live[slots] = False
        self.count -= len(slots)

    def has(self, slots: Ints) -> Bools:
        """Return for each slot whether its key is in this table."""
        return self._live[np.minimum(slots, len(self._live) - 1)]

    def slots(self) -> Ints:
        """Return the slots that have a key."""
        return np.flatnonzero(self._live)

    def words(self, slots: Ints) -> list[Ints]:
        """Return the words of slots, copied: one array for each key column."""
        return [column[slots] for column in self._words]

    def _find_slots(self, words: Sequence[Ints]) -> Ints:
        """Return the slot of each row, NO_SLOT for rows without one."""
        mask = len(self._cells) - 1
        cell = _hashes(words, self._factor) & mask
        slots = self._cells[cell]
        same = self._matches(slots, words)
        left = np.flatnonzero(~same & (slots != _EMPTY))
        slots[~same] = NO_SLOT
        step = 0
        while len(left):
            if step == _STEPS_MAX:
                self._change_hashes([column[left] for column in words])
                return self._find_slots(words)
            step += 1
            cell[left] = (cell[left] + step) & mask
            found = self._cells[cell[left]]
            same = self._matches(found, [column[left] for column in words])
            slots[left[same]] = found[same]
            left = left[~same & (found != _EMPTY)]
        return slots

    def _insert(self, words: Sequence[Ints], give: Callable[[int], Ints]) -> tuple[Ints, Ints]:
        """Return new slots for rows with unknown keys, which may be equal, and the first row of each key."""
        rows = len(words[0])
        self._reserve(rows)
        mask = len(self._cells) - 1
        cell = _hashes(words, self._factor) & mask
        slots, left = np.empty(rows, np.int64), np.arange(rows)
        new: list[Ints] = []
        step = 0
        while len(left):
            if step == _STEPS_MAX:
                self._change_hashes([column[left] for column in words])
                cell, step = _hashes(words, self._factor) & mask, 0
            here = cell[left]
            empty = self._cells[here] == _EMPTY
            claims, claimed = left[empty], here[empty]
            self._cells[claimed[::-1]] = claims[::-1]  # The first row of each cell is written last.
            first = self._cells[claimed] == claims
            new.append(claims[first])
            self._set(claimed[first], give(len(new[-1])), [column[new[-1]] for column in words])
            found = self._cells[here]
            same = self._matches(found, [column[left] for column in words])
            slots[left[same]] = found[same]
            left = left[~same]
            step += 1
            cell[left] = (cell[left] + step) & mask
        return slots, np.concatenate(new)

    def _matches(self, slots: Ints, words: Sequence[Ints]) -> Bools:
        """Return for each row whether the slot has a key, and that key is the row's."""
        same = self._live[slots]
        for own, wanted in zip(self._words, words, strict=True):
            same &= own[slots] == wanted
        return same

    def _set(self, cells: Ints, slots: Ints, words: Sequence[Ints]) -> None:
        """Let empty cells, each of which is given once, refer to slots with these words."""
        if not len(slots):
            return
        self._grow(int(slots.max()) + 1)
        self._cells[cells] = slots
        for own, column in zip(self._words, words, strict=True):
            own[slots] = column
        self._live[slots] = True
        self._taken += len(slots)
        self.count += len(slots)

    def _find_one_by_one(
        self, words: Sequence[Ints], give: Callable[[int], Ints]
    ) -> tuple[Ints, Ints]:
        slots: list[int] = []
        new: list[int] = []
        self._reserve(len(words[0]))
        for row, key in enumerate(zip(*(column.tolist() for column in words), strict=True)):
            cell, slot = self._look_up(key)
            if slot == NO_SLOT:
                given = give(1)
                self._set(np.array([cell]), given, [np.array([word]) for word in key])
                slot = given.item()
                new.append(row)
            slots.append(slot)
        return np.array(slots, np.int64), np.array(new, np.int64)

    def _look_up(self, key: tuple[int, ...]) -> tuple[int, int]:
        """Return the cell and the slot of a key; without a slot, the empty cell that it would take."""
        cells, live, mask = self._cells, self._live, len(self._cells) - 1
        cell, step = _hash(key, self._factor) & mask, 0
        while (slot := cells.item(cell)) != _EMPTY:
            own = (column.item(slot) for column in self._words)
            if live.item(slot) and all(map(int.__eq__, own, key)):
                break
            if step == _STEPS_MAX:
                self._change_hashes([np.array([word]) for word in key])
                return self._look_up(key)
            step += 1
            cell = (cell + step) & mask
        return cell, slot

    def _reserve(self, keys: int) -> None:
        """Make room for more keys: half of the cells remain empty."""
        if 2 * (self._taken + keys) <= len(self._cells):
            return
        # Twice the room that is needed, so that tables that grow or replace their keys are rarely built.
        cells = 1 << (4 * (self.count + keys) - 1).bit_length()
        self._build(max(cells, _CELLS_MIN))

    def _change_hashes(self, words: Sequence[Ints]) -> None:
        """Build the table with a hash function for which these keys, at least one, do not collide."""
        digest = blake2b(self._factor.to_bytes(8, "little"), digest_size=8)
        for column in words:
            digest.update(column.tobytes())
        self._factor = int.from_bytes(digest.digest(), "little") | 1
        self._build(len(self._cells))

    def _build(self, cells: int) -> None:
        """Give the keys new cells, of this number."""
        self._cells = np.full(cells, _EMPTY)
        slots = self.slots()
        self._taken = len(slots)
        cell = _hashes(self.words(slots), self._factor) & (len(self._cells) - 1)
        step = 0
        while len(slots):
            if step == _STEPS_MAX:
                self._change_hashes(self.words(slots))
                return
            free = self._cells[cell] == _EMPTY
            self._cells[cell[free]] = slots[free]
            left = self._cells[cell] != slots
            step += 1
            cell, slots = (cell[left] + step) & (len(self._cells) - 1), slots[left]

    def _grow(self, slots: int) -> None:
        """Make room for the words of slots below `slots`."""
        have = len(self._words[0])
        if slots > have:
            more = 2 * slots - have
            self._words = [np.append(column, np.zeros(more, np.int64)) for column in self._words]
            self._live = np.append(self._live, np.zeros(more, np.bool_))


def _hashes(words: Sequence[Ints], factor: int) -> Ints:
    """Return a hash for each row, of which the lower bits are used; it is not negative."""
    total = np.zeros(len(words[0]), np.uint64)
    for column in words:
        total ^= column.view(np.uint64)
        total *= np.uint64(factor)
        total ^= total >> np.uint64(32)
    # Doubles that are whole numbers only differ in their highest bits: hash again, so that all bits matter.
    total *= np.uint64(_LAST_FACTOR)
    total ^= total >> np.uint64(32)
    return (total >> np.uint64(1)).view(np.int64)


def _hash(key: tuple[int, ...], factor: int) -> int:
    """Return the hash of a single key, as `_hashes` does."""
    total = 0
    for word in key:
        total = ((total ^ (word & _WORD)) * factor) & _WORD
        total ^= total >> 32
    total = (total * _LAST_FACTOR) & _WORD
    total ^= total >> 32
    return total >> 1
