"""The restart strategy: when the next epoch begins after a failure, its timeouts, and when to give up.

Contract.  A failure that may recur is followed by a new epoch after a delay (`Backoff`).  After an epoch that
was lost to silence, or was not loaded in time, the next one has longer timeouts (`Timeouts`).  After a broken
invariant the job is restarted a few times only, and then ends with the error I902.  A disk that stays full,
or that fails repeatedly, ends it with E621; the job can be started again when the disk can be used.  State
that a worker finds damaged again and again, although the coordinator has verified it, ends it with E612.  A
store that another process has open is not a disk failure: the job waits for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.runtime.batch import START, Root, position_text
from fsql.runtime.cluster.members.failure_detector import Timeouts
from fsql.runtime.dataflow.invariants import BROKEN_INVARIANT

if TYPE_CHECKING:
    from fsql.runtime.cluster.job_spec import Settings


_KEPT: Final = "a job with --state continues where it stopped when it is started again"
_SALVAGE: Final = (
    "replace the store by what can be read of it: fsql snapshot salvage --state DIRECTORY",
    "then start the job again: it resumes from the newest snapshot that verifies",
)
_MAKE_ROOM: Final = (
    "make room on the disk or repair it, and start the job again with the same state directory",
)


class RestartStrategy:
    """Decides from the failed epochs of one coordinator when the next one begins.

    In all methods, `done` is the position below which every output has stored everything.
    """

    def __init__(self, settings: Settings) -> None:
        self.timeouts = Timeouts(settings)
        self._backoff = Backoff()
        self._invariant_failures = InvariantFailures()
        self._disk_failures = DiskFailures()

    def retry_at(self, now: float) -> float | None:
        """Return when the next epoch may begin, None for immediately."""
        return self._backoff.retry_at(now)

    def on_failure(self, done: Root, now: float) -> None:
        """Record a failure that may recur."""
        self._backoff.on_failure(done, now)

    def on_disk_failure(
        self, why: str, done: Root, now: float, *, damaged: bool = False
    ) -> FsqlError | None:
        """Record that a disk has failed; return the error that ends the job if it has failed for long.

        `damaged` says that it could be read, and that what was read is not what was written.
        """
        if not self._disk_failures.record(done, now):
            return None
        if damaged:
            message = f"the job cannot continue, because stored state is damaged: {why}"
            return FsqlError([Diagnostic("E612", message, notes=(_KEPT,), helps=_SALVAGE)])
        message = f"the job cannot continue, because a disk is full or fails: {why}"
        return FsqlError([Diagnostic("E621", message, notes=(_KEPT,), helps=_MAKE_ROOM)])

    def on_broken_invariant(self, why: str, done: Root) -> FsqlError | None:
        """Record a broken invariant; return the error that ends the job if restarts have not helped."""
        if not self._invariant_failures.record(done):
            return None
        position = position_text(done)
        note = f"{INVARIANT_FAILURES_MAX} epochs have ended in this way while outputs were at {position}"
        helps = ("report it, with the script and this message",)
        return FsqlError([Diagnostic(BROKEN_INVARIANT, why, notes=(note,), helps=helps)])


# When to try again after a failure that may or may not persist: a full disk, a locked store.
#
# Contract.  The first failure is followed by an immediate attempt.  The delay before further attempts
# doubles, from `FIRST_SECONDS` up to `SECONDS_MAX`, and is reset to zero when an attempt has made progress.
# Progress is measured by the position below which every output has stored everything.


FIRST_SECONDS: Final = 0.125
SECONDS_MAX: Final = 8.0


INVARIANT_FAILURES_MAX: Final = 3
"""How many epochs may end with a broken invariant without progress in between."""


class InvariantFailures:
    """Counts the epochs that end with a broken invariant at one position.

    Such a failure is a bug.  Another order of messages may avoid it, so the job is restarted, but not forever
    if there is no progress.
    """

    def __init__(self) -> None:
        self._done = START
        self._count = 0

    def record(self, done: Root) -> bool:
        """Count a failure, at which outputs have stored what is below `done`; return whether to give up."""
        if done > self._done:
            self._done, self._count = done, 0
        self._count += 1
        return self._count >= INVARIANT_FAILURES_MAX


DISK_FAILURES_MIN: Final = 8
DISK_FAILURES_SECONDS: Final = 30.0
"""The job ends once a disk has failed this often, and for this long, without progress in between."""


class DiskFailures:
    """Counts consecutive failures of disks.

    A disk that is full may have room again soon, so the job is tried again for a while.
    """

    def __init__(self) -> None:
        self._done = START
        self._count = 0
        self._since = 0.0
        self._last = float("-inf")

    def record(self, done: Root, now: float) -> bool:
        """Count a failure, at which outputs have stored what is below `done`; return whether to give up."""
        in_a_row = done <= self._done and now <= self._last + DISK_FAILURES_SECONDS
        if not in_a_row:
            self._done, self._count, self._since = max(done, self._done), 0, now
        self._count += 1
        self._last = now
        return self._count >= DISK_FAILURES_MIN and now - self._since >= DISK_FAILURES_SECONDS


class Backoff:
    """The delays of one coordinator."""

    def __init__(self) -> None:
        self._done = START
        self._wait = 0.0
        self._not_before = float("-inf")

    def on_failure(self, done: Root, now: float) -> None:
        """Record a failure, at which all sinks have stored what is below `done`."""
        if done > self._done:
            self._done, self._wait = done, 0.0
        self._not_before = now + self._wait
        self._wait = min(max(2 * self._wait, FIRST_SECONDS), SECONDS_MAX)

    def retry_at(self, now: float) -> float | None:
        """Return when to try again, None for immediately."""
        return self._not_before if now < self._not_before else None
