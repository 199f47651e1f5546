"""Slots: dense integers for the keys of a fold, so that its state can be kept in columns."""

from __future__ import annotations

import math
from functools import partial
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from fsql.compiler.owner_map import BIN_SHIFT, BINS
from fsql.compiler.records import dataclass
from fsql.runtime.arrow_types import values_of
from fsql.runtime.dictionaries import begins_with, decode_dictionary
from fsql.runtime.few_rows import FEW_ROWS, FEW_ROWS_IN_C
from fsql.runtime.hashing import hash_rows
from fsql.runtime.kernels.keyed.integer_keys import (
    NO_SLOT,
    IntegerKeys,
    columns_of_words,
    integer_words,
)
from fsql.runtime.nested_types import is_nested, parts
from fsql.runtime.order import doubles_of_sortable, identity_codes, key_values, sortable_doubles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from fsql.compiler.owner_map import BinRanges
    from fsql.runtime.arrays import Bools, Ints


_FREED: Final = object()
"""Stands for the key of a slot without a key."""


@dataclass(frozen=True, slots=True)
class Found:
    """The slot of each row, and on request which slots are new, with a row for each."""

    slots: Ints
    _fresh: Sequence[int] | Ints
    _slot_of_code: Ints
    _codes: Ints | None

    @property
    def any_new(self) -> bool:
        """Return whether a key has a new slot."""
        return len(self._fresh) > 0

    def new(self) -> tuple[Ints, Ints]:
        """Return the new slots, and for each of them a row that has its key."""
        fresh = np.array(self._fresh, np.int64)
        if self._codes is None:
            return self._slot_of_code[fresh], fresh
        rows = a_row_of_each(self._codes, len(self._slot_of_code))[fresh]
        used = rows != NO_SLOT
        return self._slot_of_code[fresh][used], rows[used]


