"""The tester's test: a cluster with a mistake in it has to be told from the right one.

Each mutant breaks one rule of links, progress, epochs, leases, delivery or snapshots.  A mutant that no
seed finds means that faults, workloads or the output checker do not reach that rule.

`found_by.json` has for each mutant a seed that finds it in a short run.  The search begins there, since it
would take minutes otherwise.  After a change of the workloads, `pytest --rewrite` records what it finds.
"""

from __future__ import annotations

import fcntl
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fsql.runtime.cluster.delivery.option import DeliveryOption
from fsql.runtime.simulation.run import Plan, run
from fsql.runtime.simulation.world import World
from fsql.tests.simulation import (
    mutants,
    mutants_of_fronts,
    mutants_of_rebalancing,
    mutants_of_shards,
    mutants_of_state,
    mutants_of_ticks,
)
from fsql.tests.simulation.workloads import generated

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.runtime.drivers.in_memory import Outcome
    from fsql.runtime.simulation.workload import Workload

SEEDS = 500
FOUND_BY = Path(__file__).with_name("found_by.json")
PLAN = Plan(seconds=20)
PLAN_OF_COORDINATION = Plan(
    seconds=20,
    faults=(
        "coordination writes late",
        "coordination writes late",
        "kill worker",
        "kill coordinator",
    ),
)
"""Writes that happen after later ones, and recoveries that depend on them."""
PLAN_OF_TICKS = Plan(seconds=20, faults=("tick", "tick", "tick", "kill worker"))
"""Many ticks in each run, so that bins come back, and recoveries from snapshots that follow them."""
PLAN_OF_MEMBERS = Plan(seconds=20, workers=1, faults=("members", "members", "tick", "kill worker"))
"""One worker at first, so that all others may leave again."""
PLAN_OF_RECOVERY = Plan(seconds=20, faults=("tick", "tick", "kill worker", "kill worker"))
"""Many recoveries from the snapshot at whose position a tick begins."""
PLAN_OF_LONG_STEPS = Plan(seconds=20, workers=3, faults=("long step", "long step", "kill worker"))
"""Rows that take longer than the failure timeout, in each epoch."""
PLAN_OF_SHARDS = Plan(seconds=20, shards=3)
"""Workers write shards in each run."""
PLAN_OF_SLOW_SINKS = Plan(
    seconds=20,
    shards=3,
    option=DeliveryOption.EXACTLY_ONCE,
    faults=("kill worker", "kill coordinator", "consumer slow", "consumer mute"),
)
"""Sinks that lag behind what is released when a writer is killed."""
PLAN_OF_WRITERS = Plan(seconds=20, workers=3, shards=3, faults=("members",))
"""Many ticks with fewer workers."""
CASES = [
    (mutant, plan)
    for found_by, plan in (
        (mutants.MUTANTS, PLAN),
        (mutants.MUTANTS_OF_LONG_STEPS, PLAN_OF_LONG_STEPS),
        (mutants_of_state.MUTANTS, PLAN),
        (mutants.MUTANTS_OF_COORDINATION, PLAN_OF_COORDINATION),
        (mutants_of_ticks.MUTANTS, PLAN_OF_TICKS),
        (mutants_of_ticks.MUTANTS_OF_MEMBERS, PLAN_OF_MEMBERS),
        (mutants_of_fronts.MUTANTS, PLAN_OF_TICKS),
        (mutants_of_fronts.MUTANTS_OF_RECOVERY, PLAN_OF_RECOVERY),
        (mutants_of_rebalancing.MUTANTS, PLAN_OF_TICKS),
        (mutants_of_rebalancing.MUTANTS_OF_MEMBERS, PLAN_OF_MEMBERS),
        (mutants_of_shards.MUTANTS, PLAN_OF_SHARDS),
        (mutants_of_shards.MUTANTS_OF_SLOW_SINKS, PLAN_OF_SLOW_SINKS),
        (mutants_of_shards.MUTANTS_OF_WRITERS, PLAN_OF_WRITERS),
    )
    for mutant in found_by
]


@cache
def case(seed: int) -> tuple[Workload, Outcome]:
    """Return what a seed runs, and what is expected of it by the machines as they should be."""
    return generated(seed)


class EarlyEndError(Exception):
    """A run has got as far as it is looked at."""


_runs_well: dict[tuple[int, Plan], int] = {}
"""Up to which time in microseconds the runs of seeds and plans do not fail; mutants share seeds."""


def fails_without_mutant(seed: int, plan: Plan, until_us: int) -> str:
    """Return how a seed fails up to a time with the machines as they should be, or nothing."""
    if until_us <= _runs_well.get((seed, plan), -1):
        return ""
    advance = World.run

    def advance_to_end(
        world: World, to_us: int, *, over: Callable[[], bool] = lambda: False
    ) -> None:
        def over_or_too_far() -> bool:
            if world.now_us > until_us:
                raise EarlyEndError
            return over()

        advance(world, to_us, over=over_or_too_far)

    workload, expected = case(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(World, "run", advance_to_end)
        failure = run(seed, workload, expected, plan).failure
    if failure and not failure.startswith(EarlyEndError.__name__):
        return failure
    _runs_well[seed, plan] = until_us
    return ""


def first_found(mutant: Callable[[pytest.MonkeyPatch], None], plan: Plan, begin: int) -> int | None:
    """Return the first seed, from `begin` on and around, that finds a mutant; None if none does."""
    for seed in (*range(begin, SEEDS), *range(begin)):
        workload, expected = case(seed)
        with pytest.MonkeyPatch.context() as patch:
            mutant(patch)
            result = run(seed, workload, expected, plan)
        if result.failure:
            failure = fails_without_mutant(seed, plan, result.simulated_us)
            assert failure == "", f"seed {seed} fails without it"
            return seed
    return None


def record(name: str, seed: int) -> None:
    """Write which seed finds a mutant; several processes may do so at once."""
    with FOUND_BY.open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        known = {**json.load(file), name: seed}
        file.seek(0)
        file.truncate()
        file.write(json.dumps(dict(sorted(known.items())), indent=2) + "\n")


@pytest.mark.slow
@pytest.mark.parametrize(("mutant", "plan"), CASES, ids=[mutant.__name__ for mutant, _ in CASES])
def test_mutants_are_found(
    mutant: Callable[[pytest.MonkeyPatch], None], plan: Plan, request: pytest.FixtureRequest
) -> None:
    name, rewrite = mutant.__name__, request.config.option.rewrite
    found = first_found(mutant, plan, json.loads(FOUND_BY.read_text()).get(name, 0))
    assert found is not None, f"no seed finds that {name.replace('_', ' ')}"
    if rewrite:
        record(name, found)


def test_output_without_a_guarantee_goes_on_from_a_snapshot_that_it_lacks_rows_below() -> None:
    """The snapshot does not wait for it, so a new epoch may begin ahead of what its sink has."""
    workload, expected = case(3)
    assert run(3, workload, expected, PLAN_OF_TICKS).failure == ""


def test_jobs_with_long_steps_finish() -> None:
    """Each epoch is lost to them until the failure timeout is longer than they are, and no further."""
    long_steps = 0
    for seed in range(1, 13, 2):
        workload, expected = case(seed)
        result = run(seed, workload, expected, PLAN_OF_LONG_STEPS)
        assert result.failure == "", seed
        long_steps += result.coverage.faults["long step"]
    assert long_steps
