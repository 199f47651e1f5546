"""Automatic ticks: statistics are collected, and a tick is chosen and proposed, while a job runs.

A thread does this when all workers have written an interval, and the statistics service its results, if it
runs.  A failure there never affects the run, only its plan: it is
reported, and the next attempt is made after the next interval.
"""

from __future__ import annotations

import queue
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler.records import dataclass
from fsql.job.plan_in_force import situation_of
from fsql.job.ticks import ProposedLayout, has_coordination, propose, read_ticks
from fsql.optimizer.choose_tick import choose_tick
from fsql.optimizer.collectors.bin_history import read_bin_history
from fsql.optimizer.collectors.files import have_advanced, newest_of_workers
from fsql.optimizer.collectors.written_results import AGE_MAX, newest_collected, written_interval
from fsql.optimizer.statistics import source_text
from fsql.runtime.coordination.ticks import AutomaticChoice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from fsql.job.description import PreparedJob
    from fsql.optimizer.choose_tick import Situation, TickChoice
    from fsql.optimizer.collectors.files import Kept
    from fsql.optimizer.collectors.written_results import Collected
    from fsql.runtime.coordination.ticks import TickRecord


_POLL_SECONDS: Final = 0.25
_PATIENCE: Final = 1.5
"""After how many intervals a tick is chosen although some workers have not written a new one."""
_SERVICE_SHARE: Final = 0.4
"""For which part of an interval its results by the statistics service are waited for."""


@dataclass(frozen=True, slots=True)
class AutoChoice:
    """A proposed tick with its reasons; or, with number 0, the problems that prevented a choice.

    `collector` has made the statistics of the choice, which were `age` intervals old.
    """

    tick: int
    reasons: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    collector: str = ""
    age: int = 0

    def fields(self) -> dict[str, object]:
        """Return it as the fields of a JSON object."""
        source = {"collector": self.collector, "age": self.age} if self.tick else {}
        return {"tick": self.tick, "reasons": self.reasons, "problems": self.problems} | source

    def lines(self) -> list[str]:
        """Return it as lines of text."""
        lines = []
        if self.tick:
            source = source_text(self.collector, self.age)
            lines = [
                f"tick {self.tick} is proposed (statistics: {source}): {'; '.join(self.reasons)}"
            ]
        return [*lines, *(f"warning: statistics: {each}" for each in self.problems)]


@contextmanager
def auto_ticks(
    job: PreparedJob, state: Path, on_choice: Callable[[AutoChoice], None], *, hosted: bool
) -> Iterator[Callable[[], None]]:
    """Choose ticks as long as the context is open.

    Yield a function that the thread of the job calls often, and that passes choices to `on_choice`.
    `hosted` says whether the first worker is in the process of the coordinator.
    """
    choices: queue.SimpleQueue[AutoChoice] = queue.SimpleQueue()
    over = threading.Event()
    chooser = _Chooser(job, state, hosted=hosted)

    def run() -> None:
        while chooser.wait(over):
            choice = chooser.next()
            if choice is not None:
                choices.put(choice)

    def pass_on() -> None:
        while not choices.empty():
            on_choice(choices.get())

    thread = threading.Thread(target=run, name="fsql-auto", daemon=True)
    if chooser.every > 0:
        thread.start()
    try:
        yield pass_on
    finally:
        over.set()
        if thread.is_alive():
            thread.join()
        pass_on()


class _Chooser:
    """Chooses the ticks of one run."""

    def __init__(self, job: PreparedJob, state: Path, *, hosted: bool) -> None:
        self.every = job.description.tick_seconds
        self._job = job
        self._state = state
        self._hosted = hosted
        self._reported: set[str] = set()
        self._kept: Kept = {}
        self._kept_bins: Kept = {}
        self._chosen_at: Mapping[int, int] = {}
        """The newest interval of each worker at the last choice."""

    def wait(self, over: threading.Event) -> bool:
        """Wait until there is a new interval to choose by; return False if it is over."""
        ends = time.monotonic() + _PATIENCE * self.every
        found_at: float | None = None
        while not over.wait(min(self.every, _POLL_SECONDS)):
            now, newest = time.monotonic(), newest_of_workers(self._state)
            if found_at is None and have_advanced(newest, self._chosen_at):
                found_at = now
            if now >= ends or (found_at is not None and self._is_collected(newest, now - found_at)):
                self._chosen_at = newest
                return True
        return False

    def _is_collected(self, newest: Mapping[int, int], waited: float) -> bool:
        """Return whether a running statistics service has the newest interval, or is given no more time."""
        if waited >= _SERVICE_SHARE * self.every:
            return True
        written, last = written_interval(self._state), max(newest.values(), default=0)
        return not last - AGE_MAX <= written < last

    def next(self) -> AutoChoice | None:
        """Propose a tick if its gain exceeds its cost; return the choice to report, if any."""
        if not has_coordination(self._state):
            return None  # the run has just been started
        try:
            collected = newest_collected(self._state, self._kept)
            statistics = collected.statistics
            proposal, records = read_ticks(self._state)
            if proposal is not None:
                return self._choice(0, (), statistics.problems)
            choice = choose_tick(self._situation(records, collected), statistics)
            tick = 0 if not choice.is_change else self._propose(choice, collected)
        except Exception as error:  # noqa: BLE001 - whatever it is, rows must flow on
            return self._choice(0, (), (f"no tick is chosen: {error}",))
        reported = self._choice(tick, tuple(map(str, choice.reasons)), statistics.problems)
        if reported is None:
            return None
        return replace(reported, collector=collected.collector, age=collected.age)

    def _propose(self, choice: TickChoice, collected: Collected) -> int:
        reason = AutomaticChoice(choice.reasons, collected.collector, collected.age, choice.cost)
        layout = ProposedLayout(choice.owners)
        return propose(self._state, self._job.description, layout, choice.choices, reason)

    def _choice(
        self, tick: int, reasons: tuple[str, ...], problems: tuple[str, ...]
    ) -> AutoChoice | None:
        """Return the choice to report, None for problems that were reported already."""
        new = tuple(each for each in problems if each not in self._reported)
        self._reported = set(problems)
        return AutoChoice(tick, reasons if tick else (), new) if tick or new else None

    def _situation(self, records: list[TickRecord], collected: Collected) -> Situation:
        """Return the owners and choices in force after the recorded ticks, the newest of which is first.

        The intervals of the situation, and the ages of ticks, are counted from the newest one that is
        collected.
        """
        plan, job = self._job.plan, self._job.description
        history = read_bin_history(self._state, self._kept_bins, collected.interval)
        now = time.time() - collected.age * self.every
        return situation_of(plan, job, records, history, hosted=self._hosted, now=now)
