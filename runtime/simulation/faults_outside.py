"""Faults of what lies outside of the cluster's processes: clocks, the input, and who takes the output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.runtime.simulation.sinks import Manner
from fsql.runtime.simulation.sources import Poison
from fsql.runtime.simulation.world import SECOND

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.runtime.simulation.faults import Chaos

DRIFT_PPM: Final = 2_000
"""How fast or slow a clock runs at most while it runs badly: what leases allow for, and not more."""

STANDSTILL_PPM: Final = -990_000
"""How slow a clock runs that nearly stands still."""


# Clocks.  No machine reads the time of day; what is left to go wrong are clocks that measure time.


def clock_jumps(chaos: Chaos) -> None:
    """A process's clock goes forward all at once, by seconds or by an hour (F12)."""
    process = chaos.process(list(chaos.cluster.processes()))
    if process is not None:
        chaos.struck("clock jumps", "Tick", process.name)
        process.set_clock(jump_us=chaos.choices.one_of((SECOND, 10 * SECOND, 3600 * SECOND)))


def clock_drifts(chaos: Chaos) -> None:
    """A process's clock is fast or slow (F12)."""
    process = chaos.process(list(chaos.cluster.processes()))
    if process is not None:
        chaos.struck("clock drifts", "Tick", process.name)
        process.set_clock(drift_ppm=chaos.choices.one_of((DRIFT_PPM, -DRIFT_PPM)))
        chaos.for_a_while(10 * SECOND, process.keep_time)


def clock_stops(chaos: Chaos) -> None:
    """A worker's clock nearly stands still (F12).

    That of a coordinator may not: it would take its lease to be held when it is over.
    """
    process = chaos.process(list(chaos.cluster.workers))
    if process is not None:
        chaos.struck("clock stands still", "Tick", process.name)
        process.set_clock(drift_ppm=STANDSTILL_PPM)
        chaos.for_a_while(5 * SECOND, process.keep_time)


# The input.


def poison_row(chaos: Chaos) -> None:
    """A row ends the process that reads it, or stops it for long, the first few times (F14)."""
    now_us = chaos.world.now_us
    unread = [s for _, s in chaos.cluster.sources() if s.there(now_us) < len(s.rows)]
    if not unread:
        return
    split = chaos.choices.one_of(unread)
    first = split.there(now_us)
    row = first + chaos.choices.below(min(8, len(split.rows) - first))
    times = chaos.choices.between(1, 3)
    split.poison[row] = Poison(times, hangs=bool(chaos.choices.below(2)))


def trim_input(chaos: Chaos) -> None:
    """Sources keep no rows any more that every kept snapshot has (F15)."""
    needed = chaos.cluster.rows_needed()
    chaos.struck("input trimmed", "Load")
    for number, split in chaos.cluster.sources():
        split.kept_from = max(split.kept_from, needed.get(number, 0))


def forget_input(chaos: Chaos) -> None:
    """A source loses rows that are needed to begin anew: a job that has to can only refuse (F15).

    Seldom, since that ends the run.
    """
    if chaos.choices.below(4) < 3:
        return
    _, split = chaos.choices.one_of(chaos.cluster.sources())
    chaos.struck("input forgotten", "Load")
    split.kept_from = split.there(chaos.world.now_us)
    split.forgotten = True


def alter_input(chaos: Chaos) -> None:
    """A row that is in every kept snapshot is another one now: a job that begins anew has to see it (F15).

    Seldom, since that ends the run.
    """
    if chaos.choices.below(4) < 3:
        return
    needed = chaos.cluster.rows_needed()
    splits = [(row, s) for number, s in chaos.cluster.sources() if (row := needed.get(number, 0))]
    if splits:
        chaos.struck("input altered", "Load")
        row, split = chaos.choices.one_of(splits)
        split.altered_at = row - 1
        split.forgotten = True


# Consumers.


def slow_sink(chaos: Chaos) -> None:
    """A consumer takes long for each bundle, or acknowledges late (F10, F11)."""
    takes_us = chaos.choices.below(SECOND // 2)
    late_us = chaos.choices.below(SECOND)
    sink = chaos.sink()
    chaos.struck("consumer slow", "Deliver")
    sink.manner = Manner(takes_us=100 + takes_us, acknowledges_late_us=late_us)
    chaos.for_a_while(4 * SECOND, sink.behave)


def mute_sink(chaos: Chaos) -> None:
    """A consumer stores, but does not say so (F10)."""
    sink = chaos.sink()
    sink.manner = Manner(mute=True)
    chaos.struck("consumer mute", "Deliver")
    chaos.for_a_while(4 * SECOND, sink.behave)


def double_acknowledgements(chaos: Chaos) -> None:
    """A consumer says everything twice (F11)."""
    sink = chaos.sink()
    sink.manner = Manner(acknowledges_twice=True)
    chaos.struck("consumer says it twice", "Deliver")
    chaos.for_a_while(4 * SECOND, sink.behave)


def restart_sink(chaos: Chaos) -> None:
    """A consumer ends and comes back with what it had stored (F11)."""
    chaos.struck("consumer restarts", "Deliver")
    chaos.sink().restart()


FAULTS_OUTSIDE: Final[dict[str, Callable[[Chaos], None]]] = {
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