class SlotTable:
    """Maps keys to slots.

    A freed slot is retired: it is not reused before `recycle`, which is called when no log refers to the
    slot.

    Keys of integers without NULL are in `IntegerKeys`, others are Python values in a dict.

    Cost of `find` for Python values: a few rows are looked up one by one.  Otherwise the work per row is
    vectorised, with one look-up in the dict per distinct key of the batch; for keys in a dictionary, one per
    value that was not in the dictionary of the previous batch.
    """

    def __init__(self, few_rows: int | None = None, hashed: int | None = None) -> None:
        """Start without keys; `few_rows` affects speed only.

        `hashed` is how many of the key columns determine the hash, and so the owner; None for all.
        """
        self._few_rows = FEW_ROWS_IN_C if few_rows is None else few_rows
        self.hashed = hashed
        self._slot_of: dict[object, int] = {}
        self._key_of: list[object] = []
        """The Python value of the key of each slot, `_FREED` for a slot whose key is not one."""
        self._integers: IntegerKeys | None = None
        self._end = 0
        self._free: list[int] = []
        self._retired: list[int] = []
        self._of_dictionary = SlotsOfDictionary()
        self._loaded: LoadedKeys | None = None

    def __len__(self) -> int:
        """Return the number of slots, including free ones: the length that state columns need."""
        return self._end

    @property
    def live(self) -> int:
        """Return the number of keys with a slot."""
        integers = 0 if self._integers is None else self._integers.count
        return len(self._slot_of) + integers + (0 if self._loaded is None else self._loaded.count)

    def load(self, keys: Sequence[pa.Array], hashes: Ints) -> Ints:
        """Return the slots of the rows of a state, sorted by hash and key; the table has no keys yet."""
        assert not self._end
        if not keys or not len(hashes) or integer_words(keys) is not None:
            return self.find(keys, len(hashes)).slots
        starts = starts_of_keys(keys, hashes)
        indexes = pa.array(starts)
        own_keys = [key.take(indexes) for key in keys]
        self._loaded = LoadedKeys(own_keys, hashes[starts], self.hashed)
        self._key_of = [None] * len(starts)
        self._end = len(starts)
        return np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(hashes))))

    def find(self, keys: Sequence[pa.Array], count: int) -> Found:
        """Return the slots of rows by their key columns; new keys get new slots."""
        if not keys:
            new = not self._slot_of
            if new:
                self._give_at_once([()])
            slot = self._slot_of[()]
            return Found(np.full(count, slot), [0] if new else [], np.array([slot]), None)
        if (found := integer_words(keys)) is None:
            return self._find_objects(keys, count)
        words, nulls = found
        if nulls is None or not nulls.any():
            slots, rows = self._find_integers(words, count)
            return Found(slots, rows, slots, None)
        return self._find_with_nulls(keys, words, nulls)

    def _find_integers(self, words: Sequence[Ints], count: int) -> tuple[Ints, Ints]:
        if self._integers is None:
            self._integers = IntegerKeys(len(words), min(self._few_rows, FEW_ROWS))
        return self._integers.find(words, count, self._give_numbers)

    def _find_with_nulls(
        self, keys: Sequence[pa.Array], words: Sequence[Ints], nulls: Bools
    ) -> Found:
        """Look up keys with a NULL as Python values, and the others as integers."""
        slots = np.empty(len(nulls), np.int64)
        whole, others = np.flatnonzero(~nulls), np.flatnonzero(nulls)
        slots[whole], new = self._find_integers([column[whole] for column in words], len(whole))
        found = self._find_objects([key.take(pa.array(others)) for key in keys], len(others))
        slots[others] = found.slots
        return Found(slots, np.concatenate([whole[new], others[found.new()[1]]]), slots, None)

    def _find_objects(self, keys: Sequence[pa.Array], count: int) -> Found:
        if count <= self._few_rows:
            return self._find_one_by_one(keys)
        if len(keys) == 1 and pa.types.is_dictionary(keys[0].type) and not is_nested(keys[0].type):
            return self._find_in_dictionary(keys[0])
        codes, distinct = distinct_values(keys[0])
        if len(keys) > 1:
            codes, distinct = distinct_tuples(keys, codes, distinct)
        known = self._find_slots(distinct, keys, codes)
        fresh = self._give_slots(known, distinct, range(len(distinct)))
        found = np.array(known, np.int64)
        return Found(np.take(found, codes), fresh, found, codes)

    def _find_one_by_one(self, keys: Sequence[pa.Array]) -> Found:
        values = keys_of_rows(keys)
        known = self._find_slots(values, keys)
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
        known = self._find_slots(values, [words])
        fresh = self._give_slots(known, values, missing.tolist())
        slot_of_code[missing] = known
        slots[unknown] = slot_of_code[codes[unknown]]
        return Found(slots, fresh, slot_of_code, codes)

    def _find_slots(
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
        """Fill in the slots of values whose keys are sleeping."""
        missing = np.flatnonzero(np.array(known) == NO_SLOT)
        rows = missing if codes is None else a_row_of_each(codes, len(values))[missing]
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
        free, slot_of = self._free, self._slot_of.setdefault
        for index in indexes:
            value = values[index]
            slot = free[-1] if free else self._end
            known[index] = slot_of(value, slot)
            if known[index] == slot:  # Equal values may have two codes; only the first is new.
                fresh.append(codes[index])
                if free:
                    free.pop()
                else:
                    self._end += 1
                self._set_keys([slot], [value])
        return fresh

    def _give_at_once(self, keys: list[object]) -> Iterable[int] | None:
        """Give slots to new keys, free ones first; if two keys are equal, give no slots and return None."""
        again, new = self._numbers(len(keys))
        slots = dict(zip(keys, chain(again, new), strict=True))
        if len(slots) < len(keys):
            return None
        self._use(again, new)
        self._set_keys(again, keys[: len(again)])
        self._set_keys(new, keys[len(again) :])
        self._slot_of.update(slots)
        return slots.values()

    def _give_numbers(self, count: int) -> Ints:
        """Return slots without keys, free ones first."""
        again, new = self._numbers(count)
        self._use(again, new)
        return np.concatenate([np.array(again, np.int64), np.arange(new.start, new.stop)])

    def _numbers(self, count: int) -> tuple[list[int], range]:
        """Return the next slots: free ones, and then new ones."""
        again = self._free[: -count - 1 : -1]
        return again, range(self._end, self._end + count - len(again))

    def _use(self, again: list[int], new: range) -> None:
        """Record that the slots returned by `_numbers` are no longer available."""
        del self._free[len(self._free) - len(again) :]
        self._end = new.stop

    def _set_keys(self, slots: Sequence[int], values: list[object]) -> None:
        """Set the Python values of slots: of some that were in use, or of the last ones of all, ascending."""
        key_of = self._key_of
        if slots and slots[-1] >= len(key_of):
            key_of.extend(repeat(_FREED, slots[-1] + 1 - len(key_of)))
        if isinstance(slots, range):
            key_of[slots.start : slots.stop] = values
            return
        for slot, value in zip(slots, values, strict=True):
            key_of[slot] = value

    def keys(self, slots: Ints, types: Sequence[pa.DataType]) -> list[pa.Array]:
        """Return the key columns of live slots; `types` are the types of the key columns."""
        return self.copied_keys(slots, types)()

    def copied_keys(
        self, slots: Ints, types: Sequence[pa.DataType]
    ) -> Callable[[], list[pa.Array]]:
        """Return a function that makes the key columns of live slots as they are now."""
        integers, loaded = self._integers, self._loaded
        if loaded is None and (integers is None or not len(slots)):
            return partial(key_columns, self._keys_awake(slots), types)
        whole = np.zeros(len(slots), np.bool_) if integers is None else integers.has(slots)
        words = [] if integers is None else integers.words(slots[whole])
        if words and whole.all():
            return partial(columns_of_words, words, types)
        sleeping = np.zeros(len(slots), np.bool_) if loaded is None else loaded.sleeping(slots)
        awake = self._keys_awake(slots[~(sleeping | whole)])

        def columns() -> list[pa.Array]:
            parts = [key_columns(awake, types)]
            if loaded is not None:
                parts.append(loaded.columns(slots[sleeping]))
            if words:
                parts.append(columns_of_words(words, types))
            order = np.argsort(sleeping + 2 * whole, kind="stable")
            back = pa.array(np.argsort(order, kind="stable"))
            return [pa.concat_arrays(column).take(back) for column in zip(*parts, strict=True)]

        return columns

    def _keys_awake(self, slots: Ints) -> list[object]:
        return list(map(self._key_of.__getitem__, slots.tolist()))

    def live_slots(self) -> Ints:
        """Return the slots that have keys, in no particular order."""
        awake = np.fromiter(self._slot_of.values(), np.int64, len(self._slot_of))
        others = [each.slots() for each in (self._integers, self._loaded) if each is not None]
        return np.concatenate([awake, *others])

    def in_bins(self, bins: BinRanges, types: Sequence[pa.DataType], slots: Ints) -> Ints:
        """Return the slots among `slots` with a key whose hash is in the bins; see `keys` for `types`."""
        slots = self.live_of(slots)
        if not len(slots):
            return slots
        keys = [decode_dictionary(key) for key in self.keys(slots, types)]
        wanted = np.zeros(BINS, np.bool_)
        for first, end in bins:
            wanted[first:end] = True
        hashes = hash_rows(keys[: self.hashed], len(slots))
        return slots[wanted[hashes >> BIN_SHIFT]]

    def live_of(self, slots: Ints) -> Ints:
        """Return the slots among `slots` that have a key."""
        live = np.zeros(len(slots), np.bool_)
        if self._integers is not None:
            live = self._integers.has(slots)
        key_of = self._key_of
        rest = np.flatnonzero(~live & (slots < len(key_of)))
        live[rest] = [key_of[slot] is not _FREED for slot in slots[rest].tolist()]
        return slots[live]

    def free(self, slots: Ints) -> None:
        """Remove the keys of these slots; the slots are retired."""
        self._retired += slots.tolist()
        self._of_dictionary.remove(slots)
        if self._integers is not None:
            whole = self._integers.has(slots)
            self._integers.remove(slots[whole])
            slots = slots[~whole]
        if self._loaded is not None:
            sleeping = self._loaded.sleeping(slots)
            self._loaded.wake(slots[sleeping])
            for slot in slots[sleeping].tolist():
                self._key_of[slot] = _FREED
            slots = slots[~sleeping]
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


# The distinct keys of a batch as Python values, and a code for each row.


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


def distinct_values(array: pa.Array) -> tuple[Ints, list[object]]:
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


def distinct_tuples(
    keys: Sequence[pa.Array], codes: Ints, first_values: list[object]
) -> tuple[Ints, list[object]]:
    """Combine the codes of the first key column with those of the others; the values are tuples."""
    columns = [(codes.astype(np.int64), len(first_values))]
    values = [first_values]
    for key in keys[1:]:
        more, distinct = distinct_values(key)
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


def a_row_of_each(codes: Ints, count: int) -> Ints:
    """Return a row that has the code, for each code that occurs; NO_SLOT for one that does not."""
    rows = np.full(count, NO_SLOT)
    rows[codes] = np.arange(len(codes))
    return rows


# Keys as Python values, for looking up slots: the values are equal if and only if the keys are.


_PIECE: Final = 4096
"""The approximate number of keys that are converted to columns in a millisecond; no other thread runs
meanwhile."""


def keys_of_rows(keys: Sequence[pa.Array]) -> list[object]:
    """Return the key of each row: a value, or a tuple of values if there are several key columns."""
    columns = [values_of_rows(key) for key in keys]
    return columns[0] if len(keys) == 1 else [*zip(*columns, strict=True)]


def values_of_rows(array: pa.Array) -> list[object]:
    """Return the key value of each row."""
    if isinstance(array, pa.StringArray):
        return values_of(array)
    if compared_in_python(array):
        values = key_values(array)
        plain = _plain_type(values.type)
        values = values if plain == values.type else values.cast(plain)
        return [_comparable(value) for value in values.to_pylist()]
    found: list[object] = decode_dictionary(comparable_column(array)).to_pylist()
    return found


def compared_in_python(array: pa.Array) -> bool:
    """Return whether the values cannot be represented as Arrow numbers or strings for comparison."""
    return is_nested(array.type) or pa.types.is_null(array.type)


def comparable_column(array: pa.Array) -> pa.Array:
    """Return a column of strings, integers or booleans that are equal if and only if the keys are."""
    if pa.types.is_timestamp(array.type) or pa.types.is_duration(array.type):
        return array.view(pa.int64())
    if pa.types.is_floating(array.type):
        values = array.fill_null(0.0).to_numpy(zero_copy_only=False)
        return pa.array(sortable_doubles(values), mask=_nulls(array))
    return array


def _comparable(value: object) -> object:
    """Return a list or a struct as a tuple in which every NaN is one object, so that it equals itself."""
    if isinstance(value, list):
        return tuple(_comparable(element) for element in value)
    if isinstance(value, dict):
        return tuple(_comparable(field) for field in value.values())
    return math.nan if isinstance(value, float) and math.isnan(value) else value


def _nulls(array: pa.Array) -> NDArray[np.bool_] | None:
    return array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None


def key_columns(keys: Sequence[object], types: Sequence[pa.DataType]) -> list[pa.Array]:
    """Return key columns; the inverse of `keys_of_rows`."""
    pieces = [
        _few_key_columns(keys[start : start + _PIECE], types)
        for start in range(0, max(len(keys), 1), _PIECE)
    ]
    return [pa.concat_arrays(column) for column in zip(*pieces, strict=True)]


def _few_key_columns(keys: Sequence[Any], types: Sequence[pa.DataType]) -> list[pa.Array]:
    if len(types) == 1:
        return [_key_column(keys, types[0])]
    columns = zip(*keys, strict=True) if keys else ([] for _ in types)
    return [_key_column(column, kind) for column, kind in zip(columns, types, strict=False)]


def _key_column(values: Sequence[object], kind: pa.DataType) -> pa.Array:
    """Return a key column; the inverse of `values_of_rows`."""
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return pa.array(values, pa.int64()).view(kind)
    if pa.types.is_floating(kind):
        keys = pa.array(values, pa.int64())
        doubles = doubles_of_sortable(keys.fill_null(0).to_numpy(zero_copy_only=False))
        return pa.array(doubles, mask=_nulls(keys))
    plain = _plain_type(kind)
    return pa.array(values, kind) if plain == kind else pa.array(values, plain).cast(kind)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type with integers for times: the types of Python do not represent all values.

    Types with a part of type NULL are not changed: pyarrow casts them wrongly.
    """
    return kind if _has_null_type(kind) else _with_integers(kind)


def _has_null_type(kind: pa.DataType) -> bool:
    return bool(pa.types.is_null(kind)) or any(map(_has_null_type, parts(kind)))


def _with_integers(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return pa.int64()
    if pa.types.is_list(kind):
        field = kind.value_field
        return pa.list_(field.with_type(_with_integers(field.type)))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_with_integers(field.type)) for field in kind])
    return kind


# Keys of a loaded state: they remain in columns until a row refers to them.
#
# Creating Python objects for millions of keys takes several times as long as the rest of loading, and ten
# times the memory of the columns, and most keys of a large state are not needed soon.  Such keys are said to
# *sleep*; using a key *wakes* it.
#
#     hash   3  5  5  9        sorted; key i has slot i
#     key    a  b  c  d
#     find c: its hash is 5; the first key with this hash is b, the second is c: slot 2
#
# Contract.  A key that was woken or removed is never found again.


NOT_FOUND: Final = -1
_NO_HASH: Final = -1


class LoadedKeys:
    """Keys in columns, each once, in the order of their hashes.

    Cost of `find`: a binary search for each key, and an object for each that is found.
    """

    def __init__(self, keys: Sequence[pa.Array], hashes: Ints, hashed: int | None = None) -> None:
        """Begin with all keys asleep; `hashed` columns determine the hash, None for all."""
        self._hashed = hashed
        self._keys = keys
        self._hashes = np.append(hashes, _NO_HASH)
        self._asleep = np.ones(len(hashes), np.bool_)
        self.count = len(hashes)
        """The number of sleeping keys."""

    def find(self, keys: Sequence[pa.Array], objects: Sequence[object]) -> Ints:
        """Return the slot of each sleeping key, `NOT_FOUND` for others; keys are both columns and objects."""
        hashed = [decode_dictionary(key) for key in keys[: self._hashed]]
        hashes = hash_rows(hashed, len(objects)).astype(np.int64)
        found = np.full(len(objects), NOT_FOUND)
        wanted = np.argsort(hashes)  # A search in order makes better use of the cache.
        indexes = np.searchsorted(self._hashes[:-1], hashes[wanted])
        while len(wanted):
            may_be = self._hashes[indexes] == hashes[wanted]
            wanted, indexes = wanted[may_be], indexes[may_be]
            others = keys_of_rows(self.columns(indexes))
            pairs = zip(wanted.tolist(), others, strict=True)
            same = np.fromiter((objects[row] == other for row, other in pairs), np.bool_)
            found[wanted[same]] = indexes[same]
            wanted, indexes = wanted[~same], indexes[~same] + 1
        found[~self._asleep[found]] = NOT_FOUND
        return found

    def columns(self, slots: Ints) -> list[pa.Array]:
        """Return the key columns of slots."""
        indexes = pa.array(slots)
        return [key.take(indexes) for key in self._keys]

    def slots(self) -> Ints:
        """Return the slots of the keys that sleep."""
        return np.flatnonzero(self._asleep)

    def sleeping(self, slots: Ints) -> Bools:
        """Return for each slot whether its key sleeps."""
        within = slots < len(self._asleep)
        within[within] = self._asleep[slots[within]]
        return within

    def wake(self, slots: Ints) -> None:
        """Remove keys, each given once, from the sleeping keys."""
        self._asleep[slots] = False
        self.count -= len(slots)


def starts_of_keys(keys: Sequence[pa.Array], hashes: Ints) -> Ints:
    """Return the first row of each key among rows with equal keys adjacent.

    Keys are compared only if they share a hash.
    """
    begins = np.ones(len(hashes), np.bool_)
    np.not_equal(hashes[1:], hashes[:-1], out=begins[1:])
    sharing = np.flatnonzero(~begins)
    rows = np.union1d(sharing, sharing - 1)
    indexes = np.searchsorted(rows, sharing)
    for key in keys if len(rows) else ():
        codes = identity_codes(key.take(pa.array(rows)))
        begins[sharing] |= codes[indexes] != codes[indexes - 1]
    return np.flatnonzero(begins)


# The slots of the values of a dictionary, kept from batch to batch.


DICTIONARIES: Final = 8
"""The maximum number of known dictionaries, each of another sender of rows."""


class _Known:
    """A dictionary, and the slot of each of its values, and of NULL after them."""

    __slots__ = ("dictionary", "slots")

    def __init__(self, dictionary: pa.StringArray) -> None:
        self.dictionary = dictionary
        self.slots = np.full(len(dictionary) + 1, NO_SLOT)

    def extend(self, dictionary: pa.StringArray) -> None:
        """Know a dictionary that begins with the known one."""
        count = len(self.dictionary)
        if count < len(dictionary):
            slots = np.full(len(dictionary) + 1, NO_SLOT)
            slots[:count], slots[-1] = self.slots[:-1], self.slots[-1]
            self.dictionary, self.slots = dictionary, slots


class SlotsOfDictionary:
    """The known slots of the values of dictionaries of keys.

    Rows of one sender have dictionaries of which each begins with the one before; those of several senders
    come in turn.
    """

    def __init__(self) -> None:
        self._known: list[_Known] = []
        """The last used one first."""

    def of(self, dictionary: pa.StringArray) -> Ints:
        """Return the slot of each value, and of NULL after them; the caller replaces NO_SLOT."""
        for number, known in enumerate(self._known):
            if begins_with(dictionary, known.dictionary):
                known.extend(dictionary)
                if number:
                    self._known.insert(0, self._known.pop(number))
                return known.slots
        self._known = [_Known(dictionary), *self._known[: DICTIONARIES - 1]]
        return self._known[0].slots

    def remove(self, slots: Ints) -> None:
        """Remove the entries of some slots."""
        for known in self._known:
            known.slots[np.isin(known.slots, slots)] = NO_SLOT
