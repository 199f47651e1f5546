"""A small state directory, as two workers and a coordinator leave it.

`python -m fsql.tests.unit.state.directories DIR` makes one: the golden ones were made so.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fsql.runtime.batch import Root
from fsql.runtime.cluster.snapshots.manifest import Manifest, StateSegment
from fsql.runtime.coordination.commits import Committed, commit_snapshot
from fsql.runtime.coordination.embedded import FILE, EmbeddedCoordination
from fsql.runtime.dataflow.resume_point import ResumePoint
from fsql.runtime.state.local_directory import local_snapshots, worker_directory
from fsql.runtime.state.rocks import RocksStore
from fsql.runtime.state.segments import StateSegments
from fsql.tests.unit.state.naive_merge import by_hand, incremental_snapshot

if TYPE_CHECKING:
    from fsql.runtime.kernels.keyed.incremental_snapshot import IncrementalSnapshot

WORKERS = 2
EPOCH = 5
SNAPSHOTS = (6, 7)
POSITION = Root(2_000, -1)
STATE = {
    "count/1": [(key, "new" if key < 4 else "old", 9_000) for key in range(12)],
    "join/2": [(key, f"row {key}", 5_000 + key) for key in range(12)],
}
"""The rows of each operator as of the newest snapshot."""


def make_state(state: Path) -> None:
    """Make a state directory with two snapshots, both committed."""
    state.mkdir()
    client = EmbeddedCoordination(state / FILE, create=True)
    session = client.open_session(600)
    named = {number: list[StateSegment]() for number in SNAPSHOTS}
    for worker in range(WORKERS):
        store = RocksStore(worker_directory(state, worker))
        segments = StateSegments(store, worker, EPOCH, by_hand)
        old, new = (_increments(worker, word) for word in ("old", "new"))
        named[6] += segments.store(6, Root(1_000, -1), old)
        named[7] += segments.store(7, POSITION, new)
        store.close()
    for number in SNAPSHOTS:
        write_snapshot(state, client, session, manifest(number, tuple(named[number])))
    client.close_session(session)
    client.close()


def manifest(snapshot: int, segments: tuple[StateSegment, ...]) -> Manifest:
    fronts = tuple(ResumePoint(front, 10 * snapshot, 10 * snapshot, 99, 900) for front in (0, 1))
    position = (POSITION.time - 1_000 * (7 - snapshot), POSITION.origin)
    return Manifest("golden", 0, EPOCH, snapshot, position, WORKERS, segments, fronts)


def write_snapshot(
    state: Path, client: EmbeddedCoordination, session: int, manifest: Manifest
) -> None:
    """Write a manifest and commit it."""
    found = local_snapshots(state).write(manifest)
    commit_snapshot(client, session, Committed(manifest.snapshot, found, manifest.epoch))


def _increments(worker: int, word: str) -> list[tuple[str, IncrementalSnapshot]]:
    keys = range(worker, 12, WORKERS)
    if word == "old":
        joined = incremental_snapshot(
            ((k, f"row {k}", 5_000 + k) for k in keys if k < 6), appends=True
        )
        return [
            ("count/1", incremental_snapshot((k, "old", 9_000) for k in keys)),
            ("join/2", joined),
        ]
    joined = incremental_snapshot(
        ((k, f"row {k}", 5_000 + k) for k in keys if k >= 6), appends=True
    )
    return [
        ("count/1", incremental_snapshot((k, "new", 9_000) for k in keys if k < 4)),
        ("join/2", joined),
    ]


if __name__ == "__main__":
    make_state(Path(sys.argv[1]))
