"""The front with the least promise, which holds output back, and since when.

This is for monitoring; no released row depends on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fsql.runtime.batch import END, Root

if TYPE_CHECKING:
    from collections.abc import Iterable


class Held(NamedTuple):
    """The number of the front that holds output back, its promise, and the age of the promise."""

    front: int
    seconds: float
    promised: Root


class Holder:
    """Records the promises of fronts, and when they changed."""

    def __init__(self) -> None:
        self._since: dict[int, tuple[Root, float]] = {}

    def holds(self, promises: Iterable[tuple[int, Root]], now: float) -> Held | None:
        """Return the front that holds output back, or None if all fronts have ended."""
        least = None
        for front, promised in promises:
            if promised == END:
                continue
            known = self._since.get(front)
            if known is None or known[0] != promised:
                self._since[front] = (promised, now)
            if least is None or (promised, front) < least:
                least = (promised, front)
        if least is None:
            return None
        promised, front = least
        return Held(front, now - self._since[front][1], promised)
