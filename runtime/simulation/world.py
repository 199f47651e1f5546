"""The world: virtual time.  Future events are in one heap; the next one sets the time.

Events at the same microsecond are executed in an order that the tape draws.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Final

from fsql.compiler.records import dataclass
from fsql.runtime.simulation.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.runtime.simulation.tape import Tape

SECOND: Final = 1_000_000
"""A second in the world's unit of time, the microsecond."""

MILLISECOND: Final = 1_000

STANDSTILL: Final = 10_000
"""The maximum number of events at one time; more are considered an infinite loop."""

_TIES: Final = 256


class StandstillError(Exception):
    """Events are executed, but time does not advance."""


class World:
    """Virtual time, and the scheduled events."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.trace = Trace()
        self.now_us = 0
        self.events = 0
        self._tie = tape.stream("world tie").below
        self._sequence = 0
        self._heap: list[tuple[int, int, int, Callable[..., None], tuple[object, ...]]] = []

    def at(self, time_us: int, action: Callable[..., None], *arguments: object) -> None:
        """Schedule `action` at a time, which must not be in the past."""
        assert time_us >= self.now_us
        self._sequence += 1
        entry = (time_us, self._tie(_TIES), self._sequence, action, arguments)
        heapq.heappush(self._heap, entry)

    def after(self, delay_us: int, action: Callable[..., None], *arguments: object) -> None:
        """Schedule `action` after a delay."""
        self.at(self.now_us + delay_us, action, *arguments)

    def run(self, until_us: int, *, over: Callable[[], bool] = lambda: False) -> None:
        """Run the scheduled calls up to a time, or until `over` returns True.

        Raises:
            StandstillError: if time does not advance any more.
        """
        heap = self._heap
        stood_still = self.events
        while heap and heap[0][0] <= until_us and not over():
            time_us, _, _, action, arguments = heapq.heappop(heap)
            if time_us != self.now_us:
                self.now_us, stood_still = time_us, self.events
            elif self.events > stood_still + STANDSTILL:
                raise StandstillError(f"time stands still at {time_us} us, with {action}")
            self.events += 1
            action(*arguments)
        if not over():
            self.now_us = max(self.now_us, until_us)


@dataclass(frozen=True, slots=True)
class Clock:
    """The monotonic clock of a process: it has its own start, and may run slightly fast or slow."""

    began_us: int = 0
    drift_ppm: int = 0

    def seconds(self, time_us: int) -> float:
        """Return the time that the clock shows at a time of the world."""
        return (self.began_us + time_us * (1 + self.drift_ppm / SECOND)) / SECOND

    def with_adjustment(self, time_us: int, jump_us: int, drift_ppm: int | None) -> Clock:
        """Return a clock that continues from this one's time plus a jump, at another rate."""
        drift = self.drift_ppm if drift_ppm is None else drift_ppm
        # Rounded up: no clock goes back.
        gained_us = -(-time_us * (self.drift_ppm - drift) // SECOND)
        return Clock(self.began_us + gained_us + jump_us, drift)

    def time_us(self, seconds: float) -> int:
        """Return the first time of the world at which the clock shows `seconds` or more."""
        time_us = int((seconds * SECOND - self.began_us) / (1 + self.drift_ppm / SECOND))
        while self.seconds(time_us) < seconds:
            time_us += 1
        return time_us
