"""A table whose keys were loaded, against one that has seen the same keys in rows: they must not differ.

Cannot catch what both get wrong.  Hashes are few, so that keys that differ share them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import strategies as st

from fsql.runtime import hashing
from fsql.runtime.arrow_types import arrow_type
from fsql.runtime.batch import START
from fsql.runtime.kernels.keyed import slots
from fsql.runtime.kernels.keyed.incremental_snapshot import incremental_snapshot, merge_snapshots
from fsql.runtime.kernels.keyed.slots import SlotTable, keys_of_rows, starts_of_keys
from fsql.tests.unit.formats.drawn import drawn
from fsql.tests.unit.formats.naive_json import TYPES, values
from fsql.tests.unit.kernels.test_slots import comes_back, key_column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hypothesis.strategies import DataObject
    from numpy.typing import NDArray

    from fsql.compiler.sqltypes import SqlType
    from fsql.runtime.kernels.keyed.incremental_snapshot import IncrementalSnapshot


class Both:
    """A table with loaded keys, one that has found them in rows, and which slots are counterparts."""

    def __init__(self, types: Sequence[SqlType], state: IncrementalSnapshot, few_rows: int) -> None:
        keys = state.rows.columns[: state.keys]
        self.types = [arrow_type(sql_type) for sql_type in types]
        self.loaded, self.seen = SlotTable(few_rows), SlotTable(few_rows)
        slots = self.loaded.load(keys, state.rows.column("hash").to_numpy()).tolist()
        self.counterpart = dict(
            zip(slots, self.seen.find(keys, len(slots)).slots.tolist(), strict=True)
        )
        self.check()

    def check(self) -> None:
        """See that both have the same keys in counterparts."""
        slots = np.array(list(self.counterpart), np.int64)
        others = np.array(list(self.counterpart.values()), np.int64)
        assert self.loaded.live == self.seen.live == len(slots)
        assert sorted(self.loaded.live_slots().tolist()) == sorted(slots.tolist())
        found, other = self.loaded.keys(slots, self.types), self.seen.keys(others, self.types)
        # Not as text, which shows what lies below a NULL row.
        assert keys_of_rows(found) == keys_of_rows(other)
        assert [key.type for key in found] == [key.type for key in other]

    def find(self, columns: Sequence[pa.Array], count: int) -> None:
        found, other = self.loaded.find(columns, count), self.seen.find(columns, count)
        new = set(found.new()[0].tolist())
        assert len(new) == len(other.new()[0])
        assert found.slots[found.new()[1]].tolist() == found.new()[0].tolist()
        for slot, counterpart in zip(found.slots.tolist(), other.slots.tolist(), strict=True):
            assert self.counterpart.setdefault(slot, counterpart) == counterpart
        self.check()

    def free(self, slots: list[int]) -> None:
        self.loaded.free(np.array(slots, np.int64))
        self.seen.free(np.array([self.counterpart.pop(slot) for slot in slots], np.int64))
        assert sorted(self.loaded.take_retired()) == sorted(slots)
        self.seen.take_retired()
        self.check()


def drawn_columns(data: DataObject, types: Sequence[SqlType]) -> tuple[list[pa.Array], int]:
    rows = data.draw(st.lists(st.tuples(*map(values, types)), min_size=1, max_size=8))
    columns = zip(zip(*rows, strict=True), types, strict=True)
    return [key_column(data, column, sql_type) for column, sql_type in columns], len(rows)


def state_of(
    columns: Sequence[pa.Array], count: int, types: Sequence[SqlType]
) -> IncrementalSnapshot:
    """Return a state of these keys, as a snapshot has it."""
    table = SlotTable()
    slots = np.unique(table.find(columns, count).slots)
    keys = table.keys(slots, [arrow_type(sql_type) for sql_type in types])
    state = pa.RecordBatch.from_pydict({"expires": pa.array(np.zeros(len(slots), np.int64))})
    return merge_snapshots([incremental_snapshot(keys, state, appends=False)], START)


@pytest.fixture(params=[1, 3, 1 << 32])
def _hashes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    def hash_rows(keys: Sequence[pa.Array], count: int) -> NDArray[np.uint32]:
        hashes = hashing.hash_rows(keys, count).astype(np.int64) % request.param
        return hashes.astype(np.uint32)

    monkeypatch.setattr("fsql.runtime.kernels.keyed.incremental_snapshot.hash_rows", hash_rows)
    monkeypatch.setattr(slots, "hash_rows", hash_rows)


@pytest.mark.usefixtures("_hashes")
@pytest.mark.parametrize("few_rows", [0, 100])
def test_loaded_keys_are_found_as_seen_ones_are(few_rows: int) -> None:
    @drawn(17, st.data(), st.lists(TYPES.filter(comes_back), min_size=1, max_size=3))
    def test(data: DataObject, types: list[SqlType]) -> None:
        columns, count = drawn_columns(data, types)
        both = Both(types, state_of(columns, count, types), few_rows)
        for _ in range(3):
            # Some are asked for again, and some that nobody knows; some go, and may come again.
            chosen = data.draw(st.lists(st.integers(0, count - 1), max_size=4))
            again = [column.take(pa.array(chosen, pa.int64())) for column in columns]
            both.find(again, len(chosen))
            both.find(*drawn_columns(data, types))
            live = sorted(both.counterpart)
            both.free(data.draw(st.lists(st.sampled_from(live), unique=True, max_size=3)))

    test()


def test_equal_keys_are_neighbours() -> None:
    keys = [pa.array(["a", "b", "b", "b", None, None]), pa.array([0.5, 0.5, 0.5, 2.0, 2.0, 2.0])]
    hashes = np.array([1, 1, 1, 1, 2, 2])
    assert starts_of_keys(keys, hashes).tolist() == [0, 1, 3, 4]
    assert starts_of_keys(keys, np.arange(6)).tolist() == list(range(6))
    assert starts_of_keys([key.slice(0, 0) for key in keys], hashes[:0]).tolist() == []
