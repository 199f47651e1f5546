"""The choice of owners for the next tick, with its reason.

Owners level the measured cost of each exchange and of all together; or the worker in the process of the
coordinator owns all bins while the load is low.

Bins move only if, in each of the last two intervals, the same worker was the busiest, was more than
`IMBALANCE` above the mean, and was busy for at least `BUSY_MIN` of the time; and if the gain is more than
`GAIN_MIN` times the cost.  A gain is in seconds that the busiest worker saves, and counts for as long as the
load is likely to last, at most `HORIZON`:

* If the load has changed before, `replay` shows whether it would have paid to follow it.  If not, bins stay;
  if so, a gain counts for as long as owners would have stayed on average.
* Otherwise it counts for as long as the load has been what it is: the longer it has lasted, the longer it
  will.

If the owners in force would have been worse than the first ones since the last tick by more than
`RETURN_MIN`, and it does not pay to level the load, the first ones come back.  So a load that owners cannot
follow makes a job little slower than one without ticks, and only once.

What a worker does besides the work of its bins is averaged over all intervals that are known: it varies on a
busy machine, and no owners can level it.

A load is processor time: by elapsed time, a worker also seems busy while other programs use its core.  But
the same work takes up to a third more of it while others use the caches.  So what a row of a bin takes is
averaged over all intervals that are known, too, and the gain has to be above the noise (`noise_of`): what is
left of the variance of loads when the rows of bins are taken into account, by which a mean over so many
intervals may be wrong.  A gain that is twice the noise is hardly ever chance.  Other work may last, and then
one worker takes longer for its rows in all intervals.  So owners also have to be better if each row takes the
same, but for differences of more than `OF_MACHINE`, which keys must have caused.

What ticks of the job took in addition to their estimate is part of the cost of the next one.

Only intervals after the last tick count.  After each tick that the optimizer has proposed, it needs
twice as many intervals for the next one, as long as that tick is among the last `REMEMBERED` intervals,
unless the replay shows that it pays to follow the load.  If it needs more than collectors read, the next tick
waits until one of these ticks is older.
"""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics.numbers import counted_text
from fsql.compiler.owner_map import BINS, OwnerMap
from fsql.compiler.owners import Owners
from fsql.compiler.reasons import Reason
from fsql.optimizer.levelling import by_owners, level_exchanges
from fsql.optimizer.local_exchanges import exchanges_in_groups
from fsql.optimizer.replay import IMBALANCE, INTERVALS_MIN, Replay, outcome, over_mean, replay
from fsql.optimizer.statistics import INTERVALS
from fsql.optimizer.tick_costs import TickCosts, bin_costs, folds_without_state, intervals_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.optimizer.choose_tick import Situation
    from fsql.optimizer.statistics import Statistics, WorkerLoad

OWNERS: Final = "owners"
"""The subject of reasons."""
BUSY_MIN: Final = 0.15
"""As a fraction of a core, like the next two."""
CONTRACT_BELOW: Final = 0.35
"""If the total load of all workers is below this, one worker can take all of it."""
SPREAD_ABOVE: Final = 0.5
HORIZON: Final = 300.0
GAIN_MIN: Final = 2.0
RETURN_MIN: Final = 0.03
REMEMBERED: Final = 60
NOISE: Final = 0.15
"""The standard deviation of the load of a worker, as a fraction of it, before it is measured."""
NOISE_INTERVALS: Final = 2
OF_MACHINE: Final = 1.4
"""By which factor rows may take longer on one worker than on another because of other programs."""
NOISE_MIN: Final = 2.0
"""By how much a gain has to be above the noise."""


def bins_move(moved: int) -> str:
    """Return that bins move."""
    return f"{counted_text(moved, 'bin')} move{'s' if moved == 1 else ''}"


def bins_have_moved(moved: int) -> str:
    """Return that bins have moved."""
    return f"{counted_text(moved, 'bin')} {'has' if moved == 1 else 'have'} moved"


def _stay(text: str) -> Reason:
    return Reason(OWNERS, f"stay; {text}")


