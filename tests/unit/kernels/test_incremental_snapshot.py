"""Merging incremental snapshots, against a dictionary of states and a counter of rows; hashes may collide."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from fsql.compiler.owner_map import BIN_SHIFT, BINS, bin_ranges, common_bins
from fsql.runtime import hashing
from fsql.runtime.batch import START, Root
from fsql.runtime.kernels.keyed.incremental_snapshot import (
    EXPIRES,
    GONE,
    HASH,
    NEVER,
    WEIGHT,
    IncrementalSnapshot,
    incremental_snapshot,
    merge_snapshots,
    rows_of_bins,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

Key = tuple[str | None, float]
KEYS: list[Key] = [(text, number) for text in ("a", "b", None) for number in (0.0, 1.5, -2.0)]


@pytest.fixture(params=[1, 3, 1 << 20], autouse=True)
def _hashes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have few hashes, so that most keys share one, or many."""

    def hash_rows(
        keys: Sequence[pa.Array], count: int
    ) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
        return hashing.hash_rows(keys, count) % np.uint32(request.param)

    monkeypatch.setattr("fsql.runtime.kernels.keyed.incremental_snapshot.hash_rows", hash_rows)


def states(random: Random, count: int) -> list[tuple[Key, int, int]]:
    """Return keys, each once, with a state and when it expires."""
    chosen = random.sample(KEYS, count)
    return [(key, random.randrange(100), random.choice((NEVER, GONE, 5, 20))) for key in chosen]


def made(rows: list[tuple[Key, int, int]], name: str, *, appends: bool) -> IncrementalSnapshot:
    keys = [
        pa.array([key[0] for key, _, _ in rows], pa.string()),
        pa.array([key[1] for key, _, _ in rows], pa.float64()),
    ]
    columns = {
        name: pa.array([state for _, state, _ in rows], pa.int64()),
        EXPIRES: pa.array([expires for _, _, expires in rows], pa.int64()),
    }
    return incremental_snapshot(keys, pa.RecordBatch.from_pydict(columns), appends=appends)


def read(one: IncrementalSnapshot, name: str) -> list[tuple[Key, int]]:
    columns = [one.rows.column(index).to_pylist() for index in range(2)]
    values = one.rows.column(name).to_pylist()
    return [((a, b), value) for a, b, value in zip(*columns, values, strict=True)]


@pytest.mark.parametrize("seed", range(20))
def test_the_newest_state_of_a_key_wins(seed: int) -> None:
    random = Random(seed)
    known: dict[Key, tuple[int, int]] = {}
    parts = []
    for _ in range(random.randrange(1, 5)):
        rows = states(random, random.randrange(len(KEYS)))
        known.update({key: (state, expires) for key, state, expires in rows})
        parts.append(merge_snapshots([made(rows, "state", appends=False)], START))
    whole = {key: s for key, (s, expires) in known.items() if expires in {NEVER, 20}}
    gone = {key: s for key, (s, expires) in known.items() if expires == GONE}
    at = Root(7, 0)
    assert dict(read(merge_snapshots(parts, at), "state")) == whole | gone
    assert dict(read(merge_snapshots(parts, at, whole=True), "state")) == whole
    cut = random.randrange(len(parts)) + 1
    in_two_steps = merge_snapshots(
        [merge_snapshots(parts[:cut], START), *parts[cut:]], at, whole=True
    )
    assert in_two_steps.rows.equals(merge_snapshots(parts, at, whole=True).rows)


@pytest.mark.parametrize("seed", range(20))
def test_rows_that_append_are_summed(seed: int) -> None:
    random = Random(seed)
    known: Counter[Key] = Counter()
    parts = []
    for _ in range(random.randrange(1, 5)):
        rows = [(random.choice(KEYS), random.choice((-1, 1)), NEVER) for _ in range(6)]
        for key, weight, _ in rows:
            known[key] += weight
        parts.append(made(rows, WEIGHT, appends=True))
    summed = merge_snapshots(parts, START)
    assert dict(read(summed, WEIGHT)) == {key: weight for key, weight in known.items() if weight}
    random.shuffle(parts)
    assert merge_snapshots(parts, START).rows.equals(summed.rows)


@pytest.mark.parametrize("seed", range(5))
def test_what_is_owned_is_parted_by_hash(seed: int) -> None:
    random = Random(seed)
    whole = merge_snapshots([made(states(random, len(KEYS)), "state", appends=False)], START)
    bins = [value >> BIN_SHIFT for value in whole.rows.column(HASH).to_pylist()]
    mine = set(random.sample(bins, 3))
    own = bin_ranges(sorted(mine))
    others = bin_ranges(number for number in range(BINS) if number not in mine)
    assert common_bins(own, others) == ()
    for ranges, marks in (
        (own, [b in mine for b in bins]),
        (others, [b not in mine for b in bins]),
    ):
        assert rows_of_bins(whole, ranges).rows.equals(whole.rows.filter(pa.array(marks)))
    assert rows_of_bins(whole, ()).rows.equals(whole.rows.slice(0, 0))
