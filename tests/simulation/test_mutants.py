"""The tester's test: a cluster with a mistake in it has to be told from the right one.

Each mutant breaks one rule of links, progress, epochs, leases, delivery or snapshots.  A mutant that no
seed finds means that faults, workloads or the output checker do not reach that rule.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest

from fsql.runtime.simulation.run import Plan, run
from fsql.tests.simulation import mutants, mutants_of_state, mutants_of_ticks
from fsql.tests.simulation.workloads import generated

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.runtime.drivers.in_memory import Outcome
    from fsql.runtime.simulation.workload import Workload

MUTANTS = (*mutants.MUTANTS, *mutants_of_state.MUTANTS, *mutants_of_ticks.MUTANTS)
SEEDS = 500
PLAN = Plan(seconds=20)


@cache
def case(seed: int) -> tuple[Workload, Outcome]:
    """Return what a seed runs, and what is expected of it by the machines as they should be."""
    return generated(seed)


def first_found(mutant: Callable[[pytest.MonkeyPatch], None], seeds: int = SEEDS) -> int | None:
    """Return the first seed that finds a mutant; None if none does."""
    for seed in range(seeds):
        workload, expected = case(seed)
        with pytest.MonkeyPatch.context() as patch:
            mutant(patch)
            failure = run(seed, workload, expected, PLAN).failure
        if failure:
            assert run(seed, workload, expected, PLAN).failure == "", (
                f"seed {seed} fails without it"
            )
            return seed
    return None


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_mutants_are_found(mutant: Callable[[pytest.MonkeyPatch], None]) -> None:
    found = first_found(mutant)
    assert found is not None, f"no seed finds that {mutant.__name__.replace('_', ' ')}"
