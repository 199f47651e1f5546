"""The effects of a changed script on a deployed job, computed before anything is changed."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.records import dataclass
from fsql.job.compilation import compile_job
from fsql.job.description import POSITIONS
from fsql.job.file_uses import FileUses
from fsql.job.graph_diff import StateChange, check_change, check_consistent, compare
from fsql.job.graph_tick import (
    frozen_ordinals,
    newest_manifest,
    result_differences,
    with_ordinals,
)
from fsql.job.result_differences import changes_of
from fsql.job.state_directory import is_finished, read_description
from fsql.runtime.state.store import StateStoreError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler.logical import Job
    from fsql.deployment.directory import JobDirectory
    from fsql.job.compilation import Compiled
    from fsql.job.description import JobDescription
    from fsql.job.graph_diff import GraphDiff

COORDINATOR_SECONDS: Final = 1.0
"""Approximate time until the first report of a waiting coordinator."""

STOP_SECONDS: Final = 0.3
"""Approximate time from the last release of a drained job until its processes have ended."""

LOAD_BYTES_PER_SECOND: Final = 50e6
"""Approximate rate at which state is loaded."""


_ATTEMPTS: Final = 10


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a job's plan, with its effects on the state, and the approximate pause of the output."""

    old: Job
    new: Job
    change: StateChange
    diff: GraphDiff
    pause_seconds: float | None
    changes: Mapping[str, int | None] = field(default_factory=dict)
    """How many changes updating outputs would get if the change were made now, by name.

    None if that is known only when the input has been read again.
    """

    def check(self, *, allow_inconsistent: bool = False) -> None:
        """Check that the change may be made.

        Raises:
            FsqlError: E638, if state would be lost, or cannot be rebuilt, or if changes that are written
                would not add up, unless `allow_inconsistent`.
        """
        check_change(self.diff, self.old, self.new, self.change)
        if not allow_inconsistent:
            check_consistent(self.diff)


def plan_change(
    job: JobDirectory,
    compiled: Compiled,
    change: StateChange,
    *,
    allow_inconsistent: bool = False,
    count: bool = True,
) -> Change:
    """Return the effects of a script on a job whose state is in its directory.

    With `count` the changes of updating outputs are counted, which reads the state.

    Raises:
        FsqlError: E638, if the job has no state yet, or has finished, or if a row of its result fails, unless
            `allow_inconsistent`; E614, if its state cannot be read; E532, if a file that the script writes
            has another use; E537, if it does not have what the job has written.
    """
    started = read_description(job.state)
    if started is None:
        raise _change_error("the job has not started yet", "drop it and deploy it again, or wait")
    if is_finished(job.state):
        raise _change_error("the job has finished", "deploy the script under another name")
    files = FileUses(compiled)
    files.check()
    files.check_kept(job.state / POSITIONS)
    old = compile_job(started.script()).job
    new = with_ordinals(compiled, frozen_ordinals(started)).job
    manifest = newest_manifest(job.state)
    diff = compare(old, new, change, manifest, started)
    changes: dict[str, int | None] = {}
    if change is StateChange.REBUILD:
        changes = {each.output: None for each in diff.differences if each.reason is None}
    elif count and manifest is not None and any(not each.reason for each in diff.differences):
        changes |= _changes(job, diff, started, allow_inconsistent=allow_inconsistent)
    return Change(old, new, change, diff, _pause(job, diff, change), changes)


def _changes(
    job: JobDirectory, diff: GraphDiff, started: JobDescription, *, allow_inconsistent: bool
) -> dict[str, int]:
    """Return how many changes outputs would get at the position of the newest snapshot, by name."""
    for attempt in range(_ATTEMPTS):
        manifest = newest_manifest(job.state)
        assert manifest is not None
        try:
            rows = result_differences(
                job.state, manifest, diff, started, allow_inconsistent=allow_inconsistent
            )
        except (FsqlError, StateStoreError) as error:
            # A running job removes the segments of a snapshot once two newer ones are committed.
            refused = isinstance(error, FsqlError) and error.diagnostics[0].code != "E614"
            if refused or attempt == _ATTEMPTS - 1:
                raise
        else:
            found = {each.output: each.port for each in diff.differences if each.reason is None}
            return {
                name: changes_of(rows[name], port) if name in rows else 0
                for name, port in found.items()
            }
    raise AssertionError


def _pause(job: JobDirectory, diff: GraphDiff, change: StateChange) -> float | None:
    """Return the approximate pause of the output: the time of the last start, and that of loading state.

    The processes of the new plan are started while the old ones still run.
    """
    status = job.status()
    if status is None or status.start_seconds is None or change is StateChange.REBUILD:
        return None
    starting = status.start_seconds - (status.restore_seconds or 0.0)
    return STOP_SECONDS + COORDINATOR_SECONDS + starting + diff.kept_bytes / LOAD_BYTES_PER_SECOND


def _change_error(reason: str, help_: str) -> FsqlError:
    return FsqlError([Diagnostic("E638", reason, helps=(help_,))])
