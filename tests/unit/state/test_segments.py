"""State segments against a naive model: read back, they are the rows of all incremental snapshots.

Catches: a row that reappears because the row that replaced it was dropped, a merge in the wrong order, a
segment that is lost or named twice, growth without bound.  Does not catch mistakes of `merge_snapshots`:
`naive_merge` is used instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import strategies as st

from fsql.runtime.batch import START, TIME_END, Root
from fsql.runtime.kernels.keyed.incremental_snapshot import NEVER
from fsql.runtime.state import compaction as chain
from fsql.runtime.state.loading import DamagedSegmentError, read_state
from fsql.runtime.state.segments import StateSegments
from fsql.runtime.state.store import StateStoreError
from fsql.tests.unit.formats.drawn import drawn
from fsql.tests.unit.state.memory_store import MemoryStore
from fsql.tests.unit.state.naive_merge import (
    GONE,
    by_hand,
    incremental_snapshot,
    numbered,
    rows_of,
    state_of,
)

if TYPE_CHECKING:
    import random

    from fsql.runtime.cluster.snapshots.manifest import StateSegment
    from fsql.runtime.kernels.keyed.incremental_snapshot import IncrementalSnapshot
    from fsql.tests.unit.state.naive_merge import Row


def at(time: int) -> Root:
    return Root(time, 0)


def read(
    segments: tuple[StateSegment, ...], store: MemoryStore, position: Root
) -> dict[str, list[Row]]:
    """Return the rows of each operator as reading back gives them."""
    state = read_state(segments, lambda _worker: store)
    return {operator: state_of(snapshots, position) for operator, snapshots in state.items()}


def worker(store: MemoryStore) -> StateSegments:
    return StateSegments(store, 3, 7, by_hand)


def test_a_segment_has_size_rows_and_hash_of_its_snapshot() -> None:
    store = MemoryStore()
    (segment,) = worker(store).store(12, at(5), [("fold/1", numbered(range(3)))])
    data = store.values["00000007/000000000012/fold/1"]
    assert (segment.worker, segment.key, segment.operator) == (3, *store.values, "fold/1")
    assert (segment.snapshot, segment.level, segment.rows, segment.size) == (12, 0, 3, len(data))
    assert segment.hash == data[-16:].hex()


def test_operators_are_in_one_order_whatever_came_first() -> None:
    snapshots = [("b", numbered([1])), ("a", numbered([2]))]
    one = worker(MemoryStore()).store(1, at(5), snapshots)
    assert one == worker(MemoryStore()).store(1, at(5), snapshots[::-1])
    assert [segment.operator for segment in one] == ["a", "b"]


def test_without_rows_there_is_no_segment() -> None:
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


@drawn(70, ROUNDS, st.booleans(), st.sampled_from([0, 1 << 16]), st.randoms(use_true_random=False))
def test_reading_back_gives_all_increments(
    rounds: list[list[tuple[int, str, int]]], appends: object, slack: int, chance: random.Random
) -> None:
    """With full disks and new epochs in between."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chain, "SLACK_BYTES", slack)
        patch.setattr(chain, "FAN", 3)
        store = MemoryStore()
        segments = StateSegments(store, 0, 0, by_hand)
        given: list[IncrementalSnapshot] = []
        named: tuple[StateSegment, ...] = ()
        for number, rows in enumerate(rounds):
            given.append(incremental_snapshot(rows, appends=bool(appends)))
            store.full = chance.random() < 0.2
            try:
                named = segments.store(number, at(number), [("f", given[-1])])
            except StateStoreError:
                assert segments.live == named
                continue
            expected = state_of(given, at(number))
            assert read(named, store, at(number)).get("f", []) == expected
            assert len({segment.key for segment in named}) == len(named)
            if chance.random() < 0.2:
                segments = StateSegments(store, 0, number, by_hand)
                segments.resume(named, read_state(named, lambda _worker: store))