def choose_owners(situation: Situation, statistics: Statistics) -> tuple[Owners | None, Reason]:
    """Return the owners that the next tick should bring, None to keep those in force, and the reason."""
    now = situation.plan.assignment.owners
    if now.workers == 1:
        return None, _stay("there is one worker")
    intervals = intervals_of(statistics, situation.since, now.workers)
    reason = reason_to_wait(situation, len(intervals))
    waits = _stay(reason) if reason else None
    if waits is not None and (len(intervals) < INTERVALS_MIN or situation.history is None):
        return None, waits
    last = intervals[-INTERVALS_MIN:]
    together = max(sum(each.busy for each in loads) for loads in last)
    if situation.hosted and together < CONTRACT_BELOW:
        return (None, waits) if waits is not None else _contract(now, together)
    exchanges = situation.plan.exchanges.values()
    has_one_owner = len({owner for name in exchanges for owner in now.of(name).owners}) == 1
    is_contracted = has_one_owner and situation.hosted
    busy = [sum(each.busy for each in loads) / len(last) for loads in zip(*last, strict=True)]
    busiest = busy.index(max(busy))
    imbalance = min(over_mean([each.busy for each in loads], busiest) for loads in last)
    load = min(loads[busiest].busy for loads in last)
    found: tuple[Owners | None, Reason]
    if load < (SPREAD_ABOVE if is_contracted else BUSY_MIN) or imbalance <= 1 + IMBALANCE:
        measured = f"worker {busiest} works for {load:.0%}, at {imbalance:.2f} times the mean"
        found = None, _stay(measured)
    else:
        found = _Levelling(situation, statistics, busy).choose(waits)
    if found[0] is None and not is_contracted and situation.first not in {None, now}:
        return _Levelling(situation, statistics, busy).return_to_first(len(intervals)) or found
    return found


def _contract(now: Owners, together: float) -> tuple[Owners | None, Reason]:
    alone = Owners(OwnerMap((0,) * BINS, now.workers))
    measured = f"all workers together are busy for {together:.0%}"
    if alone == now:
        return None, Reason(OWNERS, f"worker 0 keeps all bins; {measured}")
    text = f"all bins to worker 0, without hops between processes; {measured}"
    return alone, Reason(OWNERS, text, changes=True)


