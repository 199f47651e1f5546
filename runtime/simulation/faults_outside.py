"""Faults outside of the processes of the cluster: clocks, the input, and the sinks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.runtime.simulation.sinks import SinkBehaviour
from fsql.runtime.simulation.sources import Poison
from fsql.runtime.simulation.world import SECOND

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.runtime.simulation.faults import FaultInjector

DRIFT_PPM: Final = 2_000
"""The maximum drift of a clock, in parts per million; leases allow for twice as much between two clocks."""

STANDSTILL_PPM: Final = -990_000
"""The drift of a clock that nearly stops."""


# Clocks.  Nodes do not read the time of day, so only monotonic clocks can fail.


def clock_jumps(injector: FaultInjector) -> None:
    """A process's clock jumps forward, by seconds or by an hour (F12)."""
    process = injector.process(list(injector.cluster.processes()))
    if process is not None:
        injector.record_fault("clock jumps", "TimerFired", process.name)
        process.set_clock(jump_us=injector.choices.one_of((SECOND, 10 * SECOND, 3600 * SECOND)))


def clock_drifts(injector: FaultInjector) -> None:
    """A process's clock is fast or slow (F12)."""
    process = injector.process(list(injector.cluster.processes()))
    if process is not None:
        injector.record_fault("clock drifts", "TimerFired", process.name)
        process.set_clock(drift_ppm=injector.choices.one_of((DRIFT_PPM, -DRIFT_PPM)))
        injector.for_a_while(10 * SECOND, process.restore_clock)


def clock_stops(injector: FaultInjector) -> None:
    """A worker's clock nearly stops (F12).

    The clock of a coordinator must not do so: the coordinator would consider its lease held after its end.
    """
    process = injector.process(list(injector.cluster.workers))
    if process is not None:
        injector.record_fault("clock stands still", "TimerFired", process.name)
        process.set_clock(drift_ppm=STANDSTILL_PPM)
        injector.for_a_while(5 * SECOND, process.restore_clock)


# The input.


def poison_row(injector: FaultInjector) -> None:
    """The first few times that a row is read, it ends the process, or stops it for long (F14)."""
    now_us = injector.world.now_us
    unread = [s for _, s in injector.cluster.sources() if s.rows_available(now_us) < len(s.rows)]
    if not unread:
        return
    split = injector.choices.one_of(unread)
    first = split.rows_available(now_us)
    row = first + injector.choices.below(min(8, len(split.rows) - first))
    times = injector.choices.between(1, 3)
    split.poison[row] = Poison(times, hangs=bool(injector.choices.below(2)))


def long_step(injector: FaultInjector) -> None:
    """A row takes longer than the failure timeout, in each epoch, but less than the longest one.

    There is one such row in a run: the job must make progress before the patience of the simulation ends.
    """
    now_us = injector.world.now_us
    splits = [split for _, split in injector.cluster.sources()]
    unread = [split for split in splits if split.rows_available(now_us) < len(split.rows)]
    if not unread or any(split.long_steps for split in splits):
        return
    split = injector.choices.one_of(unread)
    first = split.rows_available(now_us)
    row = first + injector.choices.below(min(8, len(split.rows) - first))
    injector.record_fault("long step", "ChunkRead")
    split.long_steps[row] = 1.3 * injector.cluster.settings.failure_after


def trim_input(injector: FaultInjector) -> None:
    """Sources drop the rows that all kept snapshots include (F15)."""
    needed = injector.cluster.rows_needed()
    injector.record_fault("input trimmed", "Load")
    for number, split in injector.cluster.sources():
        split.kept_from = max(split.kept_from, needed.get(number, 0))


def forget_input(injector: FaultInjector) -> None:
    """Let a source lose rows that a restart of the job needs: the job must refuse to continue (F15).

    This occurs rarely, because it ends the run.
    """
    if injector.choices.below(4) < 3:
        return
    _, split = injector.choices.one_of(injector.cluster.sources())
    injector.record_fault("input forgotten", "Load")
    split.kept_from = split.rows_available(injector.world.now_us)
    split.forgotten = True


def alter_input(injector: FaultInjector) -> None:
    """Change a row that is in every kept snapshot: a job that restarts must detect it (F15).

    This occurs rarely, because it ends the run.
    """
    if injector.choices.below(4) < 3:
        return
    needed = injector.cluster.rows_needed()
    splits = [
        (row, s) for number, s in injector.cluster.sources() if (row := needed.get(number, 0))
    ]
    if splits:
        injector.record_fault("input altered", "Load")
        row, split = injector.choices.one_of(splits)
        split.altered_at = row - 1
        split.forgotten = True


# Sinks.


def slow_sink(injector: FaultInjector) -> None:
    """A sink is slow to store bundles, or acknowledges late (F10, F11)."""
    takes_us = injector.choices.below(SECOND // 2)
    late_us = injector.choices.below(SECOND)
    sink = injector.sink()
    injector.record_fault("consumer slow", "Deliver")
    sink.behaviour = SinkBehaviour(takes_us=100 + takes_us, acknowledges_late_us=late_us)
    injector.for_a_while(4 * SECOND, sink.behave)


def mute_sink(injector: FaultInjector) -> None:
    """A sink stores bundles, but does not acknowledge them (F10)."""
    sink = injector.sink()
    sink.behaviour = SinkBehaviour(mute=True)
    injector.record_fault("consumer mute", "Deliver")
    injector.for_a_while(4 * SECOND, sink.behave)


def double_acknowledgements(injector: FaultInjector) -> None:
    """A sink acknowledges everything twice (F11)."""
    sink = injector.sink()
    sink.behaviour = SinkBehaviour(acknowledges_twice=True)
    injector.record_fault("consumer says it twice", "Deliver")
    injector.for_a_while(4 * SECOND, sink.behave)


def restart_sink(injector: FaultInjector) -> None:
    """A sink restarts with what it had stored (F11)."""
    injector.record_fault("consumer restarts", "Deliver")
    injector.sink().restart()


FAULTS_OUTSIDE: Final[dict[str, Callable[[FaultInjector], None]]] = {
    "clock jumps": clock_jumps,
    "clock drifts": clock_drifts,
    "clock stands still": clock_stops,
    "poison row": poison_row,
    "input trimmed": trim_input,
    "input forgotten": forget_input,
    "input altered": alter_input,
    "consumer slow": slow_sink,
    "consumer mute": mute_sink,
    "consumer says it twice": double_acknowledgements,
    "consumer restarts": restart_sink,
}
"""The faults by name."""
