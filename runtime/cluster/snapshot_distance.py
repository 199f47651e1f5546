"""How far ahead of the input snapshots are announced, and how long the input may take to reach one.

In a burst of input, rows are far ahead of min time, and the position is chosen correspondingly far ahead.  If
all workers have accepted it, but the input will not reach it within two intervals at its current rate, the
burst is over, and a nearer position is needed.  Slow workers cannot be told from the end of a burst, so the
wait doubles each time.  Eventually the position is the greatest promise itself.  So when no more rows arrive,
the kept snapshots soon include all rows, and no older one is needed to resume.
"""

from __future__ import annotations

from typing import Final

from fsql.runtime.batch import START, Root

TIMEOUT_SECONDS: Final = 1.0
"""How many seconds to wait for the input to reach a position, in a job without periodic snapshots."""


class SnapshotDistance:
    """The distance between the greatest promise and the position of the next snapshot, in time."""

    def __init__(self, every: float | None) -> None:
        """Begin without a distance; a snapshot is taken every `every` seconds, or none if that is None."""
        self.timeout_at: float | None = None
        """When to look whether the input will reach the announced position; None if that does not matter."""
        self._timeout_usual = every or TIMEOUT_SECONDS
        self._timeout = self._timeout_usual
        self._margin = 0
        self._announced_at = START
        self._looked_at = START

    def position(self, greatest: Root) -> Root:
        """Return the position to announce, where `greatest` is the greatest promise."""
        return Root(greatest.time + self._margin, START.origin) if self._margin else greatest

    def on_announced(self, greatest: Root) -> None:
        """Record the greatest promise at an announcement."""
        self._announced_at = self._looked_at = greatest

    def on_agreed(self, reached: Root, now: float) -> None:
        """Record that all workers have accepted the position; `reached` is the greatest root among them."""
        # A shorter distance is enough when input is slow; in a burst it grows again.
        less = self._margin - self._margin // 8
        self._margin = max(less, min(self._margin, self._with_room(reached)))
        self.timeout_at = now + self._timeout

    def on_refused(self, reached: Root) -> None:
        """Record that a worker has refused the position because its rows had reached `reached`."""
        self._margin = self._with_room(reached)

    def is_unreachable(self, position: Root, greatest: Root, now: float) -> bool:
        """Return whether the input takes too long to reach `position`, and a nearer one can be announced."""
        if self.timeout_at is None or now < self.timeout_at:
            return False
        if greatest.time - self._looked_at.time >= position.time - greatest.time > 0:
            self._looked_at, self.timeout_at = greatest, now + self._timeout
            return False  # the input will reach it soon
        self.timeout_at = None
        if greatest == START or greatest >= position:
            return False
        moved = max(0, greatest.time - self._announced_at.time)
        self._margin = min(self._margin, moved) // 2
        self._timeout *= 2
        return True

    def stop_waiting(self) -> None:
        """Record that the input has reached the position, or need not."""
        self.timeout_at = None

    def on_stored(self) -> None:
        """Reset the wait for the next position to its usual length."""
        self._timeout = self._timeout_usual

    def _with_room(self, reached: Root) -> int:
        """Return the distance at which rows up to `reached` would have been below the position."""
        ahead = reached.time - self._announced_at.time
        return ahead + ahead // 2 + 1
