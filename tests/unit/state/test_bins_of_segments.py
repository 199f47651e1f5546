"""The bins of state segments when keys get other owners: what is stored of bins that went is not valid."""

from __future__ import annotations

import pyarrow as pa
import pytest

from fsql.compiler.owners import ALL_BINS_OF_ALL, BinSets
from fsql.runtime.batch import START, Root
from fsql.runtime.kernels.keyed.incremental_snapshot import (
    NEVER,
    IncrementalSnapshot,
    incremental_snapshot,
    merge_snapshots,
)
from fsql.runtime.state.segments import StateSegments
from fsql.runtime.state.store import StateStoreError
from fsql.tests.unit.state.memory_store import MemoryStore

LOWER = BinSets(((0, 2048),))
UPPER = BinSets(((2048, 4096),))


def rows(count: int) -> IncrementalSnapshot:
    """Return the state of some keys."""
    state = pa.RecordBatch.from_pydict({"expires": pa.array([NEVER] * count, pa.int64())})
    keys = [pa.array(range(count), pa.int64())]
    return merge_snapshots([incremental_snapshot(keys, state, appends=False)], START)


def count_of(segments: StateSegments, bins: BinSets) -> int:
    return sum(len(part) for _, part in segments.read(bins))


def test_bins_that_come_back_do_not_find_their_old_state() -> None:
    segments = StateSegments(MemoryStore(), 3, 7, merge_snapshots, ALL_BINS_OF_ALL)
    segments.store(1, Root(5, 0), [("fold", rows(100))])
    lower, upper = count_of(segments, LOWER), count_of(segments, UPPER)
    assert lower > 0 < upper
    assert lower + upper == 100
    segments.change_bins(UPPER)
    assert count_of(segments, ALL_BINS_OF_ALL) == upper
    segments.change_bins(ALL_BINS_OF_ALL)
    assert (count_of(segments, LOWER), count_of(segments, UPPER)) == (0, upper)


def test_state_that_came_in_parts_is_read_as_one() -> None:
    segments = StateSegments(MemoryStore(), 3, 7, merge_snapshots, ALL_BINS_OF_ALL)
    segments.take_over([("fold", rows(100)), ("fold", rows(50)), ("fold", rows(0))])
    assert [(operator, len(part)) for operator, part in segments.read(ALL_BINS_OF_ALL)] == [
        ("fold", 100)
    ]


def test_state_that_is_not_stored_yet_goes_with_its_bins() -> None:
    store = MemoryStore()
    segments = StateSegments(store, 3, 7, merge_snapshots, ALL_BINS_OF_ALL)
    store.full = True
    with pytest.raises(StateStoreError):
        segments.store(1, Root(5, 0), [("fold", rows(100))])
    lower = count_of(segments, LOWER)
    segments.change_bins(LOWER)
    assert 0 < lower < 100
    assert count_of(segments, ALL_BINS_OF_ALL) == lower