class _Levelling:
    """The choice between the owners in force, owners that level the load, and the first ones.

    `busy` has the mean load of each worker in the last intervals.
    """

    def __init__(self, situation: Situation, statistics: Statistics, busy: Sequence[float]) -> None:
        plan = situation.plan
        self._now, self._first = plan.assignment.owners, situation.first
        self._situation, self._seconds, self._busy = situation, situation.seconds, busy
        self._past = situation.past
        self._exchanges = [*plan.exchanges.values()]
        self._groups = exchanges_in_groups(plan)
        known = bin_costs(situation, statistics)
        self._costs, self._rates = known.costs, known.rates
        history = situation.history
        self._recorded = None if history is None else history.costs(known.seconds)
        of_state = known.rates if history is None else history.rates()
        self._tick_costs = TickCosts(plan, statistics, of_state, situation.over_estimate)
        owned = by_owners(self._now, self._costs)
        self._fixed = [max(0.0, total - own) for total, own in zip(busy, owned, strict=True)]
        if self._recorded is None:
            since = intervals_of(statistics, situation.since, self._now.workers)
            residuals = residuals_of([[each.busy for each in of] for of in since])
        else:
            residuals = self._not_of_bins(intervals_of(statistics, 0, self._now.workers))
            means = [sum(of) / len(residuals) for of in zip(*residuals, strict=True)]
            self._fixed = [max(0.0, each) for each in means]
            residuals = residuals_of(residuals)
            self._busy = [rest + own for rest, own in zip(self._fixed, owned, strict=True)]
        self._noise = noise_of(max(self._busy), residuals)
        self._unknown = ""
        if known.unknown:
            self._unknown = f"no estimate of the cost of {', '.join(known.unknown)}"
        elif without_state := folds_without_state(plan, statistics):
            self._unknown = f"no estimate of the state of {', '.join(without_state)}"

    def _not_of_bins(self, intervals: Sequence[Sequence[WorkerLoad]]) -> list[list[float]]:
        """Return the load of each worker that is not of its bins, in each interval that is known."""
        assert self._recorded is not None
        known = intervals[-self._recorded.intervals :]
        in_force = [self._situation.owners_at(age) for age in range(len(known))]
        loads = {owners: self._recorded.loads(owners) for owners in set(in_force)}
        return [
            [each.busy - own for each, own in zip(of_interval, owned, strict=True)]
            for age, of_interval in enumerate(reversed(known))
            for owned in [loads[in_force[age]][-1 - age]]
        ]

    def choose(self, waits: Reason | None) -> tuple[Owners | None, Reason]:
        """Return owners that level the load, if that pays.

        `waits` is the reason to wait for more intervals unless it pays to follow the load, if there is
        one.
        """
        if self._unknown:
            return None, _stay(self._unknown)
        replayed, at_once = self._replay()
        pays = replayed.saved > GAIN_MIN * replayed.cost
        if replayed.changes and not pays:
            return None, _stay(_of_replay(replayed, self._seconds))
        if waits is not None and not (pays and at_once):
            return None, waits
        after = level_exchanges(self._now, self._costs, self._fixed, self._groups)
        own = by_owners(after, self._costs)
        busiest = max(self._busy)
        most = max(rest + of for rest, of in zip(self._fixed, own, strict=True))
        lasts = self._lasts(replayed, after, (busiest - most) / 2)
        gain, cost = (busiest - most) * lasts, self._tick_costs.seconds(self._now, after)
        moved = self._now.moved_bins(after, self._exchanges)
        numbers = (
            f"the busiest worker takes {busiest:.0%} of a core, {over_mean(self._busy):.2f} times the mean,"
            f" and would take {most:.0%} after {bins_have_moved(moved)}:"
            f" {gain:.3g} s saved in {lasts:.0f} s, for {cost:.2g} s, at a noise of {self._noise:.1%}"
        )
        if replayed.changes:
            numbers += f"; {_of_replay(replayed, self._seconds)}"
        is_noise = busiest - most <= NOISE_MIN * self._noise or not self._is_better_by_rows(after)
        if not moved or is_noise or gain <= GAIN_MIN * cost or most > busiest * (1 - IMBALANCE / 2):
            return None, _stay(numbers)
        return after, Reason(OWNERS, f"{bins_move(moved)}; {numbers}", changes=True)

    def _is_better_by_rows(self, after: Owners) -> bool:
        """Return whether the busiest worker would take less if rows differed by keys only."""
        if self._recorded is None:
            return True
        costs = {
            name: _by_rows(of_bins, self._rates[name]) for name, of_bins in self._costs.items()
        }
        now, then = (
            max(rest + of for rest, of in zip(self._fixed, by_owners(each, costs), strict=True))
            for each in (self._now, after)
        )
        return then <= now * (1 - IMBALANCE / 2)

    def _replay(self) -> tuple[Replay, bool]:
        """Return what following the load has saved or would have saved.

        If the past ticks have paid, that is what they have saved.  Otherwise it is what a replay says; but if
        there were any, the next one has to wait, which the second value denies.
        """
        if self._recorded is None:
            return Replay(), False

        def cost_of(one: Owners, other: Owners) -> float:
            return self._tick_costs.seconds(one, other) / self._seconds

        past = outcome(self._recorded, self._now, self._fixed, self._past, cost_of)
        if past.saved > GAIN_MIN * past.cost:
            return past, True
        return replay(
            self._recorded, self._now, self._fixed, self._groups, cost_of
        ), not past.changes

    def _lasts(self, replayed: Replay, after: Owners, least: float) -> float:
        """Return for how many seconds other owners are likely to save at least `least`."""
        if self._recorded is None:
            return HORIZON
        if replayed.changes:
            intervals = replayed.lasted
        else:
            intervals = 0.0
            for gain in reversed(self._gains(after)):
                if gain < least:
                    break
                intervals += 1
        return min(HORIZON, max(intervals, INTERVALS_MIN) * self._seconds)

    def _gains(self, after: Owners) -> list[float]:
        """Return what other owners would have saved in each recorded interval, in seconds per second."""
        busiest = self._busiest(self._now), self._busiest(after)
        return [now - then for now, then in zip(*busiest, strict=True)]

    def _busiest(self, owners: Owners) -> list[float]:
        """Return the load of the busiest worker in each recorded interval if bins had these owners."""
        recorded = [] if self._recorded is None else self._recorded.loads(owners)
        return [
            max(rest + own for rest, own in zip(self._fixed, loads, strict=True))
            for loads in recorded
        ]

    def return_to_first(self, intervals: int) -> tuple[Owners, Reason] | None:
        """Return the first owners if they would have been better in all of the last intervals together."""
        if self._first is None or self._unknown:
            return None
        gains, spent = self._gains(self._first)[-intervals:], self._busiest(self._now)[-intervals:]
        saved, cost = sum(gains) * self._seconds, self._tick_costs.seconds(self._now, self._first)
        is_noise = sum(gains) <= NOISE_MIN * self._noise * len(gains)
        is_noise |= not self._is_better_by_rows(self._first)
        if is_noise or sum(gains) <= RETURN_MIN * sum(spent) or saved <= GAIN_MIN * cost:
            return None
        moved = self._now.moved_bins(self._first, self._exchanges)
        text = (
            f"{moved} bins return to their first owners; with these, the busiest worker would have"
            f" taken {saved:.3g} s less in the {len(gains)} intervals since the last tick, for {cost:.2g} s"
        )
        return self._first, Reason(OWNERS, text, changes=True)


