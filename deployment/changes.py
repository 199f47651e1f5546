"""The effects of a changed script on a deployed job, computed before anything is changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.records import dataclass
from fsql.job.compilation import compile_job
from fsql.job.file_uses import FileUses
from fsql.job.graph_diff import StateChange, check_change, check_consistent, compare
from fsql.job.graph_tick import frozen_ordinals, newest_manifest, with_ordinals
from fsql.job.state_directory import is_finished, read_description

if TYPE_CHECKING:
    from fsql.compiler.logical import Job
    from fsql.deployment.directory import JobDirectory
    from fsql.job.compilation import Compiled
    from fsql.job.graph_diff import GraphDiff

COORDINATOR_SECONDS: Final = 1.0
"""Approximate time until the first report of a waiting coordinator."""

STOP_SECONDS: Final = 0.3
"""Approximate time from the last release of a drained job until its processes have ended."""

LOAD_BYTES_PER_SECOND: Final = 50e6
"""Approximate rate at which state is loaded."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a job's plan, with its effects on the state, and the approximate pause of the output."""

    old: Job
    new: Job
    change: StateChange
    diff: GraphDiff
    pause_seconds: float | None

    def check(self, *, allow_inconsistent: bool = False) -> None:
        """Check that the change may be made.

        Raises:
            FsqlError: E638, if state would be lost, or cannot be rebuilt, or if changes that are written
                would not add up, unless `allow_inconsistent`.
        """
        check_change(self.diff, self.old, self.new, self.change)
        if not allow_inconsistent:
            check_consistent(self.diff)


def plan_change(job: JobDirectory, compiled: Compiled, change: StateChange) -> Change:
    """Return the effects of a script on a job whose state is in its directory.

    Raises:
        FsqlError: E638, if the job has no state yet, or has finished; E614, if its state cannot be read;
            E532, if a file that the script writes has another use.
    """
    started = read_description(job.state)
    if started is None:
        raise _change_error("the job has not started yet", "drop it and deploy it again, or wait")
    if is_finished(job.state):
        raise _change_error("the job has finished", "deploy the script under another name")
    FileUses(compiled).check()
    old = compile_job(started.script()).job
    new = with_ordinals(compiled, frozen_ordinals(started)).job
    diff = compare(old, new, change, newest_manifest(job.state))
    return Change(old, new, change, diff, _pause(job, diff, change))


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
