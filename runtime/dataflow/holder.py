"""The holder: the split that holds output back, since it has promised least, and since when it has.

For whoever watches a job: nothing that is released depends on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fsql.runtime.batch import END

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fsql.runtime.batch import Root


class Held(NamedTuple):
    """The number of the front that holds output back, and for how long its promise has stood."""

    front: int
    seconds: float


class Holder:
    """Learns the promises of fronts, and when they changed."""

    def __init__(self) -> None:
        self._since: dict[int, tuple[Root, float]] = {}

    def holds(self, promises: Iterable[tuple[int, Root]], now: float) -> Held | None:
        """Return who holds output back now, None if all fronts have ended."""
        least = None
        for front, promised in promises:
            if promised == END:
                continue
            known = self._since.get(front)
            if known is None or known[0] != promised:
                self._since[front] = (promised, now)
            if least is None or (promised, front) < least:
                least = (promised, front)
        return None if least is None else Held(least[1], now - self._since[least[1]][1])
