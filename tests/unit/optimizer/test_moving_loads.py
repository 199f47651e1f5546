"""Loads that stay, jump, move, alternate and drift, drawn from seeds, against what owners gain and cost.

A job with automatic ticks is followed interval by interval: what matters is the time of its busiest worker,
with the cost of its ticks, in comparison with a job without ticks.  The rows are exact; what files of workers
would leave out, and how long a tick takes, is not part of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, partial
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fsql.compiler.assignment import Assignment
from fsql.compiler.owner_map import BINS
from fsql.optimizer.choose_tick import Situation, choose_tick
from fsql.optimizer.collectors.bin_history import INTERVALS, BinHistory
from fsql.optimizer.levelling import by_owner
from fsql.optimizer.replay import PastTick
from fsql.optimizer.statistics import Cost, FoldLoad, Load, OperatorLoad, Statistics, WorkerLoad
from fsql.optimizer.tick_costs import TickCosts
from fsql.tests.unit.optimizer.jobs import plan_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.compiler.owners import Owners

SCRIPT = """
CREATE TABLE t (k STRING, n BIGINT) WITH ('connector' = 'stdin', 'format' = 'csv');
CREATE TABLE u (k STRING, m BIGINT) WITH ('connector' = 'stdin', 'format' = 'csv');
CREATE TABLE o (k STRING, m BIGINT) WITH ('connector' = 'stdout');
INSERT INTO o SELECT t.k, u.m FROM t JOIN u ON t.k = u.k;
"""
SECONDS_A_ROW = 1e-6
SECONDS = 10.0
STATE_ROWS = 1_000_000
"""The state of a join, of which a bin has a part as it has of the rows."""


@dataclass(frozen=True)
class Followed:
    """The time of the busiest worker without and with ticks, in intervals, and when ticks were chosen."""

    still: float
    moving: float
    ticks: tuple[int, ...]

    @property
    def gain(self) -> float:
        """Return by which part of its time without ticks a job is better."""
        return 1 - self.moving / self.still


def follow(
    rates_at: Callable[[int], list[float]],
    intervals: int,
    workers: int = 2,
    delay: int = 0,
    other: Callable[[], float] = float,
    slow: Callable[[int], float] = lambda _: 1.0,
    over_estimate: float = 0.0,
) -> Followed:
    """Follow a load; a chosen tick takes effect `delay` intervals after the next one has begun.

    `other` returns what else a worker is busy with in an interval, as a fraction of it, and `slow` how much
    longer the worker with a number takes for its rows, because of other programs.
    """
    start = plan = plan_of(SCRIPT, workers)
    [name] = plan.exchanges.values()
    rows: list[list[float]] = []
    busy: list[list[float]] = []
    others: list[list[float]] = []
    ticks: list[int] = []
    past: list[PastTick] = []
    since, still, moving = 0, 0.0, 0.0
    coming: tuple[int, Owners] | None = None
    for interval in range(1, intervals + 1):
        past = [PastTick(each.age + 1, each.owners) for each in past]
        if coming is not None and coming[0] == interval:
            past.insert(0, PastTick(1, plan.assignment.owners))
            plan, since = replace(plan, assignment=Assignment(coming[1])), interval - 1
            coming = None
        rows.append(rates_at(interval))
        of_bins = {number: rate * SECONDS_A_ROW for number, rate in enumerate(rows[-1]) if rate}
        owned = by_owner(plan.assignment.owners.of(name), of_bins)
        busy.append([each * slow(worker) for worker, each in enumerate(owned)])
        others.append([other() for _ in range(workers)])
        still += max(by_owner(start.assignment.owners.of(name), of_bins))
        moving += max(busy[-1])
        if coming is not None:
            continue
        statistics, history = (
            measured(name, rows, busy, others),
            BinHistory({name: np.array(rows[-INTERVALS:])}),
        )
        situation = Situation(
            plan,
            since,
            tuple(interval - each for each in ticks),
            first=start.assignment.owners,
            past=tuple(past),
            seconds=SECONDS,
            history=history,
            over_estimate=over_estimate,
        )
        owners = choose_tick(situation, statistics).owners
        if owners is not None:
            costs = TickCosts(plan, statistics, history.rates())
            moving += costs.seconds(plan.assignment.owners, owners) / SECONDS
            ticks.append(interval)
            coming = interval + 1 + delay, owners
    return Followed(still, moving, tuple(ticks))


def measured(
    name: str, rows: list[list[float]], busy: list[list[float]], others: list[list[float]]
) -> Statistics:
    """Return what a collector finds of some intervals."""
    smooth = np.average(
        rows[-12:], axis=0, weights=[0.7**age for age in range(len(rows[-12:]))][::-1]
    )
    total = float(smooth.sum())
    first = len(busy) - len(busy[-12:]) + 1
    return Statistics(
        loads=tuple(
            Load(name, 0, bin_, rate, 0.0) for bin_, rate in enumerate(smooth.tolist()) if rate
        ),
        costs=(Cost(name, total, 1.0, total * SECONDS_A_ROW, SECONDS_A_ROW, None, 1.0),),
        folds=(FoldLoad(name, "ordered", 0.0, 0.0, STATE_ROWS, STATE_ROWS * 60, 0.0),),
        workers=tuple(
            WorkerLoad(first + number, worker, share + rest, share + rest)
            for number, shares in enumerate(zip(busy[-12:], others[-12:], strict=True))
            for worker, (share, rest) in enumerate(zip(*shares, strict=True))
        ),
        operators=tuple(
            OperatorLoad(len(busy) - age, worker, name, share)
            for age in range(len(busy[-12:]))
            for worker, share in enumerate(busy[-1 - age])
        ),
    )


@cache
def hot(seed: int, total: float = 1_000_000.0) -> list[float]:
    """Return rates of bins of which a few, by the seed, have most of the rows: more on one worker of two."""
    random = Random(seed)
    rates = [0.0 if number % 16 else 16 * total / 3 / BINS for number in range(BINS)]
    half = random.randrange(2)
    for rank in range(1, 40):
        number = random.randrange(BINS // 2) + half * BINS // 2
        rates[number if rank % 4 else random.randrange(BINS)] += total / 3 / rank
    whole = sum(rates)
    return [rate * total / whole for rate in rates]


def moves(seed: int, period: int) -> Callable[[int], list[float]]:
    """Return a load of which other bins are hot after each period."""
    return lambda at: hot(100 * seed + (at - 1) // period)


def alternates(seed: int, period: int) -> Callable[[int], list[float]]:
    """Return a load that changes between two in each period."""
    return lambda at: hot(100 * seed + (at - 1) // period % 2)


def drifts(seed: int, period: int) -> Callable[[int], list[float]]:
    """Return a load that has become another one after each period, little by little."""

    def rates(at: int) -> list[float]:
        number, part = divmod((at - 1) / period, 1.0)
        pair = zip(hot(100 * seed + int(number)), hot(100 * seed + int(number) + 1), strict=True)
        return [one * (1 - part) + other * part for one, other in pair]

    return rates


def jumps(seed: int, period: int) -> Callable[[int], list[float]]:
    """Return a load that changes once."""
    return lambda at: hot(100 * seed + (at > 5 * period))


@pytest.mark.parametrize("kind", [moves, alternates, drifts, jumps])
@pytest.mark.parametrize("period", [1, 2, 3, 5])
@pytest.mark.parametrize(("workers", "delay"), [(2, 0), (3, 1)])
def test_a_job_with_ticks_is_never_much_slower(
    kind: Callable[[int, int], Callable[[int], list[float]]], period: int, workers: int, delay: int
) -> None:
    found = follow(kind(10 * workers + period, period), 40, workers, delay)
    assert found.gain >= -0.03, found


@pytest.mark.parametrize(("period", "gain"), [(3, 0.1), (6, 0.2)])
def test_keys_that_move_slower_than_owners_are_followed(period: int, gain: float) -> None:
    found = follow(moves(1, period), 36)
    assert found.gain >= gain, found
    assert len(found.ticks) == 36 // period, found


def test_keys_that_move_faster_than_owners_are_not_followed() -> None:
    """Keys that are the same for one interval only may be followed a few times until that is known."""
    found = follow(moves(3, 1), 60)
    assert len(found.ticks) <= 6, found


@pytest.mark.parametrize("seed", range(6))
def test_a_load_that_stays_is_levelled_few_times_although_its_measurements_vary(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without state a tick costs next to nothing, so that chance alone seems to pay."""
    monkeypatch.setitem(globals(), "STATE_ROWS", 0)
    found = follow(moves(seed, 1000), 150, other=partial(Random(seed).uniform, 0.1, 0.6))
    assert len(found.ticks) <= 6, found
    assert found.gain >= 0.3, found


