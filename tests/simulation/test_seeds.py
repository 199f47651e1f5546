"""Seeds: our own and generated queries on simulated clusters under faults, each seed twice.

Every run is judged at every bundle (see `runtime/simulation/judge.py`).  It finds what is wrong in links,
membership, epochs, snapshots, recovery, delivery and progress, in any interleaving of the faults that there
are.  What the query means is not judged here but in `tests/property`: the expected output is the engine's
own, by one worker in one process.

A failure says its seed: `python -m fsql.tests.simulation.replay 17` shows it.
"""

from __future__ import annotations

from functools import cache

import pytest

from fsql.runtime.simulation.coverage import Coverage
from fsql.runtime.simulation.run import Plan, Result, run
from fsql.tests.simulation.workloads import generated

SEEDS = range(30)
PLAN = Plan(seconds=20)

RARE = {
    "bundle came twice",
    "bundle of an old coordinator",
    "bundle refused by its consumer",
    "lease lost",
    "manifest not committed",
    "older manifest used",
    "recovered with another number of workers",
    "snapshot not stored",
    "stopped at an error row",
    "rejects under way",
    "stranger refused",
}
"""What so few seeds may not meet; a soak has to."""


@cache
def result(seed: int) -> Result:
    return run(seed, *generated(seed), PLAN)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_seed(seed: int) -> None:
    assert result(seed).failure == "", f"seed {seed}, {result(seed).workload}"
    assert run(seed, *generated(seed), PLAN).digest == result(seed).digest


def test_the_seeds_meet_what_they_should() -> None:
    coverage = Coverage()
    for seed in SEEDS:
        coverage.add(result(seed).coverage)
    assert set(coverage.never_met()) <= RARE
