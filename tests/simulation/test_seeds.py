"""Seeds: generated queries on simulated clusters under faults, each seed twice.

Every run is judged at every bundle (see `runtime/simulation/judge.py`).  It finds what is wrong in links,
membership, epochs, recovery, delivery and progress, in any interleaving of the faults that there are.  What
the query means is not judged here but in `tests/property`: the expected output is the engine's own, by one
worker in one process.

A failure says how to see it: `python -m fsql.tests.simulation.replay 17`.
"""

from __future__ import annotations

import pytest

from fsql.runtime.simulation.run import Plan, run
from fsql.tests.simulation.workloads import generated

PLAN = Plan(seconds=20)

FOUND: dict[int, str] = {
    7: "a coordinator that stood by renewed a lease that it had never got",
    23: "rows that failed could not be encoded",
    117: "bundles that waited their turn went out without the lease",
}
"""Seeds that have found something, and what; they go on being run."""


@pytest.mark.parametrize("seed", sorted({*range(30), *FOUND}))
def test_a_seed(seed: int) -> None:
    workload, expected = generated(seed)
    first = run(seed, workload, expected, PLAN)
    assert first.failure == "", f"seed {seed}, {workload.name}"
    assert run(seed, workload, expected, PLAN).digest == first.digest
