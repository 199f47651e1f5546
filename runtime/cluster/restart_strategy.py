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
from fsql.runtime.batch import Root, position_text
from fsql.runtime.cluster.backoff import (
    INVARIANT_FAILURES_MAX,
    Backoff,
    DiskFailures,
    InvariantFailures,
)
from fsql.runtime.cluster.failure_detector import Timeouts
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
