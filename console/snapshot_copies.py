"""`fsql snapshot take` and `restore`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.console.state_of_job import not_running_error
from fsql.deployment.directory import locked_by
from fsql.job.snapshot_copy import copy_snapshot, restore_copy
from fsql.job.snapshot_request import request_snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.console.reporter import Reporter


def take(
    reporter: Reporter, name: str | None, state: Path, copy: Path | None, seconds: float
) -> None:
    """Request a snapshot of the deployed job `name`, or of the run in `state`, and copy it.

    Raises:
        FsqlError: E636, if none is committed in time; E637, if the job does not run; E639, if it cannot be
            copied.
    """

    def is_running() -> bool:
        return locked_by(state / "lock") is not None

    taken = None
    if is_running():
        taken = request_snapshot(state, last=False, seconds=seconds, is_running=is_running)
    if taken is None:
        raise not_running_error(name, state)
    snapshot = taken.snapshot
    if copy is not None:
        snapshot = copy_snapshot(state, copy).snapshot
    fields = {
        "snapshot": snapshot,
        "position": taken.position,
        "copy": None if copy is None else str(copy),
    }
    where = "" if copy is None else f" and copied to {copy}"
    reporter.inform("snapshot_taken", fields, f"snapshot {snapshot} is committed{where}\n")


def restore(reporter: Reporter, copy: Path, state: Path) -> None:
    """Restore a stopped job from the copy of a snapshot.

    Raises:
        FsqlError: E621, if the job is running; E639, if the copy cannot be restored.
    """
    manifest = restore_copy(copy, state)
    fields = {"snapshot": manifest.snapshot, "position": manifest.position}
    text = f"the job continues from snapshot {manifest.snapshot} when it is started\n"
    reporter.inform("snapshot_restored", fields, text)
