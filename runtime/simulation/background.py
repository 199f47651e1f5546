"""Background executors in virtual time."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from fsql.runtime.simulation.world import MILLISECOND

if TYPE_CHECKING:
    from fsql.runtime.hosts.ports import Work
    from fsql.runtime.simulation.process import Process

STEP_US: Final = 20
"""The minimum time of a step."""


class SimulatedBackground:
    """A `Background`: other events may occur between two steps of its work, and the process may end there.

    A step is executed immediately; its event is handled after the time that the ports have charged for it.
    """

    def __init__(self, process: Process) -> None:
        self._process = process
        self._delays = process.world.tape.stream(f"background {process.name}")
        self._queue: deque[Work] = deque()
        self._work: Work | None = None

    def submit(self, work: Work) -> None:
        """Do `work` after all work submitted before."""
        self._queue.append(work)
        if self._work is None:
            self._begin()

    def _begin(self) -> None:
        self._work = self._queue.popleft() if self._queue else None
        if self._work is not None:
            self._process.later(STEP_US, self._advance)

    def _advance(self) -> None:
        assert self._work is not None
        self._process.take_cost()
        try:
            event = next(self._work)
        except StopIteration:
            self._begin()
            return
        cost_us = self._process.take_cost() or self._delays.below(MILLISECOND)
        self._process.later(STEP_US + cost_us, self._continue, event)

    def _continue(self, event: object) -> None:
        if event is not None:
            assert self._process.program is not None
            self._process.program.step(event)
        self._advance()
