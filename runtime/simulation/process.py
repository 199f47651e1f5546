"""Processes that run a host, and can be killed, stopped, continued, and started again.

A program steps its host at times of the process's clock.  A process can be killed before or after a given
effect of a node (`Cut`), and at any call of a port that changes something outside of the process (`PortCut`).
A killed process loses its work in progress; messages to a stopped process wait until it continues.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

from fsql.compiler.records import dataclass
from fsql.runtime.cluster.node import Received, TimerFired
from fsql.runtime.simulation.network import kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from fsql.runtime.cluster.frames import Datagram, Frame
    from fsql.runtime.simulation.world import Clock, World


class ProcessKilledError(BaseException):
    """The process that was running has been killed: nothing more of it is executed."""


class SimulatedProgram(Protocol):
    """What runs in a process, and ends with it."""

    def step(self, event: Any) -> None:  # noqa: ANN401 - each kind of node has its own
        """Have the host step its node."""

    def next_timer(self) -> float | None:
        """Return when to call `on_timer` at the latest."""

    def on_timer(self) -> None:
        """Handle the timer."""

    def on_step(self) -> None:
        """Record that the node was stepped: its next timer may have changed."""

    def on_end(self) -> None:
        """Record that the process has ended."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Where to kill a process: before or after an effect of one kind in answer to an event of one kind."""

    effect: str
    before: bool

    def __str__(self) -> str:
        """Return the cut in words."""
        return f"{'before' if self.before else 'after'} {self.effect}"


@dataclass(slots=True)
class PortCut:
    """Where to kill a process: before it calls a port for the `calls`-th time from now on."""

    calls: int
    kill: Callable[[str], None]