def _by_rows(costs: Mapping[int, float], rates: Mapping[int, float]) -> dict[int, float]:
    """Return the costs of bins as if a row took the mean, up to a factor of `OF_MACHINE` more or less."""
    rows = sum(rates.values())
    mean = sum(costs.values()) / rows if rows else 0.0

    def cost(number: int) -> float:
        measured, expected = costs[number], mean * rates[number]
        if measured > expected:
            return max(expected, measured / OF_MACHINE)
        return min(expected, measured * OF_MACHINE)

    return {number: cost(number) for number in costs}


def residuals_of(loads: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return the difference of the load of each worker in each interval from its mean."""
    means = [sum(of) / len(loads) for of in zip(*loads, strict=True)]
    return [[each - mean for each, mean in zip(of, means, strict=True)] for of in loads]


def noise_of(busiest: float, residuals: Sequence[Sequence[float]]) -> float:
    """Return by how much the mean load of a worker may be wrong, of which the busiest worker has `busiest`.

    That is the standard error, given the differences of loads from what is expected, by interval and worker.
    Before anything is known of the machine, `NOISE` is assumed, which counts as `NOISE_INTERVALS`.  The
    greatest of the loads of n workers is above their mean by chance, by as much as the root of log n.
    """
    known = sum(max(abs(each) for each in of) ** 2 for of in residuals)
    count = max(len(residuals), INTERVALS_MIN)
    variance = (NOISE_INTERVALS * (NOISE * busiest) ** 2 + known) / (NOISE_INTERVALS + count)
    workers = max(len(residuals[0]) if residuals else 0, 2)
    return float((variance / count * log2(workers)) ** 0.5)


def _of_replay(replayed: Replay, seconds: float) -> str:
    """Return the outcome of a replay as text."""
    times = "once" if replayed.changes == 1 else f"{replayed.changes} times"
    return (
        f"to level the recorded load {times} would have saved {replayed.saved * seconds:.3g} s,"
        f" for {replayed.cost * seconds:.2g} s"
    )


def intervals_needed(situation: Situation) -> int:
    """Return how many intervals the next tick needs since the last one."""
    return INTERVALS_MIN << sum(age < REMEMBERED for age in situation.ages)


def reason_to_wait(situation: Situation, measured: int, of: str = "") -> str:
    """Return why the next tick waits if so many intervals are measured since the last one; "" otherwise.

    `of` says of what there is no estimate.
    """
    recent = sum(age < REMEMBERED for age in situation.ages)
    needed = intervals_needed(situation)
    if measured >= needed:
        return ""
    if needed > INTERVALS:
        ticks = f"{recent} ticks are among the last {REMEMBERED} intervals"
        return f"{ticks}, and the next one waits until one of them is older"
    return f"no estimate{of}, {measured} of {needed} intervals since the last tick are measured"