@pytest.mark.parametrize("expires", [0, GONE])
def test_what_ended_a_row_outlives_a_partial_merge(expires: int) -> None:
    """A row that is of no use stands for the end of one in the base, which never would."""
    store = MemoryStore()
    segments = worker(store)
    segments.store(0, at(0), [("f", numbered(range(10_000)))])
    for number in range(1, 20):
        named = segments.store(number, at(1000), [("f", numbered([number], expires=expires))])
    levels = [segment.level for segment in named]
    assert levels[0] == 0
    assert 1 in levels
    kept = [key for key, _, _ in read(named, store, at(1000))["f"]]
    assert kept == [0, *range(20, 10_000)]


# --- What is kept small ---


def ratio(named: tuple[StateSegment, ...], live: int) -> float:
    """Return how many rows there are to read, for one that is of use."""
    return sum(segment.rows for segment in named) / live


def test_state_that_grows_is_read_and_written_few_times() -> None:
    store = MemoryStore()
    segments = worker(store)
    for number in range(120):
        rows = numbered(range(number * 200, number * 200 + 200))
        named = segments.store(number, at(number), [("f", rows)])
        assert ratio(named, 200 * number + 200) == 1
        assert len(named) <= 1 + 7 * 4
    assert store.bytes_put <= 6 * sum(segment.size for segment in named)


def test_state_that_is_written_over_does_not_pile_up() -> None:
    store = MemoryStore()
    segments = worker(store)
    for number in range(120):
        rows = numbered(range(2_000), word=f"{number}/")
        named = segments.store(number, at(number), [("f", rows)])
        assert ratio(named, 2_000) <= chain.SPACE_FACTOR + 3
    assert store.bytes_put <= 2 * 120 * max(segment.size for segment in named)


