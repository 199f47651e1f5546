"""Keys of integers whose hashes collide: they get the right slots, with few comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from fsql.runtime.kernels.keyed import integer_keys
from fsql.runtime.kernels.keyed.integer_keys import IntegerKeys
from fsql.runtime.kernels.keyed.slots import SlotTable
from fsql.runtime.order import sortable_doubles

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.runtime.arrays import Ints


ROWS = 2000


def keys_in_one_cell() -> Ints:
    """Return keys whose hashes have the same lower 40 bits: the hash function, backwards."""
    total = np.arange(ROWS, dtype=np.uint64) << np.uint64(41)
    for factor in (integer_keys._LAST_FACTOR, integer_keys._FACTOR):
        total ^= total >> np.uint64(32)
        total *= np.uint64(pow(factor, -1, 1 << 64))
    return total.view(np.int64)


def whole_doubles() -> Ints:
    return sortable_doubles(np.arange(ROWS, dtype=np.float64))


def exponents() -> Ints:
    return np.arange(ROWS) << 53


@pytest.mark.parametrize("batch", [8, 250])
@pytest.mark.parametrize("make", [keys_in_one_cell, whole_doubles, exponents])
def test_colliding_keys_cost_little(
    monkeypatch: pytest.MonkeyPatch, make: Callable[[], Ints], batch: int
) -> None:
    compared = 0
    right = IntegerKeys._matches

    def matches(self: IntegerKeys, slots: Ints, words: Any) -> Any:
        nonlocal compared
        compared += len(slots)
        return right(self, slots, words)

    monkeypatch.setattr(IntegerKeys, "_matches", matches)
    table, slot_of = SlotTable(), dict[int, int]()
    words = make()
    for start in range(0, ROWS, batch):
        part = words[start : start + batch].repeat(2)
        found = table.find([pa.array(part)], len(part)).slots.tolist()
        for key, slot in zip(part.tolist(), found, strict=True):
            assert slot_of.setdefault(key, slot) == slot
        gone = part[: batch // 5 : 4].tolist()
        table.free(np.array([slot_of.pop(key) for key in gone]))
        table.recycle(table.take_retired())
    assert len(set(slot_of.values())) == len(slot_of) == table.live
    slots = np.array(list(slot_of.values()))
    assert table.keys(slots, [pa.int64()])[0].to_pylist() == list(slot_of)
    assert compared < 200 * ROWS


def test_no_slots_of_loaded_texts_have_no_keys() -> None:
    table = SlotTable()
    table.load([pa.array(["a", "b"])], np.array([1, 2]))
    assert table.keys(np.empty(0, np.int64), [pa.string()])[0].to_pylist() == []
