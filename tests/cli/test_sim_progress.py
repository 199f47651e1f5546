"""What is heard of a series of seeds while it runs, and what of one that is ended by Ctrl-C."""

from __future__ import annotations

import json
import signal
from dataclasses import replace

import pytest

from fsql.console.reporter import Reporter
from fsql.console.sim import Series, Workloads, run_seeds
from fsql.console.sim_progress import SeedLines
from fsql.runtime.simulation.run import Plan, Result, run

pytestmark = pytest.mark.usefixtures("no_garbage")

PLAN = Plan(seconds=2)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def result() -> Result:
    workload, expected = Workloads(None).of(3)
    return run(3, workload, expected, PLAN)


def heard(reporter: Reporter) -> None:
    """Run 2,000 seeds, as one that is told of some of them sees it; seed 3 fails."""
    clock, series = Clock(), Series()
    lines = SeedLines(2_000, reporter, clock)
    for clock.now, series.seeds in ((105.0, 3), (111.0, 20), (115.0, 30), (122.5, 1_999)):
        lines.seed_done(series)
        if series.seeds == 20:
            series.failed.append(replace(result(), failure="row 4 differs"))
            lines.seed_done(series)
    clock.now, series.seeds = 200.0, 2_000
    lines.seed_done(series)


def test_a_line_every_ten_seconds_and_one_at_once_for_a_seed_that_fails(
    capsys: pytest.CaptureFixture[str],
) -> None:
    heard(Reporter())
    assert capsys.readouterr().err.splitlines() == [
        "11.0 s  20 of 2,000 seeds  0 faults  0 divergences",
        "11.0 s  20 of 2,000 seeds  0 faults  1 divergences; seed 3: row 4 differs",
        "22.5 s  1,999 of 2,000 seeds  0 faults  1 divergences",
    ]


def test_the_same_as_objects_and_not_at_all(capsys: pytest.CaptureFixture[str]) -> None:
    heard(Reporter(json=True))
    first, *_ = capsys.readouterr().err.splitlines()
    assert json.loads(first) == {
        "event": "progress",
        "seeds": 20,
        "faults": 0,
        "seconds": 11.0,
        "divergences": 0,
    }
    heard(Reporter(quiet=True))
    assert capsys.readouterr().err == ""


def test_ctrl_c_ends_a_series_behind_the_seed_that_is_running() -> None:
    series = run_seeds(
        None, range(5), PLAN, twice=False, on_seed=lambda _: signal.raise_signal(signal.SIGINT)
    )
    assert (series.seeds, series.interrupted, series.clean) == (1, 130, True)
