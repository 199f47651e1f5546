"""Records against a naive model: whatever was merged, reading back gives the rows of all increments.

Catches: a row that comes back because what stood for its end was dropped, a merge out of order, a record
that is lost or named twice, growth without bound.  Does not catch mistakes of `merge_snapshots` itself: it is
done by hand here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import strategies as st

from fsql.runtime.batch import START, TIME_END, Root
from fsql.runtime.kernels.keyed.incremental_snapshot import NEVER
from fsql.runtime.state import compaction as chain
from fsql.runtime.state.loading import DamagedRecordError, read_state
from fsql.runtime.state.records import Records
from fsql.runtime.state.store import StateStoreError
from fsql.tests.unit.formats.drawn import drawn
from fsql.tests.unit.state.increments import (
    GONE,
    by_hand,
    increment,
    numbered,
    rows_of,
    state_of,
)
from fsql.tests.unit.state.memory_store import MemoryStore

if TYPE_CHECKING:
    import random

    from fsql.runtime.cluster.manifest import StateSegment
    from fsql.runtime.kernels.keyed.incremental_snapshot import IncrementalSnapshot
    from fsql.tests.unit.state.increments import Row


def at(time: int) -> Root:
    return Root(time, 0)


def read(
    records: tuple[StateSegment, ...], store: MemoryStore, position: Root
) -> dict[str, list[Row]]:
    """Return the rows of each operator as reading back gives them."""
    state = read_state(records, lambda _worker: store)
    return {operator: state_of(increments, position) for operator, increments in state.items()}


def worker(store: MemoryStore) -> Records:
    return Records(store, 3, 7, by_hand)


def test_an_increment_becomes_a_record_that_says_what_it_is() -> None:
    store = MemoryStore()
    (record,) = worker(store).store(12, at(5), [("fold/1", numbered(range(3)))])
    data = store.values["00000007/000000000012/fold/1"]
    assert (record.worker, record.key, record.operator) == (3, *store.values, "fold/1")
    assert (record.snapshot, record.level, record.rows, record.size) == (12, 0, 3, len(data))
    assert record.hash == data[-16:].hex()


def test_operators_are_in_one_order_whatever_came_first() -> None:
    increments = [("b", numbered([1])), ("a", numbered([2]))]
    one = worker(MemoryStore()).store(1, at(5), increments)
    assert one == worker(MemoryStore()).store(1, at(5), increments[::-1])
    assert [record.operator for record in one] == ["a", "b"]


def test_without_rows_there_is_no_record() -> None:
    store = MemoryStore()
    assert worker(store).store(1, at(5), [("a", numbered([])), ("b", numbered([]))]) == ()
    assert store.values == {}


ROUNDS = st.lists(
    st.lists(
        st.tuples(
            st.integers(0, 6), st.sampled_from("xyz"), st.sampled_from([2, 5, 11, 30, NEVER, GONE])
        ),
        unique_by=lambda row: row[0],
        max_size=4,
    ),
    max_size=40,
)


@drawn(200, ROUNDS, st.booleans(), st.sampled_from([0, 1 << 16]), st.randoms(use_true_random=False))
def test_reading_back_gives_all_increments(
    rounds: list[list[tuple[int, str, int]]], appends: object, slack: int, chance: random.Random
) -> None:
    """With full disks and new epochs in between."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chain, "SLACK_BYTES", slack)
        patch.setattr(chain, "FAN", 3)
        store = MemoryStore()
        records = Records(store, 0, 0, by_hand)
        given: list[IncrementalSnapshot] = []
        named: tuple[StateSegment, ...] = ()
        for number, rows in enumerate(rounds):
            given.append(increment(rows, appends=bool(appends)))
            store.full = chance.random() < 0.2
            try:
                named = records.store(number, at(number), [("f", given[-1])])
            except StateStoreError:
                assert records.live == named
                continue
            expected = state_of(given, at(number))
            assert read(named, store, at(number)).get("f", []) == expected
            assert len({record.key for record in named}) == len(named)
            if chance.random() < 0.2:
                records = Records(store, 0, number, by_hand)
                records.resume(named, read_state(named, lambda _worker: store))


