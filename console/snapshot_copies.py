"""`fsql snapshot take` and `restore`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.codes import CODES
from fsql.deployment.directory import locked_by
from fsql.job.snapshot_copy import copy_snapshot, restore_copy
from fsql.job.snapshot_request import request_snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.console.reporter import Reporter


def take(reporter: Reporter, state: Path, copy: Path | None, seconds: float) -> None:
    """Have a running job commit a snapshot, and copy it.

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
        message = f'no job runs in the state directory "{state}"'
        raise FsqlError([Diagnostic("E637", message, helps=(CODES["E637"].fix,))])
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
    """Take a stopped job back to the snapshot of a copy.

    Raises:
        FsqlError: E621, if the job is running; E639, if the copy cannot be restored.
    """
    manifest = restore_copy(copy, state)
    fields = {"snapshot": manifest.snapshot, "position": manifest.position}
    text = f"the job continues from snapshot {manifest.snapshot} when it is started\n"
    reporter.inform("snapshot_restored", fields, text)
