"""For each code of state (E6xx), what `fsql snapshot verify` reports so: a damage to a state directory."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

from fsql.runtime.cluster.snapshots.manifest import FORMAT, manifest_hash
from fsql.runtime.state.local_directory import local_snapshots, worker_directory
from fsql.runtime.state.rocks import RocksStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def cut_manifest(state: Path) -> None:
    """Cut the newest manifest short."""
    path = local_snapshots(state).path(7)
    path.write_bytes(path.read_bytes()[:100])


def remove_segment(state: Path) -> str:
    """Remove a state segment of the newest snapshot, and return its key."""
    key = "00000005/000000000007/join/2"
    store = RocksStore(worker_directory(state, 1))
    store.remove([key])
    store.put({})
    store.close()
    return key


def write_later_format(state: Path) -> None:
    """Write the newest manifest as a later version would."""
    path = local_snapshots(state).path(7)
    fields = json.loads(path.read_bytes().partition(b"\n")[0])
    body = json.dumps({**fields, "format": FORMAT + 1}).encode()
    path.write_bytes(body + b"\n" + manifest_hash(body).encode() + b"\n")


def overwrite_coordination(state: Path) -> None:
    """Write something else into the coordination file."""
    (state / "coordination.sqlite").write_bytes(b"something else" * 100)


FAILING_STATE: dict[str, Callable[[Path], object]] = {
    "E611": cut_manifest,
    "E612": remove_segment,
    "E613": write_later_format,
    "E614": shutil.rmtree,
    "E615": overwrite_coordination,
}
