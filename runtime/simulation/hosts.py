"""Hosts: processes that run a machine, and can be killed, stopped, continued, and started again.

A host steps its machine with events at times of its own clock and hands the effects, one after the other,
to its driver.  A kill can be aimed between any two of them: `Cut` names the event, the effect, and the side.
What a killed process had under way is gone; what a stopped one is sent waits until it goes on.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from fsql.runtime.cluster.node import Received, Tick
from fsql.runtime.simulation.network import kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.runtime.cluster.frames import Datagram, Frame
    from fsql.runtime.simulation.world import Clock, World


class Driver(Protocol):
    """What one process does for its node; it ends with the process."""

    def step(self, event: object, now: float) -> Sequence[object]:
        """Step the node; return the effects, in order."""

    def next_timer(self) -> float | None:
        """Return when the node wants a `Tick` at the latest."""

    def carry_out(self, effect: object) -> None:
        """Carry out an effect."""

    def woken(self) -> None:
        """Learn that a timer has run out: a process that can read does so before it ticks."""

    def stepped(self) -> None:
        """Learn that a step is over: the machine may want something now that it did not want before."""

    def killed(self) -> None:
        """Learn that the process is gone."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Where to kill a process: before or behind an effect of some kind in answer to some event."""

    effect: str
    before: bool

    def __str__(self) -> str:
        """Return the cut in words."""
        return f"{'before' if self.before else 'behind'} {self.effect}"


class Host:
    """One process after the other under one name."""

    def __init__(
        self, name: str, world: World, clock: Clock, boot: Callable[[Host], Driver]
    ) -> None:
        self.name = name
        self.world = world
        self.clock = clock
        self._drift_ppm = clock.drift_ppm
        self.cut: Cut | None = None
        self.on_kill: Callable[[str], None] = lambda _: None
        self.starts = 0
        self.driver: Driver | None = None
        self.stopped = False
        self._boot = boot
        self._waiting: deque[tuple[Callable[..., None], tuple[object, ...]]] = deque()
        self._timer_us: int | None = None
        self._timer_due = 0.0
        self._looked_us = -1
        self._shown = 0.0
        """What the clock showed when it was looked at."""

    @property
    def up(self) -> bool:
        """Say whether there is a process, be it stopped."""
        return self.driver is not None

    @property
    def now(self) -> float:
        """Return what the host's clock shows."""
        now_us = self.world.now_us
        if now_us != self._looked_us:
            self._looked_us, self._shown = now_us, self.clock.seconds(now_us)
        return self._shown

    def start(self) -> None:
        """Start a process."""
        assert self.driver is None
        self.starts += 1
        self.stopped = False
        self.note("starts")
        self.driver = self._boot(self)
        self.handle(Tick())

    def kill(self, where: str, event: str = "") -> None:
        """End the process at once; `where` says at which step, in answer to which event."""
        assert self.driver is not None
        driver, self.driver = self.driver, None
        self._waiting.clear()
        self._timer_us = None
        self.cut = None
        self.stopped = False
        self.note(f"killed {event}{where}", fault=True)
        driver.killed()
        self.on_kill(where)

    def end(self) -> None:
        """End the process in order."""
        self.note("ends")
        self.driver = None
        self._waiting.clear()
        self._timer_us = None

    def stop(self) -> None:
        """Stop the process (SIGSTOP)."""
        self.stopped = True
        self.note("stopped", fault=True)

    def hang(self, action: Callable[..., None], *arguments: object) -> None:
        """Stop in the middle of something, which is what the process goes on with before all else."""
        self.stop()
        self._waiting.appendleft((action, arguments))

    def go_on(self) -> None:
        """Let a stopped process go on: it finds all that it was sent."""
        self.stopped = False
        self.note("goes on")
        start = self.starts
        while self._waiting and not self.stopped and self.starts == start:
            action, arguments = self._waiting.popleft()
            action(*arguments)

    def go_on_if_stopped(self) -> None:
        """Let the process go on, unless it has ended or goes on already."""
        if self.stopped and self.driver is not None:
            self.go_on()

    def set_clock(self, *, jump_us: int = 0, drift_ppm: int | None = None) -> None:
        """Let the clock go forward at once, or run at another rate from now on."""
        self.clock = self.clock.changed(self.world.now_us, jump_us, drift_ppm)
        self._looked_us = -1
        self._timer_us = None
        if self.driver is not None:
            self._set_timer(self.driver)

    def keep_time(self) -> None:
        """Let the clock run as it did at first."""
        if self.clock.drift_ppm != self._drift_ppm:
            self.set_clock(drift_ppm=self._drift_ppm)

    def later(self, delay_us: int, action: Callable[..., None], *arguments: object) -> None:
        """Let the process do something in a while, if it still lives then."""
        self.world.after(delay_us, self._do, self.starts, action, arguments)

    def _do(self, start: int, action: Callable[..., None], arguments: tuple[object, ...]) -> None:
        if self.driver is None or self.starts != start:
            return
        if self.stopped:
            self._waiting.append((action, arguments))
        else:
            action(*arguments)

    def receive(self, what: Frame | Datagram, source: str) -> None:
        """Take what the network brings."""
        if self.driver is not None:
            self._do(self.starts, self.handle, (Received(what, source),))

    def handle(self, event: object) -> None:
        """Step the machine with an event, and have the effects carried out."""
        driver = self.driver
        if driver is None:
            return
        effects = driver.step(event, self.now)
        if effects or not isinstance(event, Tick):
            self.note(f"{_name(event)} {len(effects)}")
        for effect in effects:
            if self.cut is not None and self._cut_at(event, effect, driver):
                return
            driver.carry_out(effect)
            if self.driver is not driver:
                return
        driver.stepped()
        if self.driver is driver:
            self._set_timer(driver)

    def _cut_at(self, event: object, effect: object, driver: Driver) -> bool:
        """Kill the process if this is where it is to be killed."""
        cut = self.cut
        assert cut is not None
        if type(effect).__name__ != cut.effect:
            return False
        if not cut.before:
            driver.carry_out(effect)
        if self.driver is driver:
            self.kill(str(cut), event=f"in {_name(event)} ")
        return True

    def _set_timer(self, driver: Driver) -> None:
        due = driver.next_timer()
        if due is None or (self._timer_us is not None and due >= self._timer_due):
            return
        due_us = max(self.clock.time_us(due), self.world.now_us)
        if self._timer_us is None or due_us < self._timer_us:
            self._timer_us, self._timer_due = due_us, due
            self.world.at(due_us, self._do, self.starts, self._timer, (due_us,))

    def _timer(self, due_us: int) -> None:
        driver = self.driver
        if self._timer_us != due_us or driver is None:
            return
        self._timer_us = None
        if self._is_due(driver):
            driver.woken()
            if self.driver is driver and self._is_due(driver):
                self.handle(Tick())
        if self.driver is driver:
            self._set_timer(driver)

    def _is_due(self, driver: Driver) -> bool:
        due = driver.next_timer()
        return due is not None and due <= self.now

    def note(self, what: str, *, fault: bool = False) -> None:
        """Write something about the host into the trace."""
        self.world.trace.happened(self.world.now_us, self.name, what, fault=fault)


def _name(event: object) -> str:
    if isinstance(event, Received):
        return kind_of(event.what)
    return type(event).__name__
