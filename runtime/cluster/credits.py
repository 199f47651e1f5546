"""Credits: which fronts are blocked by their read-ahead, and which of them may read nevertheless.

Contract.  A blocked front is sent the position below which everything is released immediately, not with a
later frame.  If that does not unblock it, nothing is in flight, and everything is released, then the rows
that the job waits for have not been read: the front with the least promise gets a credit for one chunk.  So a
job continues even if all its fronts are blocked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.runtime.cluster.frames import Blocked, Credit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.runtime.batch import Root


class Credits:
    """The blocked fronts of one epoch."""

    def __init__(self) -> None:
        self._blocked: dict[int, Root] = {}

    @property
    def any_blocked(self) -> bool:
        """Return whether any front has reported that it is blocked."""
        return bool(self._blocked)

    def on_blocked(self, blocked: Blocked) -> None:
        """Record that a front is blocked at the position that it has promised."""
        self._blocked[blocked.front] = blocked.promise

    def find_blocked(self, promises: Mapping[int, Root]) -> list[int]:
        """Return the fronts that are still blocked: their `promises` have not grown since their reports."""
        if self._blocked:
            still = {front: at for front, at in self._blocked.items() if promises[front] == at}
            self._blocked = still
        return list(self._blocked)

    def grant(self, least_promise: tuple[int, Root]) -> Credit | None:
        """Return a credit for the front with the least promise, if it is blocked."""
        front, promise = least_promise
        if self._blocked.get(front) != promise:
            return None
        del self._blocked[front]
        return Credit(front, promise)