@pytest.mark.parametrize("expires", [0, GONE])
def test_what_ended_a_row_outlives_a_partial_merge(expires: int) -> None:
    """A row that is of no use stands for the end of one in the base, which never would."""
    store = MemoryStore()
    records = worker(store)
    records.store(0, at(0), [("f", numbered(range(10_000)))])
    for number in range(1, 20):
        named = records.store(number, at(1000), [("f", numbered([number], expires=expires))])
    levels = [record.level for record in named]
    assert levels[0] == 0
    assert 1 in levels
    kept = [key for key, _, _ in read(named, store, at(1000))["f"]]
    assert kept == [0, *range(20, 10_000)]


# --- What is kept small ---


def ratio(named: tuple[StateSegment, ...], live: int) -> float:
    """Return how many rows there are to read, for one that is of use."""
    return sum(record.rows for record in named) / live


def test_state_that_grows_is_read_and_written_few_times() -> None:
    store = MemoryStore()
    records = worker(store)
    for number in range(300):
        rows = numbered(range(number * 200, number * 200 + 200))
        named = records.store(number, at(number), [("f", rows)])
        assert ratio(named, 200 * number + 200) == 1
        assert len(named) <= 1 + 7 * 4
    assert store.bytes_put <= 6 * sum(record.size for record in named)


def test_state_that_is_written_over_does_not_pile_up() -> None:
    store = MemoryStore()
    records = worker(store)
    for number in range(300):
        rows = numbered(range(2_000), word=f"{number}/")
        named = records.store(number, at(number), [("f", rows)])
        assert ratio(named, 2_000) <= chain.SPACE_FACTOR + 3
    assert store.bytes_put <= 2 * 300 * max(record.size for record in named)


