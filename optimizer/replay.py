"""Replays recorded loads: whether it would have paid to follow them with owners, and for how long it pays.

A change of owners pays if the load lasts.  Whether it does cannot be known, but the intervals before show it:
the replay begins them with the owners in force, levels the owners wherever the rule of `owner_choice` would,
and compares each change with the owners before it, interval by interval.  So a load
that alternates faster than owners follow it is recognised, whatever its period is, and so is one that moves
at intervals that are long enough.

A change takes effect `DELAY` intervals after it was chosen: that is longer than most ticks take.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from fsql.optimizer.levelling import level_exchanges

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from fsql.compiler.owners import Owners
    from fsql.optimizer.load_history import BinCosts

INTERVALS_MIN: Final = 2
"""In how many successive intervals a load has to be uneven."""
IMBALANCE: Final = 0.1
"""By how much the busiest worker has to be above the mean, as a fraction of the mean."""
DELAY: Final = 1


class Replay(NamedTuple):
    """Changes of owners while a load was recorded: how many, and what they saved.

    `saved` is the time of the busiest worker, of each change in comparison with the owners before it and
    until the next one; `cost` is what they cost.  The unit of both is an interval.  `lasted` is the mean
    number of intervals in which changed owners were in force.
    """

    changes: int = 0
    saved: float = 0.0
    cost: float = 0.0
    lasted: float = 0.0


def replay(
    costs: BinCosts,
    owners: Owners,
    fixed: Sequence[float],
    groups: Sequence[Collection[str]],
    cost_of: Callable[[Owners, Owners], float],
) -> Replay:
    """Return what it would have saved to follow the recorded loads, beginning with some owners.

    Changes of which no effect is recorded are left out.

    Args:
        costs: the recorded costs of bins.
        owners: the owners with which the replay begins.
        fixed: the load of each worker that cannot be moved.
        groups: see `level_exchanges`.
        cost_of: returns the cost of a change from some owners to others, in intervals.
    """
    count, since = costs.intervals, 0
    loads = _with(costs.loads(owners), fixed)
    changes: list[_Change] = []
    for at in range(INTERVALS_MIN - 1, count - 1 - DELAY):
        begin = at + 1 - INTERVALS_MIN
        if begin < since or not is_uneven(loads[begin : at + 1]):
            continue
        after = level_exchanges(owners, costs.mean(begin, at + 1), fixed, groups)
        then = _with(costs.loads(after), fixed)
        if _busiest(then[begin : at + 1]) <= _busiest(loads[begin : at + 1]) * (1 - IMBALANCE / 2):
            since = at + 1 + DELAY
            gains = [max(one) - max(other) for one, other in zip(loads, then, strict=True)]
            changes.append(_Change(since, gains, cost_of(owners, after)))
            owners, loads = after, then
    if not changes:
        return Replay()
    ends = [*(each.effect for each in changes[1:]), count]
    saved = sum(sum(each.gains[each.effect : end]) for each, end in zip(changes, ends, strict=True))
    cost, lasted = sum(each.cost for each in changes), (count - changes[0].effect) / len(changes)
    return Replay(len(changes), saved, cost, lasted)


class PastTick(NamedTuple):
    """A tick that was taken: how many intervals ago, and the owners before it."""

    age: int
    owners: Owners


def outcome(
    costs: BinCosts,
    now: Owners,
    fixed: Sequence[float],
    past: Sequence[PastTick],
    cost_of: Callable[[Owners, Owners], float],
) -> Replay:
    """Return what the past ticks have saved in the recorded intervals; the newest is first.

    That is in comparison with the owners before each of them, or with those before all, if these would have
    been better.  Ticks that changed no owners are left out.
    """
    count, end, after = costs.intervals, costs.intervals, now
    then = _busiest_of(costs, now, fixed)
    spent: list[float] = []
    changes, saved, cost = 0, 0.0, 0.0
    for tick in past:
        if tick.owners == after:
            continue
        begin = max(0, count - tick.age)
        before = _busiest_of(costs, tick.owners, fixed)
        saved += sum(before[begin:end]) - sum(then[begin:end])
        cost += cost_of(tick.owners, after)
        spent += then[begin:end]
        changes, end, after, then = changes + 1, begin, tick.owners, before
        if begin == 0:
            break
    if not changes:
        return Replay()
    saved = min(saved, sum(_busiest_of(costs, past[-1].owners, fixed)[end:]) - sum(spent))
    return Replay(changes, saved, cost, (count - end) / changes)


def _busiest_of(costs: BinCosts, owners: Owners, fixed: Sequence[float]) -> list[float]:
    """Return the load of the busiest worker in each recorded interval if bins had some owners."""
    return [max(each) for each in _with(costs.loads(owners), fixed)]


class _Change(NamedTuple):
    """Other owners: when they would be in force, their gain in each interval, and what the change costs."""

    effect: int
    gains: list[float]
    cost: float


def is_uneven(loads: Sequence[Sequence[float]]) -> bool:
    """Return whether one worker is the busiest on average, and above the mean in each of some intervals."""
    total = [sum(of_worker) for of_worker in zip(*loads, strict=True)]
    busiest = total.index(max(total))
    return all(over_mean(each, busiest) > 1 + IMBALANCE for each in loads)


def over_mean(busy: Sequence[float], worker: int | None = None) -> float:
    """Return the load of a worker, by default the busiest one, divided by the mean."""
    mean = sum(busy) / len(busy)
    load = max(busy) if worker is None else busy[worker]
    return load / mean if mean > 0 else 1.0


def _with(loads: Sequence[Sequence[float]], fixed: Sequence[float]) -> list[list[float]]:
    return [[rest + own for rest, own in zip(fixed, each, strict=True)] for each in loads]


def _busiest(loads: Sequence[Sequence[float]]) -> float:
    """Return the load of the worker that is the busiest in some intervals together."""
    return max(sum(of_worker) for of_worker in zip(*loads, strict=True))
