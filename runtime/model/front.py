"""Fronts: the only places where payloads enter the graph, and where they wait.

A front that has sent `read_ahead` payloads above min time waits until min time has passed one of them.  This
bounds the work that a late item can undo, and the number of items in flight; nothing waits inside the graph.
The front with the least promise can always continue: once nothing is in flight, min time is that promise, and
all payloads that the front has sent are below it.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fsql.runtime.batch import Root


class Front:
    """One split: `arrivals` have ascending roots, and enter the graph at vertex `vertex`."""

    def __init__(self, vertex: int, arrivals: Iterable[tuple[Root, object]]) -> None:
        self.vertex = vertex
        self._arrivals = iter(arrivals)
        self._ahead: deque[Root] = deque()

    def read(self) -> tuple[Root, object] | None:
        """Return the next payload and its root; None at the end."""
        arrival = next(self._arrivals, None)
        if arrival is not None:
            self._ahead.append(arrival[0])
        return arrival

    def on_min_time(self, min_time: Root) -> None:
        """Record that nothing below `min_time` is in flight."""
        while self._ahead and self._ahead[0] < min_time:
            self._ahead.popleft()

    def ahead(self) -> int:
        """Return the number of emitted payloads that may still be in flight."""
        return len(self._ahead)
