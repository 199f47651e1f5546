"""Ticks in simulations: proposals of owner maps, drawn at random."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.owner_map import BINS, OwnerMap
from fsql.runtime.cluster.phase import Phase
from fsql.runtime.cluster.tick_events import TickProposed

if TYPE_CHECKING:
    from fsql.runtime.simulation.faults import FaultInjector
    from fsql.runtime.simulation.tape import Stream


def propose_tick(injector: FaultInjector) -> None:
    """The next tick has another owner map (F18); some bins come back to workers that had them before."""
    cluster = injector.cluster
    workers = cluster.workers_wanted
    if workers == 1:
        return
    for process in cluster.coordinators:
        program = cluster.leading.get(process.name)
        if process.up and program is not None and program.machine.phase is Phase.RUNNING:
            cluster.ticks += 1
            owners = _owner_map(injector.choices, workers)
            injector.struck("tick", "any", process.name)
            process.handle(TickProposed(cluster.ticks, owners.ranges))


def _owner_map(choices: Stream, workers: int) -> OwnerMap:
    """Draw a map: equal ranges, all bins to one worker, some ranges, or each bin to any worker."""
    match choices.below(4):
        case 0:
            return OwnerMap.of_equal_ranges(workers)
        case 1:
            return OwnerMap((choices.below(workers),) * BINS, workers)
        case 2:
            ends = sorted(choices.below(BINS) for _ in range(5))
            owners = [choices.below(workers) for _ in range(6)]
            of_bin = [owners[sum(end <= number for end in ends)] for number in range(BINS)]
            return OwnerMap(tuple(of_bin), workers)
        case _:
            return OwnerMap(tuple(choices.below(workers) for _ in range(BINS)), workers)
