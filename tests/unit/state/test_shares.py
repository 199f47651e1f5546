"""Shares of snapshots: what was stored under one owner map is restored under any other."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from fsql.compiler.owner_map import BIN_SHIFT, BINS, OwnerMap, are_bin_ranges
from fsql.compiler.owners import Owners
from fsql.runtime.batch import START
from fsql.runtime.hashing import hash_rows
from fsql.runtime.kernels.keyed.incremental_snapshot import (
    EXPIRES,
    GONE,
    NEVER,
    WEIGHT,
    IncrementalSnapshot,
    incremental_snapshot,
    merge_snapshots,
)
from fsql.runtime.state.segments import StateSegments
from fsql.runtime.state.shares import load_share
from fsql.tests.unit.state.memory_store import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fsql.runtime.cluster.snapshots.manifest import StateSegment

KEYS = range(300)


def bin_of(key: int) -> int:
    return int(hash_rows([pa.array([key])], 1)[0]) >> BIN_SHIFT


BIN_OF = {key: bin_of(key) for key in KEYS}


FOLDS = ("values", "weights")


def changes(rows: Iterable[tuple[int, int, int]], *, appends: bool) -> IncrementalSnapshot:
    """Return an incremental snapshot of keys, values and when they expire."""
    keys, values, expires = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    names = [WEIGHT if appends else "value", EXPIRES]
    state = pa.RecordBatch.from_arrays([pa.array(values), pa.array(expires)], names)
    made = incremental_snapshot([pa.array(keys)], state, appends=appends)
    return merge_snapshots([made], START)


class Job:
    """The stores of a job whose owner map changes, and what its state has to be."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.stores = [MemoryStore() for _ in range(5)]
        self.named: tuple[StateSegment, ...] = ()
        self.state: dict[int, int] = {}
        self.weights: dict[int, int] = {}
        self.snapshot = 0

    def run(self, owners: Owners, snapshots: int) -> None:
        """Restore under owner maps, and take snapshots."""
        epoch = self.snapshot + 1
        workers = []
        for number in range(owners.workers):
            bins = owners.bins_of(number)
            segments = StateSegments(self.stores[number], number, epoch, merge_snapshots, bins)
            shares = load_share(self.named, segments, self.stores.__getitem__)
            own = {
                fold: {key for key in KEYS if owners.of(fold).owners[BIN_OF[key]] == number}
                for fold in FOLDS
            }
            assert values(shares.get("values", ())) == of_keys(self.state, own["values"])
            assert values(shares.get("weights", ())) == of_keys(self.weights, own["weights"])
            workers.append((segments, own))
        for _ in range(snapshots):
            self.snapshot += 1
            self.named = tuple(
                segment
                for segments, own in workers
                for segment in segments.store(self.snapshot, START, self.changed(own))
            )
        for store in self.stores:
            store.remove({*store.keys()} - {segment.key for segment in self.named})

    def changed(self, own: dict[str, set[int]]) -> list[tuple[str, IncrementalSnapshot]]:
        """Change the state of some keys of each fold, and return the incremental snapshots of it."""
        rows, added = [], []
        for key in self.some(own["values"]):
            if key in self.state and self.random.random() < 0.5:
                del self.state[key]
                rows.append((key, 0, GONE))
            else:
                self.state[key] = self.snapshot
                rows.append((key, self.snapshot, NEVER))
        for key in self.some(own["weights"]):
            self.weights[key] = self.weights.get(key, 0) + 1
            added.append((key, 1, NEVER))
        of_values = [("values", changes(rows, appends=False))] if rows else []
        return of_values + ([("weights", changes(added, appends=True))] if added else [])

    def some(self, own: set[int]) -> list[int]:
        return (
            self.random.sample(sorted(own), self.random.randrange(1, len(own) + 1)) if own else []
        )


def of_keys(state: dict[int, int], own: set[int]) -> dict[int, int]:
    return {key: value for key, value in state.items() if key in own}


