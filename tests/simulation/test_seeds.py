"""Seeds: our own and generated queries on simulated clusters under faults, some seeds twice.

Every bundle of a run is checked (`runtime/simulation/output_checker.py`).  This finds errors in links,
membership, epochs, snapshots, recovery, delivery and progress, under any interleaving of the simulated
faults.  What the query means is not checked here but in `tests/property`: the expected output is the engine's
own, by one worker in one process.

A failure says its seed: `python -m fsql.tests.simulation.replay 17` shows it.

FSQL_SEEDS=1000:2000 runs other seeds than those of the suite.
"""

from __future__ import annotations

import pytest

from fsql.runtime.simulation.coverage import Coverage
from fsql.runtime.simulation.run import Plan, run
from fsql.tests.seeds import seed_ranges
from fsql.tests.simulation.workloads import generated

PLAN = Plan(seconds=60)

RARE = {
    "bundle came twice",
    "bundle of an old coordinator",
    "bundle refused by its consumer",
    "end of a front log lost",
    "input that cannot be read again",
    "late rows under way",
    "lease ended by the launcher",
    "lease lost",
    "lease renewed after it ran out",
    "manifest not committed",
    "older manifest used",
    "plan changed",
    "recovered with another number of workers",
    "rejects under way",
    "snapshot not stored",
    "stopped at an error row",
    "stranger refused",
    "tick refused",
    "worker left",
}
"""What so few seeds may not meet; a soak has to."""


def test_a_poison_row_counts_as_a_fault() -> None:
    plan = Plan(seconds=5)
    results = (run(seed, *generated(seed), plan) for seed in range(1, 100, 2))
    assert any(result.coverage.faults["poison row"] for result in results)


@pytest.mark.parametrize(
    "seeds", seed_ranges(25), ids=lambda seeds: f"{seeds.start}-{seeds.stop - 1}"
)
def test_seeds(seeds: range) -> None:
    coverage = Coverage()
    failures = {}
    for seed in seeds:
        workload, expected = generated(seed)
        result = run(seed, workload, expected, PLAN)
        coverage.add(result.coverage)
        if result.failure:
            failures[seed] = f"{workload.name}: {result.failure}"
        elif seed % 8 == 0 and run(seed, workload, expected, PLAN).digest != result.digest:
            failures[seed] = f"{workload.name}: it does not come out the same twice"
    assert failures == {}
    assert set(coverage.unmet_probes()) <= RARE
