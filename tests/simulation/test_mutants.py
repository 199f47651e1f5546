"""The tester's test: a cluster with a mistake in it has to be told from the right one.

Each mutant breaks one rule of links, progress, epochs, leases, delivery or snapshots.  A mutant that no
seed finds means that faults, workloads or the judge do not reach that rule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsql.runtime.simulation.run import Plan, run
from fsql.tests.simulation import mutants, mutants_of_state
from fsql.tests.simulation.workloads import generated

if TYPE_CHECKING:
    from collections.abc import Callable

MUTANTS = (*mutants.MUTANTS, *mutants_of_state.MUTANTS)
SEEDS = 500
BLOCK = 25
PLAN = Plan(seconds=20)


def first_found(mutant: Callable[[pytest.MonkeyPatch], None], seeds: int = SEEDS) -> int | None:
    """Return the first seed that finds a mutant; None if none does."""
    for first in range(0, seeds, BLOCK):
        # What is expected comes of the machines as they should be.
        block = [(seed, *generated(seed)) for seed in range(first, first + BLOCK)]
        with pytest.MonkeyPatch.context() as patch:
            mutant(patch)
            for seed, workload, expected in block:
                if run(seed, workload, expected, PLAN).failure:
                    return seed
    return None


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_mutants_are_found(mutant: Callable[[pytest.MonkeyPatch], None]) -> None:
    found = first_found(mutant)
    assert found is not None, f"no seed finds that {mutant.__name__.replace('_', ' ')}"
