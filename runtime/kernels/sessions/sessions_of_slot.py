"""The open sessions of one slot, by their starts: those that an interval touches are found by bisection."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.runtime.arrays import Ints


@dataclass(slots=True, eq=False)
class Session:
    """An open session: `[start, end)`, and the numbers of its rows; `dropped` if it no longer exists."""

    slot: int
    start: int
    end: int
    rows: list[Ints]
    dropped: bool = False


class SessionsOfSlot:
    """Sessions in the order of their starts.

    Two sessions may overlap, if a row arrived after the end of the first, so the ends need not ascend.  No
    session is longer than `_longest`, which bounds the starts of those that an interval touches.
    """

    __slots__ = ("_longest", "_sessions", "_starts")

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._sessions: list[Session] = []
        self._longest = 0

    def __len__(self) -> int:
        """Return the number of open sessions."""
        return len(self._sessions)

    def __iter__(self) -> Iterator[Session]:
        """Return the sessions in the order of their starts."""
        return iter(self._sessions)

    def add(self, session: Session) -> None:
        """Add a session."""
        index = bisect_right(self._starts, session.start)
        self._starts.insert(index, session.start)
        self._sessions.insert(index, session)
        self._longest = max(self._longest, session.end - session.start)

    def remove(self, session: Session) -> None:
        """Remove a session, which must exist and have the same start as when it was added."""
        index = bisect_left(self._starts, session.start)
        while self._sessions[index] is not session:
            index += 1
        del self._starts[index], self._sessions[index]

    def find_touching(self, start: int, end: int) -> list[Session]:
        """Return the sessions that overlap or touch `[start, end]`."""
        first = bisect_left(self._starts, start - self._longest)
        last = bisect_right(self._starts, end)
        return [each for each in self._sessions[first:last] if start <= each.end]
