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

MUTANTS = (*mutants.MUTANTS, *mutants_of_state.MUTANTS)
SEEDS = 500
PLAN = Plan(seconds=20)
PLAN_OF_TICKS = Plan(seconds=20, faults=("tick", "tick", "tick", "kill worker"))
"""Many ticks in each run, so that bins come back, and recoveries from snapshots that follow them."""
PLAN_OF_MEMBERS = Plan(seconds=20, workers=1, faults=("members", "members", "tick", "kill worker"))
"""One worker at first, so that all others may leave again."""


@cache
def case(seed: int) -> tuple[Workload, Outcome]:
    """Return what a seed runs, and what is expected of it by the machines as they should be."""
    return generated(seed)


def first_found(mutant: Callable[[pytest.MonkeyPatch], None], plan: Plan = PLAN) -> int | None:
    """Return the first seed that finds a mutant; None if none does."""
    for seed in range(SEEDS):
        workload, expected = case(seed)
        with pytest.MonkeyPatch.context() as patch:
            mutant(patch)
            failure = run(seed, workload, expected, plan).failure
        if failure:
            assert run(seed, workload, expected, plan).failure == "", (
                f"seed {seed} fails without it"
            )
            return seed
    return None


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_mutants_are_found(mutant: Callable[[pytest.MonkeyPatch], None]) -> None:
    found = first_found(mutant)
    assert found is not None, f"no seed finds that {mutant.__name__.replace('_', ' ')}"


@pytest.mark.slow
@pytest.mark.parametrize("mutant", mutants_of_ticks.MUTANTS, ids=lambda mutant: mutant.__name__)
def test_mutants_of_ticks_are_found(mutant: Callable[[pytest.MonkeyPatch], None]) -> None:
    found = first_found(mutant, PLAN_OF_TICKS)
    assert found is not None, f"no seed finds that {mutant.__name__.replace('_', ' ')}"


@pytest.mark.slow
@pytest.mark.parametrize(
    "mutant", mutants_of_ticks.MUTANTS_OF_MEMBERS, ids=lambda mutant: mutant.__name__
)
def test_mutants_of_members_are_found(mutant: Callable[[pytest.MonkeyPatch], None]) -> None:
    found = first_found(mutant, PLAN_OF_MEMBERS)
    assert found is not None, f"no seed finds that {mutant.__name__.replace('_', ' ')}"


def test_output_without_a_guarantee_goes_on_from_a_snapshot_that_it_lacks_rows_below() -> None:
    """The snapshot does not wait for it, so a new epoch may begin ahead of what its sink has."""
    workload, expected = case(3)
    assert run(3, workload, expected, PLAN_OF_TICKS).failure == ""
