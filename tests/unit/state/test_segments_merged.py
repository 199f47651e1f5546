"""State segments merged by `merge_snapshots`, as in jobs: the state is that of all incremental snapshots.

Compares `merge_snapshots` of the segments that were read back with `merge_snapshots` of all incremental
snapshots.  Catches a chain that merges too much, too little, or at a wrong position.  Does not catch a
mistake of `merge_snapshots` in both; the tests of kernels do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import strategies as st

from fsql.runtime.batch import START, Root
from fsql.runtime.kernels.keyed.incremental_snapshot import (
    EXPIRES,
    GONE,
    NEVER,
    WEIGHT,
    IncrementalSnapshot,
    incremental_snapshot,
    merge_snapshots,
)
from fsql.runtime.state import compaction as chain
from fsql.runtime.state.loading import read_state
from fsql.runtime.state.segments import StateSegments
from fsql.runtime.state.store import StateStoreError
from fsql.tests.unit.formats.drawn import drawn
from fsql.tests.unit.state.memory_store import MemoryStore

if TYPE_CHECKING:
    import random

    Row = tuple[int, str, int, int]

ROWS = st.tuples(
    st.integers(0, 6),
    st.sampled_from("xyz"),
    st.sampled_from([1, 1, -1]),
    st.sampled_from([2, 5, 11, 30, NEVER, GONE]),
)
WHEN = {"x": 5, "y": 11, "z": NEVER}
ROUNDS = st.lists(st.lists(ROWS, unique_by=lambda row: row[0], max_size=5), max_size=25)


def exported(rows: list[Row], *, appends: bool) -> IncrementalSnapshot:
    """Return an incremental snapshot as a fold gives it."""
    keys, values, weights, expires = zip(*rows, strict=True) if rows else ((), (), (), ())
    columns = {"value": pa.array(values, pa.string())}
    if appends:
        expires = tuple(WHEN[value] for value in values)  # equal rows expire together
        columns[WEIGHT] = pa.array(weights, pa.int64())
    columns[EXPIRES] = pa.array(expires, pa.int64())
    batch = pa.RecordBatch.from_pydict(columns)
    return merge_snapshots(
        [incremental_snapshot([pa.array(keys, pa.int64())], batch, appends=appends)], START
    )


@pytest.mark.slow
@drawn(50, ROUNDS, st.booleans(), st.sampled_from([0, 1 << 16]), st.randoms())
def test_the_state_is_that_of_all_increments(
    rounds: list[list[Row]], appends: object, slack: int, chance: random.Random
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chain, "SLACK_BYTES", slack)
        patch.setattr(chain, "FAN", 3)
        store = MemoryStore()
        segments = StateSegments(store, 0, 0, merge_snapshots)
        given: list[IncrementalSnapshot] = []
        for number, rows in enumerate(rounds):
            position = Root(number, 0)
            given.append(exported(rows, appends=bool(appends)))
            store.full = chance.random() < 0.2
            try:
                named = segments.store(number, position, [("f", given[-1])])
            except StateStoreError:
                continue
            state = read_state(named, lambda _worker: store).get("f", ())
            expected = merge_snapshots(given, position, whole=True).rows
            found = (
                merge_snapshots(state, position, whole=True).rows if state else expected.slice(0, 0)
            )
            assert found.equals(expected)
            if chance.random() < 0.2:
                segments = StateSegments(store, 0, number, merge_snapshots)
                segments.resume(named, read_state(named, lambda _worker: store))
