"""Copies of snapshots: taken while a job runs, and restored to the state directory of a stopped one.

A copy is a state directory with one snapshot and its own coordination file.  If the job is coordinated by
ZooKeeper, the copy records its address, with which a job whose state directory is lost is restored.  A copy
has no front logs: input that cannot be read again is not part of it.  A restored job goes back to the
position of the copy and reads its input from there.  Its outputs are not changed: rows that they have are not
written again.
"""

from __future__ import annotations

import shutil
from contextlib import closing
from typing import TYPE_CHECKING, Final

import msgspec

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.job.coordination import CREDENTIALS, check_coordination, job_coordination
from fsql.job.description import JOB, parse_description
from fsql.job.difference_files import difference_name
from fsql.job.graph_tick import newest_manifest, run_steps, take_lease
from fsql.job.kept_state import open_stores
from fsql.job.state_directory import FINISHED, state_directory
from fsql.runtime.cluster.snapshots.epoch_snapshots import first_number
from fsql.runtime.coordination.port import CoordinationError
from fsql.runtime.drivers.processes.job_state import open_job_state
from fsql.runtime.state.loading import DamagedSegmentError, segment_bytes
from fsql.runtime.state.local_directory import LocalDirectory, sync_directory
from fsql.runtime.state.snapshots import SnapshotNotWrittenError
from fsql.runtime.state.store import StateStoreError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fsql.runtime.cluster.snapshots.manifest import Manifest, StateSegment
    from fsql.runtime.state.store import StateStore

_ATTEMPTS: Final = 10
_COORDINATED_BY: Final = "coordinated-by"
"""The file in a copy with the address of ZooKeeper, if the copied job is coordinated by it."""
_BATCH_BYTES: Final = 64 << 20


def copy_snapshot(state: Path, copy: Path) -> Manifest:
    """Copy the newest snapshot in a state directory to a new directory; return its manifest.

    The job may be running.  If the snapshot is removed in the meantime, because two newer ones were
    committed, the newest one is copied instead.

    Raises:
        FsqlError: E639, if the copy cannot be made; E614, if the state directory cannot be read.
    """
    if copy.exists() and any(copy.iterdir()):
        raise _refusal(f'"{copy}" is not empty', "name a new directory")
    reason = ""
    for _ in range(_ATTEMPTS):
        manifest = newest_manifest(state)
        if manifest is None:
            raise _refusal("the job has no snapshot yet", "take one: fsql snapshot take")
        copy.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            with open_stores(state, manifest.segments) as stores:
                _make_copy(state, copy, manifest, stores)
        except (DamagedSegmentError, StateStoreError, CoordinationError, OSError) as error:
            reason = str(error)
            shutil.rmtree(copy, ignore_errors=True)
        else:
            return manifest
    raise _refusal(f"the snapshot cannot be copied: {reason}")


def restore_copy(copy: Path, state: Path) -> Manifest:
    """Make a copy the newest snapshot of the job in a state directory; the job must not be running.

    Raises:
        FsqlError: E639, if the copy is of another plan or damaged; E621, if the job is running.
    """
    if not (copy / JOB).is_file():
        raise _refusal(f'"{copy}" is not a copy of a snapshot')
    manifest = newest_manifest(copy)
    assert manifest is not None
    with state_directory(state):
        state = state.resolve()
        if not (state / JOB).exists():
            _copy_files(copy, state, _coordination_of(copy))
        description = parse_description((state / JOB).read_bytes())
        if manifest.graph != description.plan:
            raise _refusal("the copy is of another plan than the job", "deploy that plan first")
        try:
            with open_stores(copy, manifest.segments) as stores:
                restored = _commit(state, manifest, stores)
        except (
            DamagedSegmentError,
            StateStoreError,
            CoordinationError,
            SnapshotNotWrittenError,
        ) as error:
            raise _refusal(f"the copy cannot be restored: {error}") from None
        (state / FINISHED).unlink(missing_ok=True)
    return restored


def _make_copy(
    state: Path, copy: Path, manifest: Manifest, stores: Mapping[int, StateStore]
) -> None:
    _copy_files(state, copy, None)
    coordination = parse_description((state / JOB).read_bytes()).coordination
    if coordination is not None:
        (copy / _COORDINATED_BY).write_text(coordination)
    _commit(copy, manifest, stores)


def _coordination_of(copy: Path) -> str | None:
    """Return the address of ZooKeeper of the copied job, None if it has none."""
    path = copy / _COORDINATED_BY
    return path.read_text() if path.exists() else None


def _copy_files(source: Path, target: Path, coordination: str | None) -> None:
    """Copy a state directory without its snapshots: the description, the journals of outputs, and others."""
    data = (source / JOB).read_bytes()
    description = msgspec.structs.replace(
        parse_description(data), state=str(target.resolve()), coordination=coordination
    )
    (target / JOB).write_bytes(msgspec.json.encode(description))
    (target / JOB).chmod(0o600)
    if (source / "positions").is_dir():
        shutil.copytree(source / "positions", target / "positions", dirs_exist_ok=True)
    differences = [] if description.differences is None else description.differences.files.values()
    for name in ("ends", CREDENTIALS, *map(difference_name, differences)):
        if (source / name).exists():
            shutil.copyfile(source / name, target / name)
    sync_directory(target)


def _commit(target: Path, manifest: Manifest, stores: Mapping[int, StateStore]) -> Manifest:
    """Copy the state segments of a manifest from stores; commit it in a directory under a newer number."""
    description = msgspec.structs.replace(
        parse_description((target / JOB).read_bytes()), state=str(target)
    )
    opening = job_coordination(description, None)
    if description.coordination is not None:
        check_coordination(opening, target)
    job_state = open_job_state(target, "snapshot copy", {}, coordination=opening)
    try:
        take_lease(job_state, target)
        # The newest snapshot is not read: it may be lost with the directory while coordination is not.
        epoch = job_state.next_epoch()
        while epoch <= manifest.epoch:  # outputs refuse an epoch older than their newest
            epoch = job_state.next_epoch()
        segments = _copy_segments(stores, target, manifest, epoch)
        new = msgspec.structs.replace(manifest, epoch=epoch, segments=segments)
        for number in (first_number(epoch), first_number(epoch) + 1):
            # Twice, so that no older snapshot is used if the newest is damaged one day.
            new = msgspec.structs.replace(new, snapshot=number)
            run_steps(job_state.commit(new))
    finally:
        job_state.close()
    return new


def _copy_segments(
    stores: Mapping[int, StateStore], target: Path, manifest: Manifest, epoch: int
) -> tuple[StateSegment, ...]:
    """Copy the state segments of a manifest; return them under keys of a new epoch."""
    copied = []
    for worker, reading in stores.items():
        with closing(LocalDirectory(target).open_store(worker)) as writing:
            for segment in manifest.segments:
                if segment.worker == worker:
                    key = f"{epoch:08d}/{segment.key.partition('/')[2]}"
                    writing.put({key: segment_bytes(segment, reading)})
                    copied.append(msgspec.structs.replace(segment, key=key))
    order = {(segment.worker, segment.operator, segment.snapshot): segment for segment in copied}
    return tuple(order[each.worker, each.operator, each.snapshot] for each in manifest.segments)


def _refusal(message: str, *helps: str) -> FsqlError:
    return FsqlError([Diagnostic("E639", message, helps=helps)])