def values(snapshots: tuple[IncrementalSnapshot, ...]) -> dict[int, int]:
    if not snapshots:
        return {}
    rows = merge_snapshots(snapshots, START, whole=True).rows
    return dict(zip(rows.column(0).to_pylist(), rows.column(2).to_pylist(), strict=True))


def drawn_owners(random: Random) -> Owners:
    workers = random.randrange(1, 6)
    named = {fold: drawn_map(random, workers) for fold in FOLDS if random.random() < 0.6}
    return Owners.of_maps(drawn_map(random, workers), named)


def drawn_map(random: Random, workers: int) -> OwnerMap:
    match random.randrange(3):
        case 0:
            return OwnerMap.of_equal_ranges(workers)
        case 1:
            return OwnerMap(tuple(random.randrange(workers) for _ in range(BINS)), workers)
        case _:
            bounds = sorted(random.choices(range(BINS), k=workers - 1))
            owners = (sum(bound <= number for bound in bounds) for number in range(BINS))
            return OwnerMap(tuple(owners), workers)


@pytest.mark.parametrize("seed", range(5))
def test_a_snapshot_of_any_owner_map_is_restored_under_any_other(seed: int) -> None:
    random = Random(seed)
    job = Job(random)
    for _ in range(8):
        job.run(drawn_owners(random), random.randrange(1, 11))


def test_as_many_workers_may_own_other_bins() -> None:
    job = Job(Random(0))
    halves = OwnerMap.of_equal_ranges(2)
    swapped = OwnerMap(tuple(1 - owner for owner in halves.owners), 2)
    for every in (halves, swapped, halves, halves):
        job.run(Owners(every), 2)
    for fold in FOLDS:
        job.run(Owners.of_maps(halves, {fold: swapped}), 2)


def test_what_a_worker_has_stored_under_the_same_owner_map_stays_where_it_is() -> None:
    job = Job(Random(0))
    owners = Owners.of_maps(OwnerMap.of_equal_ranges(3), {"values": OwnerMap((1,) * BINS, 3)})
    job.run(owners, 3)
    before = job.named
    job.run(owners, 0)
    segments = StateSegments(job.stores[1], 1, 9, merge_snapshots, owners.bins_of(1))
    load_share(job.named, segments, job.stores.__getitem__)
    assert segments.live == tuple(segment for segment in before if segment.worker == 1)
    assert segments.pending_rows == 0


def test_bins_that_come_back_do_not_bring_back_what_was_deleted_elsewhere() -> None:
    job = Job(Random(1))
    first, second = OwnerMap((0,) * BINS, 2), OwnerMap((1,) * BINS, 2)
    for every in (first, second, first, second):
        job.run(Owners(every), 3)
    for every in (first, second, first, second):
        job.run(Owners.of_maps(first, {"values": every}), 3)


@pytest.mark.parametrize("workers", [1, 2, 3, 7, 4096])
def test_equal_ranges_cover_all_bins_once(workers: int) -> None:
    owners = OwnerMap.of_equal_ranges(workers)
    assert [owner for owner, _, _ in owners.ranges] == list(range(workers))
    assert [first for _, first, _ in owners.ranges] == [
        0,
        *(end for _, _, end in owners.ranges[:-1]),
    ]
    widths = {end - first for _, first, end in owners.ranges}
    assert max(widths) - min(widths) <= 1
    assert owners.bins_of(workers - 1)[0][1] == BINS


@pytest.mark.parametrize(
    ("ranges", "valid"),
    [
        ((), True),
        (((0, BINS),), True),
        (((0, 1), (2, 3)), True),
        (((0, 1), (1, 3)), False),
        (((3, 3),), False),
        (((0, BINS + 1),), False),
        (((-1, 2),), False),
        (((5, 6), (2, 3)), False),
    ],
)
def test_what_ranges_of_bins_are(ranges: tuple[tuple[int, int], ...], valid: bool) -> None:  # noqa: FBT001
    assert are_bin_ranges(ranges) is valid