def test_windows_that_closed_do_not_pile_up() -> None:
    """A window of 16 snapshots: each row is of use for 16 of them."""
    store = MemoryStore()
    records = worker(store)
    ratios = []
    for number in range(200):
        keys = range(number * 1_000, number * 1_000 + 1_000)
        window = numbered(keys, expires=(number // 16 + 1) * 16)
        named = records.store(number, at(number), [("f", window)])
        live = 1_000 * (number % 16 + 1)
        ratios.append(ratio(named, max(live, 4_000)))
    assert max(ratios) <= chain.SPACE_FACTOR + 3
    assert len(read(named, store, at(number))["f"]) == 1_000 * (number % 16 + 1)


# --- What goes wrong ---


def test_what_could_not_be_stored_goes_with_the_next_snapshot() -> None:
    store = MemoryStore()
    records = worker(store)
    first = records.store(1, at(1), [("f", numbered([1, 2]))])
    store.full = True
    for number in (2, 3):
        rows = numbered([2, number + 1], word=f"{number}/")
        with pytest.raises(StateStoreError, match="no space left"):
            records.store(number, at(number), [("f", rows)])
        assert (records.live, records.pending_rows) == (first, number)
    store.full = False
    named = records.store(4, at(4), [])
    assert [record.snapshot for record in named] == [1, 4]
    assert [(key, value) for key, value, _ in read(named, store, at(4))["f"]] == [
        (1, "v1"),
        (2, "3/2"),
        (3, "2/3"),
        (4, "3/4"),
    ]
    assert records.pending_rows == 0


def test_a_damaged_record_is_told_when_it_is_to_be_merged() -> None:
    store = MemoryStore()
    records = worker(store)
    for number in range(8):
        named = records.store(number, at(number), [("f", numbered([number]))])
    store.values[named[3].key] = store.values[named[2].key]
    with pytest.raises(DamagedRecordError) as raised:
        records.store(9, at(9), [("f", numbered([9]))])
    assert raised.value.record == named[3]
    assert records.pending_rows == 1
    assert records.live == named


def test_records_that_are_not_needed_are_removed() -> None:
    store = MemoryStore()
    records = worker(store)
    snapshots = [records.store(n, at(n), [("f", numbered([n]))]) for n in range(9)]
    before = {record.key for record in snapshots[7]}
    now = {record.key for record in snapshots[8]}
    assert set(store.values) == before | now
    records.remove(sorted(before - now))
    assert set(store.values) == now
    with pytest.raises(AssertionError, match="must not be removed"):
        records.remove(now)


def test_what_a_crash_left_behind_is_swept() -> None:
    store = MemoryStore()
    named = worker(store).store(1, at(1), [("f", numbered([1]))])
    others = Records(store, 3, 8, by_hand).store(2, at(2), [("f", numbered([2]))])
    Records(store, 3, 9, by_hand).store(2, at(2), [("f", numbered([3]))])
    records = Records(store, 3, 10, by_hand)
    records.resume(named, read_state(named, lambda _worker: store))
    records.sweep({record.key for record in others})
    assert set(store.values) == {record.key for record in (*named, *others)}


def test_state_of_other_workers_is_taken_over() -> None:
    store = MemoryStore()
    records = worker(store)
    records.take_over([("f", numbered([1, 2])), ("g", numbered([5])), ("f", numbered([2, 3]))])
    assert records.live == ()
    named = records.store(5, at(5), [("f", numbered([4]))])
    found = read(named, store, at(5))
    assert {operator: [row[0] for row in rows] for operator, rows in found.items()} == {
        "f": [1, 2, 3, 4],
        "g": [5],
    }
    assert {record.worker for record in named} == {3}


# --- Reading back ---


class Unreadable(MemoryStore):
    def get(self, key: str) -> memoryview | None:
        raise StateStoreError(f'cannot read "{key}": checksum mismatch')


def damaged(record: StateSegment, store: MemoryStore) -> str:
    with pytest.raises(DamagedRecordError) as raised:
        read_state([record], lambda _worker: store)
    assert raised.value.record == record
    return str(raised.value)


def test_a_record_that_cannot_be_read_back_is_named() -> None:
    store = MemoryStore()
    records = worker(store)
    (record,) = records.store(1, at(1), [("f", numbered([1]))])
    (other,) = Records(store, 3, 8, by_hand).store(1, at(1), [("f", numbered([2]))])
    name = f'record "{record.key}" of worker 3: '
    whole = store.values[record.key]

    def with_value(value: bytes) -> str:
        store.values[record.key] = value
        return damaged(record, store).removeprefix(name)

    size = len(whole)
    assert with_value(whole[:-1]) == f"it has {size - 1} bytes, and the manifest says {size}"
    assert with_value(b"") == f"it has 0 bytes, and the manifest says {size}"
    assert with_value(whole[:9] + b"\0" + whole[10:]) == "its hash does not match"
    assert with_value(store.values[other.key]) == "it is another than the manifest names"
    del store.values[record.key]
    assert damaged(record, store) == f"{name}it is missing from the store"
    assert damaged(record, Unreadable()) == (f'{name}cannot read "{record.key}": checksum mismatch')


def test_a_store_that_cannot_be_opened_is_named_by_its_first_record() -> None:
    store = MemoryStore()
    named = worker(store).store(1, at(1), [("f", numbered([1]))])

    def not_there(number: int) -> MemoryStore:
        raise StateStoreError(f"worker {number} holds no state store")

    with pytest.raises(DamagedRecordError) as raised:
        read_state(named, not_there)
    assert raised.value.record == named[0]
    assert raised.value.reason == "worker 3 holds no state store"


def test_rows_are_counted_again() -> None:
    store = MemoryStore()
    (record,) = worker(store).store(1, at(1), [("f", numbered([1]))])
    lying = type(record)(
        **{name: getattr(record, name) for name in record.__struct_fields__} | {"rows": 2}
    )
    assert damaged(lying, store).endswith("it has 1 rows, and the manifest says 2")


def test_increments_by_hand_expire_at_their_punctuation() -> None:
    rows = [increment([(1, "a", 5), (2, "b", TIME_END)])]
    assert rows_of(by_hand(rows, Root(5, -1))) == [(1, "a", 5), (2, "b", TIME_END)]
    assert rows_of(by_hand(rows, Root(5, 0))) == [(2, "b", TIME_END)]
    assert rows_of(by_hand(rows, START)) == [(1, "a", 5), (2, "b", TIME_END)]
