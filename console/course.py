"""How a run on processes goes, as its coordinator tells: in counters, and lines on what goes wrong."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from fsql.console.progress import Silence
from fsql.runtime.batch import Root
from fsql.runtime.dataflow.holder import Holder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.console.progress import Progress
    from fsql.console.talk import Talk
    from fsql.runtime.drivers.local import Counters
    from fsql.runtime.drivers.processes.lines import Course

_RUNNING: Final = "running"
_FINISHED: Final = "finished"
_NOT_ADDED: Final = {"rows_state", "rows_unreleased"}
"""Counters that say how it is now, and not what was done."""
_AGAIN_SECONDS: Final = 30.0
"""How long is nothing said of what keeps happening, if nothing gets done in between."""


class ShownCourse:
    """Shows the course of a run: counters on the panel, and each recovery and each trouble in a line."""

    def __init__(self, counters: Counters, talk: Talk, fronts: Sequence[str]) -> None:
        """Count in `counters`; `fronts` are the names of the fronts, by number."""
        self._fronts = fronts
        self._holder = Holder()
        self._counters = counters
        self._talk = talk
        self._progress: Progress = Silence()
        self._started = time.monotonic()
        self._running = False
        self._phase = ("", 0, "")
        self._troubles: tuple[str, ...] = ()
        self._reason = ""
        self._said: set[str] = set()
        self._said_at = (float("-inf"), (0, 0))
        """When what was said last was said first, and at which position its epoch began."""
        self._epoch = 0
        self._before: dict[str, int] = {}
        self._last: dict[str, int] = {}

    def show(self, progress: Progress) -> None:
        """Show it there from now on."""
        self._progress = progress
        progress.begin("starting processes")

    def ended(self) -> None:
        """Take note that the run is over, also where the coordinator never told anything."""
        self._counters.seconds = time.monotonic() - self._started

    def heard(self, course: Course) -> None:
        """Take note of how far the run is."""
        self._count(course)
        self._counters.seconds = time.monotonic() - self._started
        self._running |= course.phase == _RUNNING
        if self._running:
            self._progress.update(self._counters)
        else:
            self._progress.begin(course.phase)
        self._say_phase(course)
        self._say_troubles(course)

    def _count(self, course: Course) -> None:
        """Add what the epochs have done; what an epoch did last before it was lost is not known."""
        if course.epoch == 0:
            return
        if course.epoch != self._epoch:
            self._counters.recoveries += self._epoch != 0
            self._epoch = course.epoch
            for name, value in self._last.items():
                self._before[name] = self._before.get(name, 0) + value
        self._last = course.tally
        for name, value in course.tally.items():
            if name == "behind_us":
                self._counters.seconds_behind = value / 1e6
                continue
            before = 0 if name in _NOT_ADDED else self._before.get(name, 0)
            setattr(self._counters, name, before + value)
        self._counters.held_by, self._counters.held_seconds = "", 0.0
        if course.held is not None:
            front, *promised = course.held
            held = self._holder.holds([(front, Root(*promised))], time.monotonic())
            if held is not None:
                self._counters.held_by = self._fronts[front]
                self._counters.held_seconds = held.seconds

    def _say_phase(self, course: Course) -> None:
        before, self._phase = self._phase, (course.phase, course.epoch, course.detail)
        if self._phase == before or self._talk.quiet:
            return
        if self._talk.json:
            phase = {"phase": course.phase, "epoch": course.epoch, "detail": course.detail}
            self._talk.event("phase", phase)
            return
        why = course.detail or self._why(course)
        if why and course.phase != _FINISHED and self._is_news(why, course):
            self._progress.tell(f"recovery: {course.phase} ({why})")

    def _is_news(self, why: str, course: Course) -> bool:
        """Say whether a phase is not what keeps happening for the same reason: that a disk is full, say."""
        now = time.monotonic()
        since, done = self._said_at
        if why != self._reason or course.begins > done or now - since > _AGAIN_SECONDS:
            self._reason, self._said, self._said_at = why, set(), (now, course.begins)
        known = course.phase in self._said
        self._said.add(course.phase)
        return not known

    def _say_troubles(self, course: Course) -> None:
        """Say what goes wrong from now on."""
        before, self._troubles = self._troubles, course.troubles
        for trouble in course.troubles:
            if trouble in before or self._talk.quiet:
                continue
            if self._talk.json:
                self._talk.event("trouble", {"trouble": trouble})
            else:
                self._progress.tell(f"warning: {trouble}")

    def _why(self, course: Course) -> str:
        """Return why there is a recovery, if it is one of which the coordinator knows nothing: its own."""
        lost = self._counters.recoveries or (course.epoch == 0 and self._epoch)
        return "the coordinator has ended" if lost else ""