class Process:
    """The successive processes with one name."""

    def __init__(
        self, name: str, world: World, clock: Clock, boot: Callable[[Process], SimulatedProgram]
    ) -> None:
        self.name = name
        self.world = world
        self.clock = clock
        self._drift_ppm = clock.drift_ppm
        self.cut: Cut | None = None
        self.port_cut: PortCut | None = None
        self.on_kill: Callable[[str], None] = lambda _: None
        self.starts = 0
        self.life = 0
        """The number of the start while there is a process, else 0."""
        self.program: SimulatedProgram | None = None
        self.stopped = False
        self._boot = boot
        self._waiting: deque[tuple[Callable[..., None], tuple[object, ...]]] = deque()
        self._waiting_timers: deque[tuple[Callable[..., None], tuple[object, ...]]] = deque()
        self._timer_us: int | None = None
        self._timer_due = 0.0
        self._looked_us = -1
        self._shown = 0.0
        """The time that the clock showed when it was read last."""
        self._cost_us = 0

    @property
    def up(self) -> bool:
        """Return whether there is a process, running or stopped."""
        return self.life > 0

    @property
    def now(self) -> float:
        """Return what the process's clock shows."""
        now_us = self.world.now_us
        if now_us != self._looked_us:
            self._looked_us, self._shown = now_us, self.clock.seconds(now_us)
        return self._shown

    def start(self) -> None:
        """Start a process."""
        assert not self.up
        self.starts += 1
        self.life = self.starts
        self.stopped = False
        self.record("starts")
        self.program = self._boot(self)
        self.handle(TimerFired())

    def kill(self, where: str, event: str = "") -> None:
        """End the process immediately; `where` says at which step, in answer to which event."""
        program = self.program
        assert program is not None
        self._forget()
        self.record(f"killed {event}{where}", fault=True)
        program.on_end()
        self.on_kill(where)

    def end(self) -> None:
        """End the process normally."""
        self.record("ends")
        program = self.program
        self._forget()
        if program is not None:
            program.on_end()

    def _forget(self) -> None:
        self.program = None
        self.life = 0
        self._waiting.clear()
        self._waiting_timers.clear()
        self._timer_us = None
        self._cost_us = 0
        self.cut = None
        self.port_cut = None
        self.stopped = False

    def stop(self) -> None:
        """Stop the process (SIGSTOP)."""
        self.stopped = True
        self.record("stopped", fault=True)

    def hang(self, action: Callable[..., None], *arguments: object) -> None:
        """Stop in the middle of an action; when the process continues, it carries out `action` first."""
        self.stop()
        self._waiting.appendleft((action, arguments))

    def resume(self) -> None:
        """Continue a stopped process: it receives all messages that wait for it before it reads the time."""
        self.stopped = False
        self.record("goes on")
        life = self.life
        while not self.stopped and self.life == life:
            waiting = self._waiting or self._waiting_timers
            if not waiting:
                return
            action, arguments = waiting.popleft()
            self._run(action, arguments)

    def resume_if_stopped(self) -> None:
        """Continue the process if it is stopped and has not ended."""
        if self.stopped and self.up:
            self.resume()

    def set_clock(self, *, jump_us: int = 0, drift_ppm: int | None = None) -> None:
        """Advance the clock immediately, or change its rate from now on."""
        self.clock = self.clock.with_adjustment(self.world.now_us, jump_us, drift_ppm)
        self._looked_us = -1
        self._timer_us = None
        if self.program is not None:
            self._set_timer(self.program)

    def restore_clock(self) -> None:
        """Restore the initial rate of the clock."""
        if self.clock.drift_ppm != self._drift_ppm:
            self.set_clock(drift_ppm=self._drift_ppm)

    def later(self, delay_us: int, action: Callable[..., None], *arguments: object) -> None:
        """Schedule a call in the process, which is dropped if the process has ended by then."""
        self.world.after(delay_us, self._do, self.life, action, arguments)

    def _do(self, life: int, action: Callable[..., None], arguments: tuple[object, ...]) -> None:
        if self.life != life or not life:
            return
        if self.stopped:
            waiting = self._waiting_timers if action == self._timer else self._waiting
            waiting.append((action, arguments))
        else:
            self._run(action, arguments)

    def receive(self, what: Frame | Datagram, source: str) -> None:
        """Receive a frame or datagram from the network."""
        if self.up:
            self._do(self.life, self._step, (Received(what, source),))

    def handle(self, event: object) -> None:
        """Step the node with an event."""
        if self.up:
            self._run(self._step, (event,))

    def _step(self, event: object) -> None:
        assert self.program is not None
        self.program.step(event)

    def _run(self, action: Callable[..., None], arguments: tuple[object, ...]) -> None:
        """Execute a call in the process, up to where it is killed."""
        program = self.program
        try:
            action(*arguments)
            if program is not None:
                program.on_step()
                if self.program is program:
                    self._set_timer(program)
        except ProcessKilledError:
            assert self.program is not program

    def _set_timer(self, program: SimulatedProgram) -> None:
        due = program.next_timer()
        if due is None or (self._timer_us is not None and due >= self._timer_due):
            return
        due_us = max(self.clock.time_us(due), self.world.now_us)
        if self._timer_us is None or due_us < self._timer_us:
            self._timer_us, self._timer_due = due_us, due
            self.world.at(due_us, self._do, self.life, self._timer, (due_us,))

    def _timer(self, due_us: int) -> None:
        program = self.program
        if self._timer_us != due_us or program is None:
            return
        self._timer_us = None
        due = program.next_timer()
        if due is not None and due <= self.now:
            program.on_timer()

    # Calls of ports.

    def call(self, life: int, port: str) -> None:
        """Record that process number `life`, by starts, calls a port that changes something outside of it.

        Raises:
            ProcessKilledError: if that process has ended.
        """
        self.check(life)
        cut = self.port_cut
        if cut is not None:
            cut.calls -= 1
            if cut.calls <= 0:
                cut.kill(f"at {port}")
                raise ProcessKilledError

    def check(self, life: int) -> None:
        """Check that the process that calls a port has not ended.

        Raises:
            ProcessKilledError: if it has.
        """
        if self.life != life:
            raise ProcessKilledError

    def charge(self, cost_us: int, *, shared: bool = False) -> None:
        """Charge the process for the time of a call; `shared` costs are those of one wait for a disk."""
        self._cost_us = max(self._cost_us, cost_us) if shared else self._cost_us + cost_us

    def take_cost(self) -> int:
        """Return the time charged since the last call."""
        cost_us, self._cost_us = self._cost_us, 0
        return cost_us

    def record(self, what: str, *, fault: bool = False) -> None:
        """Record an event of the process in the trace."""
        self.world.trace.record(self.world.now_us, self.name, what, fault=fault)


class WatchedNode:
    """A node whose process can be killed before or after any of its effects."""

    def __init__(
        self,
        process: Process,
        node: Any,  # noqa: ANN401 - any kind
        on_event: Callable[[Any], None],
    ) -> None:
        self._process = process
        self._node = node
        self._on_event = on_event
        self.next_timer = node.next_timer
        self.readable: Callable[[float], list[int]] = getattr(node, "readable", lambda _: [])

    def step(self, event: Any, now: float) -> Iterable[Any]:  # noqa: ANN401 - any kind of node
        """Step the node."""
        process = self._process
        effects: list[Any] = self._node.step(event, now)
        if effects or not isinstance(event, TimerFired):
            process.record(f"{_name(event)} {len(effects)}")
        self._on_event(event)
        return effects if process.cut is None else self._cut(event, effects, process.cut)

    def _cut(self, event: object, effects: list[Any], cut: Cut) -> Iterator[Any]:
        for effect in effects:
            struck = type(effect).__name__ == cut.effect
            if not (struck and cut.before):
                yield effect
            if struck:
                self._process.kill(str(cut), event=f"in {_name(event)} ")
                raise ProcessKilledError


def _name(event: object) -> str:
    if isinstance(event, Received):
        return kind_of(event.what)
    return type(event).__name__