def test_windows_that_closed_do_not_pile_up() -> None:
    """A window of 16 snapshots: each row is of use for 16 of them."""
    store = MemoryStore()
    segments = worker(store)
    ratios = []
    for number in range(80):
        keys = range(number * 1_000, number * 1_000 + 1_000)
        window = numbered(keys, expires=(number // 16 + 1) * 16)
        named = segments.store(number, at(number), [("f", window)])
        live = 1_000 * (number % 16 + 1)
        ratios.append(ratio(named, max(live, 4_000)))
    assert max(ratios) <= chain.SPACE_FACTOR + 3
    assert len(read(named, store, at(number))["f"]) == 1_000 * (number % 16 + 1)


# --- What goes wrong ---


def test_what_could_not_be_stored_goes_with_the_next_snapshot() -> None:
    store = MemoryStore()
    segments = worker(store)
    first = segments.store(1, at(1), [("f", numbered([1, 2]))])
    store.full = True
    for number in (2, 3):
        rows = numbered([2, number + 1], word=f"{number}/")
        with pytest.raises(StateStoreError, match="no space left"):
            segments.store(number, at(number), [("f", rows)])
        assert (segments.live, segments.pending_rows) == (first, number)
    store.full = False
    named = segments.store(4, at(4), [])
    assert [segment.snapshot for segment in named] == [1, 4]
    assert [(key, value) for key, value, _ in read(named, store, at(4))["f"]] == [
        (1, "v1"),
        (2, "3/2"),
        (3, "2/3"),
        (4, "3/4"),
    ]
    assert segments.pending_rows == 0


def test_a_damaged_segment_is_reported_when_it_is_to_be_merged() -> None:
    store = MemoryStore()
    segments = worker(store)
    for number in range(8):
        named = segments.store(number, at(number), [("f", numbered([number]))])
    store.values[named[3].key] = store.values[named[2].key]
    with pytest.raises(DamagedSegmentError) as raised:
        segments.store(9, at(9), [("f", numbered([9]))])
    assert raised.value.segment == named[3]
    assert segments.pending_rows == 1
    assert segments.live == named


def test_segments_that_are_not_needed_are_removed() -> None:
    store = MemoryStore()
    segments = worker(store)
    snapshots = [segments.store(n, at(n), [("f", numbered([n]))]) for n in range(9)]
    before = {segment.key for segment in snapshots[7]}
    now = {segment.key for segment in snapshots[8]}
    assert set(store.values) == before | now
    segments.remove(sorted(before - now))
    assert set(store.values) == now
    with pytest.raises(AssertionError, match="must not be removed"):
        segments.remove(now)


def test_what_a_crash_left_behind_is_swept() -> None:
    store = MemoryStore()
    named = worker(store).store(1, at(1), [("f", numbered([1]))])
    others = StateSegments(store, 3, 8, by_hand).store(2, at(2), [("f", numbered([2]))])
    StateSegments(store, 3, 9, by_hand).store(2, at(2), [("f", numbered([3]))])
    segments = StateSegments(store, 3, 10, by_hand)
    segments.resume(named, read_state(named, lambda _worker: store))
    segments.sweep({segment.key for segment in others})
    assert set(store.values) == {segment.key for segment in (*named, *others)}


def test_state_of_other_workers_is_taken_over() -> None:
    store = MemoryStore()
    segments = worker(store)
    segments.take_over([("f", numbered([1, 2])), ("g", numbered([5])), ("f", numbered([2, 3]))])
    assert segments.live == ()
    named = segments.store(5, at(5), [("f", numbered([4]))])
    found = read(named, store, at(5))
    assert {operator: [row[0] for row in rows] for operator, rows in found.items()} == {
        "f": [1, 2, 3, 4],
        "g": [5],
    }
    assert {segment.worker for segment in named} == {3}


# --- Reading back ---


class Unreadable(MemoryStore):
    def get(self, key: str) -> memoryview | None:
        raise StateStoreError(f'cannot read "{key}": checksum mismatch')


def damaged(segment: StateSegment, store: MemoryStore) -> str:
    with pytest.raises(DamagedSegmentError) as raised:
        read_state([segment], lambda _worker: store)
    assert raised.value.segment == segment
    return str(raised.value)


def test_a_segment_that_cannot_be_read_back_is_named() -> None:
    store = MemoryStore()
    segments = worker(store)
    (segment,) = segments.store(1, at(1), [("f", numbered([1]))])
    (other,) = StateSegments(store, 3, 8, by_hand).store(1, at(1), [("f", numbered([2]))])
    name = f'state segment "{segment.key}" of worker 3: '
    whole = store.values[segment.key]

    def with_value(value: bytes) -> str:
        store.values[segment.key] = value
        return damaged(segment, store).removeprefix(name)

    size = len(whole)
    assert with_value(whole[:-1]) == f"it has {size - 1} bytes, and the manifest says {size}"
    assert with_value(b"") == f"it has 0 bytes, and the manifest says {size}"
    assert with_value(whole[:9] + b"\0" + whole[10:]) == "its hash does not match"
    assert with_value(store.values[other.key]) == "it is not the one that the manifest names"
    del store.values[segment.key]
    assert damaged(segment, store) == f"{name}it is missing from the store"
    assert damaged(segment, Unreadable()) == (
        f'{name}cannot read "{segment.key}": checksum mismatch'
    )


def test_a_store_that_cannot_be_opened_is_named_by_its_first_segment() -> None:
    store = MemoryStore()
    named = worker(store).store(1, at(1), [("f", numbered([1]))])

    def not_there(number: int) -> MemoryStore:
        raise StateStoreError(f"worker {number} holds no state store")

    with pytest.raises(DamagedSegmentError) as raised:
        read_state(named, not_there)
    assert raised.value.segment == named[0]
    assert raised.value.reason == "worker 3 holds no state store"


def test_rows_are_counted_again() -> None:
    store = MemoryStore()
    (segment,) = worker(store).store(1, at(1), [("f", numbered([1]))])
    lying = type(segment)(
        **{name: getattr(segment, name) for name in segment.__struct_fields__} | {"rows": 2}
    )
    assert damaged(lying, store).endswith("it has 1 rows, and the manifest says 2")


def test_snapshots_by_hand_expire_at_their_punctuation() -> None:
    rows = [incremental_snapshot([(1, "a", 5), (2, "b", TIME_END)])]
    assert rows_of(by_hand(rows, Root(5, -1))) == [(1, "a", 5), (2, "b", TIME_END)]
    assert rows_of(by_hand(rows, Root(5, 0))) == [(2, "b", TIME_END)]
    assert rows_of(by_hand(rows, START)) == [(1, "a", 5), (2, "b", TIME_END)]
