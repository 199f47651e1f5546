"""The trace of a run: a digest of all events, and the last events in full."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

import xxhash

if TYPE_CHECKING:
    from collections.abc import Sequence

KEPT: Final = 400
"""How many events are kept for display."""


class TraceEvent(NamedTuple):
    """An event in the process `process`, or a message from `process` to `to`."""

    time_us: int
    process: str
    to: str
    what: str
    fault: bool


class Trace:
    """The events of a run; two runs are equal if their digests are."""

    def __init__(self) -> None:
        self._digest = xxhash.xxh3_128()
        self._last: deque[TraceEvent] = deque(maxlen=KEPT)
        self._unflushed: list[tuple[int, str, str, str, bool]] = []
        """Events that are not in the digest yet, nor among the last ones."""

    def record(
        self, time_us: int, process: str, what: str, *, to: str = "", fault: bool = False
    ) -> None:
        """Record an event."""
        self._unflushed.append((time_us, process, to, what, fault))
        if len(self._unflushed) == KEPT:
            self._flush()

    def _flush(self) -> None:
        unflushed, self._unflushed = self._unflushed, []
        lines = [
            f"{time_us} {process} {to} {what}\n" for time_us, process, to, what, _ in unflushed
        ]
        self._digest.update("".join(lines).encode())
        self._last.extend(map(TraceEvent._make, unflushed))

    @property
    def digest(self) -> str:
        """Return the digest of all events."""
        self._flush()
        return self._digest.hexdigest()

    def last(self, count: int = KEPT) -> Sequence[TraceEvent]:
        """Return the last events, oldest first."""
        self._flush()
        return list(self._last)[-count:]
