"""Slots: dense integers for the keys of a fold, so that its state can be kept in columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import chain, repeat
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from fsql.compiler.owner_map import BIN_SHIFT, BINS
from fsql.runtime.dictionaries import begins_with
from fsql.runtime.few_rows import FEW_ROWS_IN_C
from fsql.runtime.hashing import hash_rows
from fsql.runtime.kernels.keyed.key_objects import (
    comparable_column,
    compared_in_python,
    key_columns,
    keys_of_rows,
    values_of_rows,
)
from fsql.runtime.kernels.keyed.loaded_keys import LoadedKeys, starts_of_keys
from fsql.runtime.nested_types import is_nested
from fsql.runtime.order import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from fsql.compiler.owner_map import BinRanges

    Ints = NDArray[np.int64]

NO_SLOT: Final = -1
_FREED: Final = object()
"""Represents the key of a slot without a key."""


@dataclass(frozen=True, slots=True)
class Found:
    """The slot of each row, and on request which slots are new, with a row for each."""

    slots: Ints
    _fresh: list[int]
    _slot_of_code: Ints
    _codes: Ints | None

    @property
    def any_new(self) -> bool:
        """Return whether a key has a new slot."""
        return bool(self._fresh)

    def new(self) -> tuple[Ints, Ints]:
        """Return the new slots, and for each of them a row that has its key."""
        fresh = np.array(self._fresh, np.int64)
        if self._codes is None:
            return self._slot_of_code[fresh], fresh
        rows = _a_row_of_each(self._codes, len(self._slot_of_code))[fresh]
        used = rows != NO_SLOT
        return self._slot_of_code[fresh][used], rows[used]


class SlotTable:
    """Maps keys to slots.

    A freed slot is retired: it is not reused before `recycle`, which is called when no log refers to the
    slot.

    Cost of `find`: a few rows are looked up one by one.  Otherwise vectorised per row, one dictionary look-up
    per distinct key of the batch; for keys in a dictionary, one per value that the dictionary of the previous
    batch did not have.
    """

    def __init__(self, few_rows: int = FEW_ROWS_IN_C) -> None:
        """Start without keys; `few_rows` affects speed only."""
        self._few_rows = few_rows
        self._slot_of: dict[object, int] = {}
        self._key_of: list[object] = []
        self._free: list[int] = []
        self._retired: list[int] = []
        self._of_dictionary = _SlotsOfDictionary()
        self._loaded: LoadedKeys | None = None

    def __len__(self) -> int:
        """Return how many slots there are, free ones included: the length that state columns need."""
        return len(self._key_of)

    @property
    def live(self) -> int:
        """Return how many keys have a slot."""
        return len(self._slot_of) + (0 if self._loaded is None else self._loaded.count)

    def load(self, keys: Sequence[pa.Array], hashes: Ints) -> Ints:
        """Return the slots of the rows of a state, sorted by hash and key; the table has no keys yet."""
        assert not self._key_of
        if not keys or not len(hashes):
            return self.find(keys, len(hashes)).slots
        starts = starts_of_keys(keys, hashes)
        indexes = pa.array(starts)
        self._loaded = LoadedKeys([key.take(indexes) for key in keys], hashes[starts])
        self._key_of = [None] * len(starts)
        return np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(hashes))))

    def find(self, keys: Sequence[pa.Array], count: int) -> Found:
        """Return the slots of rows by their key columns; new keys get new slots."""
        if not keys:
            new = not self._slot_of
            if new:
                self._give_at_once([()])
            slot = self._slot_of[()]
            return Found(np.full(count, slot), [0] if new else [], np.array([slot]), None)
        if count <= self._few_rows:
            return self._find_one_by_one(keys)
        if len(keys) == 1 and pa.types.is_dictionary(keys[0].type) and not is_nested(keys[0].type):
            return self._find_in_dictionary(keys[0])
        codes, distinct = _distinct(keys[0])
        if len(keys) > 1:
            codes, distinct = _distinct_tuples(keys, codes, distinct)
        known = self._known(distinct, keys, codes)
        fresh = self._give_slots(known, distinct, range(len(distinct)))
        found = np.array(known, np.int64)
        return Found(np.take(found, codes), fresh, found, codes)

    def _find_one_by_one(self, keys: Sequence[pa.Array]) -> Found:
        values = keys_of_rows(keys)
        known = self._known(values, keys)
        fresh = self._give_slots(known, values, range(len(values)))
        slots = np.array(known, np.int64)
        return Found(slots, fresh, slots, None)

    def _find_in_dictionary(self, keys: pa.DictionaryArray) -> Found:
        dictionary, indices = keys.dictionary, keys.indices
        if indices.null_count:
            indices = indices.fill_null(len(dictionary))
        codes = indices.to_numpy(zero_copy_only=False)
        slot_of_code = self._of_dictionary.of(dictionary)
        slots = np.take(slot_of_code, codes)
        unknown = np.flatnonzero(slots == NO_SLOT)
        if len(unknown) == 0:
            return Found(slots, [], slot_of_code, codes)
        # A dictionary may contain words of rows that were dropped or sent to other workers.
        occurs = np.zeros(len(slot_of_code), np.bool_)
        occurs[codes[unknown]] = True
        missing = np.flatnonzero(occurs)
        words = dictionary.take(pa.array(missing, mask=missing == len(dictionary)))
        values = words.to_pylist()
        known = self._known(values, [words])
        fresh = self._give_slots(known, values, missing.tolist())
        slot_of_code[missing] = known
        slots[unknown] = slot_of_code[codes[unknown]]
        return Found(slots, fresh, slot_of_code, codes)

    def _known(
        self, values: list[object], keys: Sequence[pa.Array], codes: Ints | None = None
    ) -> list[int]:
        """Return the slot of each value, NO_SLOT if it has none.

        `keys` has the same values: value i is in row i or, if there are codes, in the rows with code i.
        """
        known = list(map(self._slot_of.get, values, repeat(NO_SLOT)))
        if self._loaded is not None and NO_SLOT in known:
            self._wake(self._loaded, known, values, keys, codes)
        return known

    def _wake(
        self,
        loaded: LoadedKeys,
        known: list[int],
        values: list[object],
        keys: Sequence[pa.Array],
        codes: Ints | None,
    ) -> None:
        """Fill in the slots of values whose keys are asleep."""
        missing = np.flatnonzero(np.array(known) == NO_SLOT)
        rows = missing if codes is None else _a_row_of_each(codes, len(values))[missing]
        wanted = [values[index] for index in missing.tolist()]
        slots = loaded.find([key.take(pa.array(rows)) for key in keys], wanted)
        loaded.wake(np.unique(slots[slots != NO_SLOT]))
        for index, slot, value in zip(missing.tolist(), slots.tolist(), wanted, strict=True):
            if slot != NO_SLOT:
                known[index] = slot
                self._slot_of[value] = slot
                self._key_of[slot] = value
        if not loaded.count:
            self._loaded = None

    def _give_slots(
        self, known: list[int], values: list[object], codes: Sequence[int]
    ) -> list[int]:
        """Fill in new slots for values without a slot; return their codes."""
        if NO_SLOT not in known:
            return []
        indexes = [index for index, slot in enumerate(known) if slot == NO_SLOT]
        if len(indexes) > self._few_rows:
            slots = self._give_at_once([values[index] for index in indexes])
            if slots is not None:
                for index, slot in zip(indexes, slots, strict=True):
                    known[index] = slot
                return [codes[index] for index in indexes]
        fresh: list[int] = []
        key_of, free, slot_of = self._key_of, self._free, self._slot_of.setdefault
        for index in indexes:
            value = values[index]
            slot = free[-1] if free else len(key_of)
            known[index] = slot_of(value, slot)
            if known[index] == slot:  # Equal values may have two codes; only the first one is new.
                fresh.append(codes[index])
                if free:
                    key_of[free.pop()] = value
                else:
                    key_of.append(value)
        return fresh

    def _give_at_once(self, keys: list[object]) -> Iterable[int] | None:
        """Give slots to new keys, free ones first; if two keys are equal, give no slots and return None."""
        again = self._free[: -len(keys) - 1 : -1]
        new = range(len(self._key_of), len(self._key_of) + len(keys) - len(again))
        slots = dict(zip(keys, chain(again, new), strict=True))
        if len(slots) < len(keys):
            return None
        for slot, key in zip(again, keys, strict=False):
            self._key_of[slot] = key
        del self._free[len(self._free) - len(again) :]
        self._key_of.extend(keys[len(again) :])
        self._slot_of.update(slots)
        return slots.values()

    def keys(self, slots: Ints, types: Sequence[pa.DataType]) -> list[pa.Array]:
        """Return the key columns of live slots; `types` are the types of the key columns."""
        return self.copied_keys(slots, types)()

    def copied_keys(
        self, slots: Ints, types: Sequence[pa.DataType]
    ) -> Callable[[], list[pa.Array]]:
        """Return a function that makes the key columns of live slots as they are now."""
        loaded = self._loaded
        if loaded is None:
            return partial(key_columns, self._keys_awake(slots), types)
        asleep = loaded.asleep(slots)
        awake = self._keys_awake(slots[~asleep])

        def columns() -> list[pa.Array]:
            order = pa.array(np.argsort(np.argsort(asleep, kind="stable"), kind="stable"))
            made, sleeping = key_columns(awake, types), loaded.columns(slots[asleep])
            parts = zip(made, sleeping, strict=True)
            return [pa.concat_arrays(both).take(order) for both in parts]

        return columns

    def _keys_awake(self, slots: Ints) -> list[object]:
        return list(map(self._key_of.__getitem__, slots.tolist()))

    def live_slots(self) -> Ints:
        """Return the slots that have keys, in no particular order."""
        awake = np.fromiter(self._slot_of.values(), np.int64, len(self._slot_of))
        return awake if self._loaded is None else np.concatenate([awake, self._loaded.slots()])

    def in_bins(self, bins: BinRanges, types: Sequence[pa.DataType], slots: Ints) -> Ints:
        """Return the slots among `slots` with a key whose hash is in the bins; see `keys` for `types`."""
        slots = self.live_of(slots)
        if not len(slots):
            return slots
        keys = [plain(key) for key in self.keys(slots, types)]
        wanted = np.zeros(BINS, np.bool_)
        for first, end in bins:
            wanted[first:end] = True
        return slots[wanted[hash_rows(keys, len(slots)) >> BIN_SHIFT]]

    def live_of(self, slots: Ints) -> Ints:
        """Return the slots among `slots` that have a key."""
        key_of = self._key_of
        live = [key_of[slot] is not _FREED for slot in slots.tolist()]
        return slots[np.array(live, np.bool_)]

    def free(self, slots: Ints) -> None:
        """Remove the keys of these slots; the slots are retired."""
        self._retired += slots.tolist()
        self._of_dictionary.remove(slots)
        if self._loaded is not None:
            asleep = self._loaded.asleep(slots)
            self._loaded.wake(slots[asleep])
            for slot in slots[asleep].tolist():
                self._key_of[slot] = _FREED
            slots = slots[~asleep]
        for slot in slots.tolist():
            del self._slot_of[self._key_of[slot]]
            self._key_of[slot] = _FREED

    def take_retired(self) -> list[int]:
        """Return the slots retired since the last call."""
        retired, self._retired = self._retired, []
        return retired

    def recycle(self, slots: list[int]) -> None:
        """Make retired slots available again."""
        self._free += slots

    def free_all_but(self, used: NDArray[np.bool_]) -> None:
        """Remove the keys of all slots that `used` does not mark."""
        live = self.live_slots()
        self.free(live[~used[live]])


class _SlotsOfDictionary:
    """The known slots of the values of the last dictionary of keys."""

    def __init__(self) -> None:
        self._known: pa.Array = pa.array([], pa.string())
        self._slots = np.full(1, NO_SLOT)

    def of(self, dictionary: pa.StringArray) -> Ints:
        """Return the slot of each value, and of NULL after them; the caller replaces NO_SLOT."""
        if not begins_with(dictionary, self._known):
            self.forget()
        count = len(self._known)
        if count < len(dictionary):
            slots = np.full(len(dictionary) + 1, NO_SLOT)
            slots[:count] = self._slots[:-1]
            slots[-1] = self._slots[-1]
            self._known, self._slots = dictionary, slots
        return self._slots

    def remove(self, slots: Ints) -> None:
        """Remove the entries of some slots."""
        self._slots[np.isin(self._slots, slots)] = NO_SLOT

    def forget(self) -> None:
        """Remove all entries."""
        self._known = self._known.slice(0, 0)
        self._slots = np.full(1, NO_SLOT)


def _codes_of(array: pa.DictionaryArray) -> tuple[Ints, pa.Array]:
    """Return the codes of a dictionary column, and the values that occur, including NULL."""
    distinct, indices = array.dictionary, array.indices
    if indices.null_count:
        indices = indices.fill_null(len(distinct))
        distinct = pa.concat_arrays([distinct, pa.nulls(1, distinct.type)])
    codes = indices.to_numpy(zero_copy_only=False)
    occurs = np.zeros(len(distinct), np.bool_)
    occurs[codes] = True
    if occurs.all():
        return codes, distinct
    # A dictionary may contain words of rows that were dropped or sent to other workers.
    return (np.cumsum(occurs) - 1)[codes], distinct.take(pa.array(np.flatnonzero(occurs)))


def _distinct(array: pa.Array) -> tuple[Ints, list[object]]:
    """Return a code for each row and the key value of each code; equal values may have two codes."""
    if compared_in_python(array):
        numbers: dict[object, int] = {}
        rows = [numbers.setdefault(value, len(numbers)) for value in values_of_rows(array)]
        return np.array(rows, np.int64), list(numbers)
    array = comparable_column(array)
    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    codes, distinct = _codes_of(array)
    return codes, distinct.to_pylist()


def _distinct_tuples(
    keys: Sequence[pa.Array], codes: Ints, first_values: list[object]
) -> tuple[Ints, list[object]]:
    """Combine the codes of the first key column with those of the others; the values are tuples."""
    columns = [(codes.astype(np.int64), len(first_values))]
    values = [first_values]
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


def _a_row_of_each(codes: Ints, count: int) -> Ints:
    """Return a row that has the code, for each code that occurs; NO_SLOT for one that does not."""
    rows = np.full(count, NO_SLOT)
    rows[codes] = np.arange(len(codes))
    return rows
