"""When to try again after a failure that may or may not persist: a full disk, a locked store.

Contract.  The first failure is followed by an immediate attempt.  The delay before further attempts doubles,
from `FIRST_SECONDS` up to `SECONDS_MAX`, and is reset to zero when an attempt has made progress.  Progress is
measured by the position below which every output has stored everything.
"""

from __future__ import annotations

from typing import Final

from fsql.runtime.batch import START, Root

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
