"""What the optimizer is told of past ticks: which were the job's own choice, and what these took."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from fsql.compiler.reasons import Reason
from fsql.job.description import JobDescription
from fsql.job.plan_in_force import situation_of
from fsql.optimizer.collectors.bin_history import BinHistory
from fsql.runtime.coordination.ticks import AutomaticChoice, TickProposal, TickRecord
from fsql.tests.unit.optimizer.jobs import plan_of

if TYPE_CHECKING:
    from fsql.optimizer.choose_tick import Situation

SCRIPT = """
CREATE TABLE t (k STRING, n BIGINT) WITH ('connector' = 'stdin', 'format' = 'csv');
CREATE TABLE o (k STRING, n BIGINT) WITH ('connector' = 'stdout');
INSERT INTO o SELECT k, SUM(n) FROM t GROUP BY k;
"""
PLAN = plan_of(SCRIPT, 2)
JOB = JobDescription(
    job="job",
    script_name="s.sql",
    script_text=SCRIPT,
    script_path=None,
    parameters={},
    base_directory="",
    state="",
    plan="graph",
    splits={0: ("0",)},
    workers=2,
    policy=None,
    read_ahead_rows=1000,
    chunk_rows=1000,
    snapshot_every=None,
    delivery=None,
    tick_seconds=10.0,
)
NOW = 10_000.0
CHOICE = AutomaticChoice(
    (Reason("owners", "1 bin moves", changes=True),), "built-in", 0, cost=0.006
)


def taken(seconds: float, intervals_ago: float, choice: AutomaticChoice | None) -> TickRecord:
    at = NOW - 10.0 * intervals_ago - seconds
    reason = "auto: by hand" if choice is None else ""
    proposal = TickProposal(1, "graph", 2, (), reason, at, automatic=choice)
    return TickRecord(proposal, (1, 0), seconds)


def situation(*records: TickRecord) -> Situation:
    history = BinHistory({"a": np.zeros((2, 4096))})
    return situation_of(PLAN, JOB, records, history, hosted=False, now=NOW)


def test_intervals_count_that_began_after_a_tick() -> None:
    """Workers begin their intervals of 10 s at 3 and 4 s; they are numbered by the tens in which they end."""
    begun = [(9_903.0 + 10 * number, 991 + number) for number in range(9)]
    begun += [(begins + 1.0, number) for begins, number in begun]
    tick = taken(1.0, 4.2, None)  # it ended at 9,958
    known = BinHistory({"a": np.zeros((2, 4096))}, begun)
    found = situation_of(PLAN, JOB, [tick], known, hosted=False, now=NOW)
    assert (found.since, situation(tick).since) == (996, 996)
    tick = taken(1.0, 4.8, None)  # at 9,952: the interval that began at 9,953 counts
    found = situation_of(PLAN, JOB, [tick], known, hosted=False, now=NOW)
    assert (found.since, situation(tick).since) == (995, 996)


def test_a_reason_by_hand_makes_no_automatic_tick() -> None:
    found = situation(taken(7.0, 3, None))
    assert (found.ages, found.over_estimate) == ((), 0.0)
    assert situation(taken(7.0, 3, CHOICE)).ages == (3,)


@pytest.mark.parametrize(
    ("ticks", "over"),
    [
        ([], 0.0),
        ([(7.006, 0)], 7.0),
        ([(0.001, 0)], 0.0),
        ([(7.006, 60)], 3.5),
        ([(7.006, 120)], 1.75),
        ([(7.006, 0), (1.006, 0)], 4.0),
        ([(1.006, 0), (7.006, 60)], (1.0 + 3.5) / 1.5),
    ],
)
def test_what_ticks_took_is_known_and_forgotten(
    ticks: list[tuple[float, int]], over: float
) -> None:
    found = situation(*(taken(seconds, ago, CHOICE) for seconds, ago in ticks))
    assert found.over_estimate == pytest.approx(over)
    assert found.least_cost == pytest.approx(0.002 + over)
