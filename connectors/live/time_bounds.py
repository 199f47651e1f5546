"""Bounds on the event times of live input, taken from the clock, at their offsets in the stream.

`Arrived` is the time at which rows have arrived, if a table is ordered by that.  `AtLeast` is a lower bound
of the times of later rows: a source was silent for the duration of its option `idle`, and its time advances
with the clock.  `AtMost` is an upper bound: the time of arrival of the rows plus the option `max_ahead`.

A run without state reads the clock when it reads the input.  In a job with state, the process that writes the
front log reads the clock, and writes each bound to the log before it takes effect, so that a replay agrees.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from fsql.compiler.records import dataclass
from fsql.connectors.streams.blocks import Arrived, AtLeast, AtMost, TimeBound

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.connectors.streams.blocks import Blocks

_SECOND_US: Final = 1_000_000
_HOUR_US: Final = 3_600 * _SECOND_US
_SILENCE_US: Final = 200_000
"""Silence after which the time of a table that is ordered by arrival advances with the clock."""
_STEPS: Final = 16
"""The number of steps into which `max_ahead` is divided; a row may be ahead by one step more."""


def _wall_us() -> int:
    return time.time_ns() // 1000


@dataclass(frozen=True, slots=True)
class BoundOptions:
    """The clock options of a table, in microseconds; None if not set."""

    idle_us: int | None = None
    max_ahead_us: int | None = None
    arrival: bool = False
    """Whether the time of each row is its arrival."""

    def __bool__(self) -> bool:
        """Return whether a clock is needed."""
        return self.arrival or self.idle_us is not None or self.max_ahead_us is not None


class ArrivalClock:
    """Determines the bounds of a stream as its bytes arrive."""

    def __init__(
        self,
        options: BoundOptions,
        wall_us: Callable[[], int] = _wall_us,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._options = options
        self._wall_us = wall_us
        self._seconds = seconds
        self._silent_since = seconds()
        self._promised_at: float | None = None
        self._read_at_us: int | None = None
        self._reported_us = 0
        self._arrived_us: int | None = None

    def resume(self, us: int) -> None:
        """Continue after the bounds that an earlier run has reported."""
        self._reported_us = max(self._reported_us, us)

    def on_activity(self) -> None:
        """Record that the source is not silent, or is not being read now."""
        self._silent_since = self._seconds()
        self._promised_at = None

    def on_data(self) -> AtMost | Arrived | None:
        """Return the bound before bytes that have arrived, if it has changed."""
        self.on_activity()
        if self._options.arrival:
            return self._on_arrival()
        ahead_us = self._options.max_ahead_us
        if ahead_us is None:
            return None
        now_us, step_us = self._wall_us(), min(ahead_us // _STEPS + 1, _HOUR_US)
        if self._read_at_us is not None and abs(now_us - self._read_at_us) < step_us:
            return None
        self._read_at_us = now_us
        return AtMost(now_us + ahead_us + step_us)

    def _on_arrival(self) -> Arrived | None:
        """Return the current time, None if it is still that of the last rows."""
        self._reported_us = max(self._reported_us, self._now_us())
        if self._arrived_us == self._reported_us:
            return None
        self._arrived_us = self._reported_us
        return Arrived(self._reported_us)

    def _now_us(self) -> int:
        """Return the time in whole milliseconds, because each distinct time takes a record of the log."""
        return self._wall_us() // 1000 * 1000

    def on_silence(self) -> AtLeast | None:
        """Return the bound during silence, if the source is idle."""
        idle_us = _SILENCE_US if self._options.arrival else self._options.idle_us
        if idle_us is None:
            return None
        now, idle = self._seconds(), idle_us / _SECOND_US
        if now - self._silent_since < idle:
            return None
        if self._promised_at is not None and now - self._promised_at < min(idle / 4, 1.0):
            return None
        self._promised_at = now
        if self._options.arrival:
            self._reported_us = max(self._reported_us, self._now_us())
            return AtLeast(self._reported_us)
        return AtLeast(self._wall_us() - idle_us)


class ClockedBlocks:
    """The bytes of a stream that can be read once, with the current bounds of a clock."""

    def __init__(self, blocks: Blocks, clock: ArrivalClock) -> None:
        """Take over the blocks."""
        self._blocks = blocks
        self._clock = clock
        self._held: bytes | TimeBound | None = None

    def read(self) -> bytes | TimeBound | None:
        """Return the next bytes or bound; see `Blocks`.

        Raises:
            FsqlError: E535, if the operating system fails to read.
        """
        block, self._held = self._held, None
        if block is None:
            block = self._blocks.read()
            if block is None:
                return self._clock.on_silence()
            bound = self._clock.on_data()
            if bound is not None:
                self._held = block
                return bound
        return block

    def content_before(self, byte: int) -> str:
        """Return what the blocks return."""
        return self._blocks.content_before(byte)

    def bytes_passed(self, byte: int) -> int:
        """Return what the blocks return."""
        return self._blocks.bytes_passed(byte)

    def bytes_lost(self, byte: int) -> int:
        """Return what the blocks return."""
        return self._blocks.bytes_lost(byte)

    def close(self) -> None:
        """Close the blocks."""
        self._blocks.close()
