"""The choice of lingers: when calls take too much of a worker, unknowns, and loads that move.

A job is simulated whose worker reads as often as it can: each chunk has the rows that have come since the
last one, and takes some time for itself and for each row.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.plan_choices import PlanChoices, with_choices
from fsql.optimizer.choose_tick import Situation, choose_tick
from fsql.optimizer.collectors.results import Sums, cost_of
from fsql.optimizer.lingers import CHUNK_SECONDS, choose_lingers
from fsql.optimizer.statistics import (
    Cost,
    FrontLoad,
    Latency,
    OperatorLoad,
    Statistics,
    WorkerLoad,
)
from fsql.tests.unit.optimizer.jobs import plan_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.compiler.tick_plan import TickPlan

SCRIPT = """
CREATE TABLE lines (line STRING) WITH ('connector' = 'stdin', 'format' = 'text');
CREATE TABLE kept (line STRING) WITH ('connector' = 'stdout');
INSERT INTO kept SELECT UPPER(line) FROM lines;
"""
TWO = """
CREATE TABLE a (line STRING) WITH ('connector' = 'socket', 'address' = 'localhost:1', 'format' = 'text');
CREATE TABLE b (line STRING) WITH ('connector' = 'socket', 'address' = 'localhost:2', 'format' = 'text');
CREATE TABLE counts (line STRING, n BIGINT) WITH ('connector' = 'stdout');
INSERT INTO counts SELECT line, COUNT(*) AS n FROM (
    SELECT line FROM a UNION ALL SELECT line FROM b
) GROUP BY line;
"""
ARRIVING = """
CREATE TABLE lines (line STRING, at AS PROCTIME()) WITH ('connector' = 'stdin', 'format' = 'text');
CREATE TABLE kept (line STRING, at TIMESTAMP(6)) WITH ('connector' = 'stdout');
INSERT INTO kept SELECT line, at FROM lines;
"""
PLAN = plan_of(SCRIPT)


def lingering(plan: TickPlan, **milliseconds: int) -> TickPlan:
    return with_choices(plan, PlanChoices(lingers=tuple(milliseconds.items())))


def measured(
    chunks: float,
    rows: float,
    *,
    call_seconds: float | None = 0.0,
    elapsed: float | None = None,
    tables: tuple[str, ...] = ("lines",),
) -> Statistics:
    """Return what a collector finds of one worker in two intervals that are alike.

    Each table has `chunks` in a second with `rows` in all, and the only operators are readers, which take
    `call_seconds` for a chunk.
    """
    total = chunks * len(tables)
    busy = 0.5
    of_worker = busy if elapsed is None else elapsed
    return Statistics(
        costs=(Cost("read", rows * len(tables), total, busy, None, call_seconds, 1.0),),
        fronts=tuple(FrontLoad(table, 0, rows, 0.0, 0.0, None, 0.0) for table in tables),
        workers=tuple(WorkerLoad(interval, 0, busy, of_worker) for interval in (1, 2)),
        operators=tuple(OperatorLoad(interval, 0, "read", busy) for interval in (1, 2)),
        latency=tuple(Latency(table, chunks, 0.002, 0.01) for table in tables),
    )


def chosen_in(situation: Situation, statistics: Statistics) -> tuple[object, list[str]]:
    tables, reasons = choose_lingers(situation, statistics)
    return tables, [*map(str, reasons)]


def chosen(statistics: Statistics, plan: TickPlan = PLAN) -> tuple[dict[str, int], list[str]]:
    tables, reasons = choose_lingers(Situation(plan), statistics)
    return dict(tables), [*map(str, reasons)]


@pytest.mark.parametrize(
    ("chunks", "linger_ms"), [(100, 0), (490, 0), (510, 5), (2_000, 5), (20_000, 5)]
)
def test_the_least_linger_is_chosen_with_which_calls_take_little(
    chunks: float, linger_ms: int
) -> None:
    """At a millisecond a chunk, 250 chunks a second take a quarter of a worker."""
    tables, _ = chosen(measured(chunks, rows=2 * chunks))
    assert tables == ({"lines": linger_ms} if linger_ms else {})


def with_splits(statistics: Statistics, splits: int) -> Statistics:
    [front] = statistics.fronts
    rows = front.rows_per_second / splits
    return statistics._replace(
        fronts=tuple(front._replace(split=each, rows_per_second=rows) for each in range(splits))
    )


@pytest.mark.parametrize(("chunks", "lingers"), [(400, {}), (600, {"lines": 5})])
def test_time_in_which_others_have_the_core_is_no_load(
    chunks: float, lingers: dict[str, int]
) -> None:
    for elapsed in (0.5, 50.0):
        assert chosen(measured(chunks, rows=2 * chunks, elapsed=elapsed))[0] == lingers


def test_no_linger_is_longer_than_the_greatest() -> None:
    tables, _ = chosen(with_splits(measured(1_200, rows=2_400), 20))
    assert tables == {"lines": 50}


def test_what_a_call_takes_is_added_up_to_a_limit() -> None:
    assert chosen(measured(400, rows=800))[0] == {}
    assert chosen(measured(400, rows=800, call_seconds=0.3e-3))[0] == {"lines": 10}
    assert chosen(measured(330, rows=330, call_seconds=20e-3))[0] == {}


def test_the_reason_has_what_calls_take_and_how_long_rows_wait() -> None:
    tables, [reason] = chosen(measured(600, rows=1_200))
    assert tables == {"lines": 5}
    assert reason == (
        "linger of lines: 5 ms, was none; calls take 60% of worker 0, for 600 chunks a second of a split"
        " with 2.0 rows each, and would take 20% if rows wait for 2.5 ms on average"
    )
    tables, [reason] = chosen(measured(10, rows=10))
    assert tables == {}
    assert reason == (
        "linger of lines: none, stays; calls take 1% of worker 0, for 10 chunks a second of a split"
        " with 1.0 rows each"
    )


def test_large_chunks_do_not_linger() -> None:
    tables, [reason] = chosen(measured(1_200, rows=1_200 * 300))
    assert tables == {}
    assert reason.endswith(" with 300.0 rows each, which are many")


def test_a_linger_that_saves_little_is_not_chosen() -> None:
    """Nearly all calls are for a table of which each chunk comes after more than the greatest linger."""
    plan = plan_of(TWO)
    many = measured(300, rows=600, tables=("a", "b"))
    rates = {"a": 30.0, "b": 570.0}
    statistics = many._replace(
        latency=tuple(Latency(table, rate, 0.002, 0.01) for table, rate in rates.items()),
        fronts=(
            FrontLoad("a", 0, 600.0, 0.0, 0.0, None, 0.0),
            *(FrontLoad("b", split, 20.0, 0.0, 0.0, None, 0.0) for split in range(30)),
        ),
    )
    tables, reasons = chosen(statistics, plan)
    assert tables == {}
    assert reasons[1].endswith(", and would take 60% if rows wait for 25 ms on average")


def test_a_linger_ends_when_each_row_might_be_a_chunk() -> None:
    plan = lingering(PLAN, lines=10)
    tables, [reason] = chosen(measured(100, rows=200), plan)
    assert tables == {"lines": 0}
    assert reason.endswith(", and would take at most 20%")
    assert chosen(measured(100, rows=800), plan)[0] == {"lines": 5}
    assert chosen(measured(20, rows=800), lingering(PLAN, lines=50))[0] == {"lines": 5}


def test_a_linger_without_effect_ends() -> None:
    """Ten bursts a second, each a chunk, would be as many without."""
    assert chosen(measured(10, rows=2_000), lingering(PLAN, lines=5))[0] == {"lines": 0}


def test_a_linger_stays_between_the_limits() -> None:
    plan = lingering(PLAN, lines=5)
    tables, [reason] = chosen(measured(200, rows=2_000), plan)
    assert tables == {}
    assert reason.startswith("linger of lines: 5 ms, stays; calls take 20% of worker 0, ")
    assert chosen(with_splits(measured(480, rows=4_800), 3), plan)[0] == {}
    assert chosen(with_splits(measured(540, rows=5_400), 3), plan)[0] == {"lines": 20}


def test_the_linger_of_one_table_changes_in_a_tick() -> None:
    plan = plan_of(TWO)
    statistics = measured(300, rows=600, tables=("a", "b"))
    tables, reasons = chosen(statistics, plan)
    assert tables == {"a": 50}, "the calls for the other one take more than the target"
    assert reasons[1] == "linger of b: none, stays; that of another table changes first"
    busier = statistics._replace(
        latency=(Latency("a", 150.0, 0.002, 0.01), Latency("b", 450.0, 0.002, 0.01))
    )
    assert chosen(busier, plan)[0] == {"b": 10}


def test_rows_with_the_times_of_their_arrival_do_not_linger() -> None:
    tables, [reason] = chosen(measured(1_200, rows=2_400), plan_of(ARRIVING))
    assert tables == {}
    assert reason == (
        "linger of lines: none, stays; rows have the times of their arrival, each in a chunk of its own"
    )


def test_what_is_not_measured_changes_nothing() -> None:
    known = measured(1_200, rows=2_400)
    waits = (
        "linger of lines: none, stays; no estimate, {} intervals since the last tick are measured"
    )
    assert chosen_in(Situation(PLAN), Statistics()) == (
        (),
        [waits.format("0 of 2")],
    )
    assert chosen_in(Situation(PLAN, since=1), known) == (
        (),
        [waits.format("1 of 2")],
    )
    assert chosen_in(Situation(PLAN, ages=(5,)), known) == (
        (),
        [waits.format("2 of 4")],
    )
    without = "linger of lines: none, stays; no estimate of its chunks"
    for table in ("fronts", "latency", "operators"):
        assert chosen(known._replace(**{table: ()})) == ({}, [without])


def test_a_tick_with_another_linger_moves_no_bins() -> None:
    choice = choose_tick(Situation(PLAN), measured(1_200, rows=2_400))
    assert choice.owners is None
    assert choice.choices == PlanChoices(lingers=(("lines", 5),))


# Loads that move.

SECONDS = 10.0
CALL_SECONDS = 0.3e-3


@dataclass
class Job:
    """A job with one worker that is followed interval by interval; with a linger by ticks, or without.

    `row_seconds` is what a row takes, and `varies` by how much what is measured differs from what is.
    """

    row_seconds: float = 2e-6
    varies: float = 0.0
    ages: tuple[int, ...] = ()
    since: int = 0
    linger_ms: int = 0

    def __post_init__(self) -> None:
        self.random = Random(1)
        self.intervals: list[tuple[float, float, float]] = []

    def chunks_at(self, rows: float) -> float:
        """Return the chunks in a second: as many as there is time for, and none without rows."""
        left = max(0.05, 1 - rows * self.row_seconds)
        chunks = min(rows, left / (CHUNK_SECONDS + CALL_SECONDS))
        return min(chunks, 1000 / self.linger_ms) if self.linger_ms else chunks

    def run(self, rows: float) -> float:
        """Run an interval and take the tick that is chosen; return what calls have taken."""
        chunks = self.chunks_at(rows)
        noise = 1 + self.varies * (2 * self.random.random() - 1)
        busy = (chunks * CALL_SECONDS + rows * self.row_seconds) * noise
        self.intervals.append((rows, chunks, busy))
        self.ages = tuple(age + 1 for age in self.ages)
        number = len(self.intervals)
        plan = lingering(PLAN, lines=self.linger_ms)
        situation = Situation(plan, self.since, self.ages, seconds=SECONDS)
        tables, _ = choose_lingers(situation, self.statistics())
        if tables:
            [(_, self.linger_ms)] = tables
            self.ages, self.since = (0, *self.ages), number
        return chunks * (CALL_SECONDS + CHUNK_SECONDS)

    def statistics(self) -> Statistics:
        """Return what a collector finds of the last 12 intervals, with its arithmetic."""
        number = len(self.intervals)
        last = self.intervals[-12:]
        weights = [0.5 ** ((len(last) - 1 - index) / 2) for index in range(len(last))]

        def smooth(column: int) -> float:
            pairs = zip(weights, last, strict=True)
            return sum(weight * of[column] for weight, of in pairs) / sum(weights)

        spans = [(r * SECONDS, c * SECONDS, b * SECONDS) for r, c, b in last]
        sums = Sums(
            sum(r * r for r, _, _ in spans),
            sum(r * c for r, c, _ in spans),
            sum(c * c for _, c, _ in spans),
            sum(r * b for r, _, b in spans),
            sum(c * b for _, c, b in spans),
        )
        rows, chunks, busy = smooth(0), smooth(1), smooth(2)
        ends = list(enumerate(self.intervals, 1))[-2:]
        loads = [(at, of[2]) for at, of in list(enumerate(self.intervals, 1))[-12:]]
        return Statistics(
            costs=(Cost("read", rows, chunks, busy, *cost_of(sums), 1.0),),
            fronts=(FrontLoad("lines", 0, rows, 0.0, 0.0, None, 0.0),),
            workers=tuple(WorkerLoad(at, 0, load, load) for at, load in loads),
            operators=tuple(OperatorLoad(at, 0, "read", of[2]) for at, of in ends),
            latency=(Latency("lines", chunks, 0.002, 0.01),) if number else (),
        )


def stays(at: int) -> float:
    del at
    return 3_000.0


def jumps(at: int) -> float:
    return 100.0 if at < 30 else 5_000.0


def drifts(at: int) -> float:
    return 10.0 * 1.08**at


def alternates(at: int) -> float:
    return 5_000.0 if at // 7 % 2 else 50.0


@pytest.mark.parametrize(
    ("load", "part"), [(stays, 0.5), (jumps, 0.5), (drifts, 0.5), (alternates, 0.85)]
)
@pytest.mark.parametrize("varies", [0.0, 0.1, 0.3])
def test_calls_take_less_and_ticks_are_few(
    load: Callable[[int], float], part: float, varies: float
) -> None:
    job, without = Job(varies=varies), Job()
    ticks, taken, still = 0, 0.0, 0.0
    for at in range(100):
        before = job.linger_ms
        taken += job.run(load(at))
        ticks += job.linger_ms != before
        rows = load(at)
        still += without.chunks_at(rows) * (CALL_SECONDS + CHUNK_SECONDS)
    assert taken < part * still
    assert ticks <= 6


@pytest.mark.parametrize("rows", [5.0, 100.0, 400.0])
def test_a_job_with_little_to_do_never_lingers(rows: float) -> None:
    job = Job(varies=0.3)
    for _ in range(100):
        job.run(rows)
        assert job.linger_ms == 0


@pytest.mark.parametrize("rows", [20.0, 100.0, 190.0])
def test_expensive_rows_are_not_taken_for_expensive_calls(rows: float) -> None:
    """A function that takes 5 ms for each row, and a chunk for each row, cannot be told from calls."""
    job = Job(row_seconds=5e-3, varies=0.2)
    for _ in range(100):
        job.run(rows)
        assert job.linger_ms == 0


def test_a_job_goes_back_to_no_linger_when_the_load_has_gone() -> None:
    job = Job()
    for _ in range(20):
        job.run(5_000.0)
    assert job.linger_ms > 0
    for _ in range(40):
        job.run(20.0)
    assert job.linger_ms == 0
