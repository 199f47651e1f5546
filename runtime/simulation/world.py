"""The world: virtual time.  Future events are in one heap; the next one sets the time.

Things that are to happen at the same microsecond come in an order that the tape draws.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fsql.runtime.simulation.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.runtime.simulation.tape import Tape

SECOND: Final = 1_000_000
"""A second in the world's unit of time, the microsecond."""

MILLISECOND: Final = 1_000

STANDSTILL: Final = 10_000
"""The most events at one time; more are taken for an infinite loop."""

_TIES: Final = 256


class StandstillError(Exception):
    """Things happen, and time does not pass."""


class World:
    """Virtual time, and what is to happen."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.trace = Trace()
        self.now_us = 0
        self.events = 0
        self._tie = tape.stream("world tie").below
        self._sequence = 0
        self._heap: list[tuple[int, int, int, Callable[..., None], tuple[object, ...]]] = []

    def at(self, time_us: int, action: Callable[..., None], *arguments: object) -> None:
        """Let `action` happen at a time that is not over yet."""
        assert time_us >= self.now_us
        self._sequence += 1
        entry = (time_us, self._tie(_TIES), self._sequence, action, arguments)
        heapq.heappush(self._heap, entry)

    def after(self, delay_us: int, action: Callable[..., None], *arguments: object) -> None:
        """Let `action` happen in a while."""
        self.at(self.now_us + delay_us, action, *arguments)

    def run(self, until_us: int, *, over: Callable[[], bool] = lambda: False) -> None:
        """Run the scheduled calls up to a time, or until `over` returns True.

        Raises:
            StandstillError: if time does not pass any more.
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
    """A host's monotonic clock: it began at some time of its own, and runs a little fast or slow."""

    began_us: int = 0
    drift_ppm: int = 0

    def seconds(self, time_us: int) -> float:
        """Return what the clock shows at a time of the world."""
        return (self.began_us + time_us * (1 + self.drift_ppm / SECOND)) / SECOND

    def changed(self, time_us: int, jump_us: int, drift_ppm: int | None) -> Clock:
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