class OtherPrograms:
    """Other work on the cores of a machine, drawn from a seed: it comes and goes, and lasts for a while.

    While it lasts, a worker takes up to 1.4 times the processor time for the same rows, since the caches are
    not its own; what it takes varies by some percent in any case.
    """

    def __init__(self, seed: int, lasts: float) -> None:
        self._random, self._lasts = Random(seed), lasts
        self._now: dict[int, float] = {}

    def factor(self, worker: int) -> float:
        """Return how much longer a worker takes in the next interval."""
        if worker not in self._now or self._random.random() < 1 / self._lasts:
            self._now[worker] = 1 + self._random.choice((0.0, self._random.uniform(0.1, 0.4)))
        return self._now[worker] * self._random.gauss(1.0, 0.03)


@pytest.mark.parametrize("total", [50_000.0, 500_000.0, 1_500_000.0])
@pytest.mark.parametrize("lasts", [1.0, 3.0, 8.0])
@pytest.mark.parametrize(
    ("seed", "workers"),
    # Of the last four, which were drawn when the rules had been chosen, 1004 found that noise depends on the
    # number of workers.
    [(1, 2), (2, 2), (3, 3), (4, 8), (1001, 2), (1002, 2), (1003, 4), (1004, 6)],
)
def test_a_uniform_load_on_a_machine_with_other_work_has_no_ticks(
    total: float, lasts: float, seed: int, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without state a tick costs next to nothing, so that chance alone would seem to pay."""
    monkeypatch.setitem(globals(), "STATE_ROWS", 0)
    random = np.random.default_rng(seed)

    def uniform(at: int) -> list[float]:
        del at
        rates: list[float] = (random.poisson(total * SECONDS / BINS, BINS) / SECONDS).tolist()
        return rates

    programs = OtherPrograms(seed, lasts)
    found = follow(
        uniform, 100, workers, other=partial(Random(seed).uniform, 0.0, 0.05), slow=programs.factor
    )
    assert found.ticks == ()


def test_a_skewed_load_is_levelled_although_others_work_too() -> None:
    programs = OtherPrograms(1, 3.0)
    found = follow(moves(1, 1000), 40, slow=programs.factor)
    assert 1 <= len(found.ticks) <= 2, found
    assert found.ticks[0] <= 4, found


def test_what_ticks_took_decides_whether_the_next_one_pays() -> None:
    """The load has lasted for 20 s when it would be levelled, of which a third would be saved."""
    quick, slow = (follow(moves(1, 1000), 40, over_estimate=each) for each in (0.0, 7.0))
    assert quick.ticks[0] < slow.ticks[0], (quick.ticks, slow.ticks)
    assert follow(moves(1, 1000), 40, over_estimate=100.0).ticks == ()
