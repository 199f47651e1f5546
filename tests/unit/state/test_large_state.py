"""State with more text than Arrow can address in one array: refused before it is committed, or merged to fit.

The limit is made small here.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from fsql.compiler.owners import Owners
from fsql.runtime.batch import START
from fsql.runtime.cluster.snapshots.manifest import Manifest, StateSegment
from fsql.runtime.kernels.keyed import incremental_snapshot as snapshot_rows
from fsql.runtime.kernels.keyed.incremental_snapshot import (
    EXPIRES,
    NEVER,
    IncrementalSnapshot,
    StateTooLargeError,
    incremental_snapshot,
    merge_snapshots,
    text_bytes,
)
from fsql.runtime.state.segments import StateSegments
from fsql.runtime.state.shares import check_loading, load_share
from fsql.tests.unit.state.memory_store import MemoryStore

LIMIT = 100_000


@pytest.fixture(autouse=True)
def _limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot_rows, "TEXT_BYTES_MAX", LIMIT)


def texts(keys: range, width: int = 100, letter: str = "x") -> IncrementalSnapshot:
    """Return an incremental snapshot with a text of some width for each key."""
    state = pa.RecordBatch.from_arrays(
        [pa.array([letter * width] * len(keys)), pa.array(np.full(len(keys), NEVER))],
        ["text", EXPIRES],
    )
    return merge_snapshots([incremental_snapshot([pa.array(keys)], state, appends=False)], START)


def manifest(segments: StateSegments) -> Manifest:
    position = (START.time, START.origin)
    return Manifest("job", 0, 1, 1, position, 1, segments.live, ())


def test_what_is_replaced_does_not_count() -> None:
    """Pieces that are too large together are merged before they are stored, and fit."""
    store = MemoryStore()
    segments = StateSegments(store, 0, 1, merge_snapshots)
    for snapshot in range(1, 9):
        segments.store(snapshot, START, [("a", texts(range(500), letter="abcdefgh"[snapshot - 1]))])
        loaded = load_share(
            segments.live, StateSegments(store, 0, 2, merge_snapshots), lambda _: store
        )
        assert max(text_bytes(loaded["a"])) <= LIMIT
        check_loading(manifest(segments), lambda _: store)
    whole = merge_snapshots(loaded["a"], START, whole=True)
    assert set(whole.rows.column("text").to_pylist()) == {"h" * 100}
    assert len(whole) == 500


def test_a_state_that_could_not_be_loaded_is_not_stored() -> None:
    store = MemoryStore()
    segments = StateSegments(store, 0, 1, merge_snapshots)
    segments.store(1, START, [("a", texts(range(600)))])
    before = segments.live
    with pytest.raises(StateTooLargeError, match='operator "a" has more than 100,000 bytes'):
        segments.store(2, START, [("a", texts(range(600, 1200)))])
    assert segments.live == before
    check_loading(manifest(segments), lambda _: store)


def test_more_workers_load_what_one_cannot() -> None:
    stores = [MemoryStore(), MemoryStore()]
    named: list[StateSegment] = []
    for number, keys in enumerate((range(600), range(600, 1200))):
        # As two workers would store it, with keys of both in the bins of both.
        segments = StateSegments(stores[number], number, 1, merge_snapshots)
        segments.store(1, START, [("a", texts(keys))])
        named += segments.live
    with pytest.raises(StateTooLargeError, match='operator "a"'):
        load_share(named, StateSegments(stores[0], 0, 2, merge_snapshots), stores.__getitem__)
    owners = Owners.of_equal_ranges(2)
    found = 0
    for number in range(2):
        segments = StateSegments(MemoryStore(), number, 2, merge_snapshots, owners.bins_of(number))
        share = load_share(named, segments, stores.__getitem__)
        found += len(merge_snapshots(share["a"], START, whole=True))
        segments.store(2, START, [])
    assert found == 1200


@pytest.mark.parametrize("width", [10, 150])
def test_merging_in_parts_gives_the_same(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    parts = [
        texts(range(first, first + 400), width, "abc"[first // 100]) for first in (0, 100, 200)
    ]
    in_parts = merge_snapshots(parts, START, whole=True)
    monkeypatch.setattr(snapshot_rows, "TEXT_BYTES_MAX", 2**31 - 1)
    assert in_parts.rows.equals(merge_snapshots(parts, START, whole=True).rows)
