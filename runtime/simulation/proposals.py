"""Ticks in simulations: random proposals of owners of bins and fronts, and of plan choices."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler.owner_map import BINS, OwnerMap
from fsql.compiler.plan_choices import PlanChoices, choices_of
from fsql.compiler.tick_plan import Policy
from fsql.runtime.cluster.coordinator.phase import Phase
from fsql.runtime.cluster.ticks.events import TickProposed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.compiler.owners import ExchangeRanges
    from fsql.compiler.tick_plan import TickPlan
    from fsql.runtime.simulation.faults import FaultInjector
    from fsql.runtime.simulation.process import Process
    from fsql.runtime.simulation.tape import Stream


def propose_tick(injector: FaultInjector) -> None:
    """Propose a tick with another owner map (F18); some bins return to workers that had them before."""
    for process, before in _running_coordinators(injector):
        if before > 1:
            injector.record_fault("tick", "any", process.name)
            _propose(injector, process, before, before)


def propose_members(injector: FaultInjector) -> None:
    """Propose a tick with more or fewer workers, and another owner map."""
    for process, before in _running_coordinators(injector):
        numbers = [n for n in range(1, len(injector.cluster.workers) + 1) if n != before]
        if numbers:
            workers = injector.choices.one_of(numbers)
            injector.record_fault("members", "join" if workers > before else "leave", process.name)
            _propose(injector, process, workers, before)


def _running_coordinators(injector: FaultInjector) -> Iterator[tuple[Process, int]]:
    """Yield the coordinators that run an epoch, and how many workers their layouts have."""
    for process in injector.cluster.coordinators:
        program = injector.cluster.leading.get(process.name)
        if process.up and program is not None and program.node.phase is Phase.RUNNING:
            yield process, program.node.ticks.workers


def _propose(injector: FaultInjector, process: Process, workers: int, before: int) -> None:
    injector.cluster.ticks += 1
    owners = _owner_map(injector.choices, workers)
    plan = injector.cluster.spec().plan
    choices = _plan_choices(injector.plan_choices, plan)
    least_rows = _pre_aggregations(injector.pre_aggregations, plan)
    rebalanced = _rebalanced(injector.rebalancing, plan)
    choices = replace(choices, pre_aggregations=least_rows, rebalanced=rebalanced)
    if injector.cluster.run_settings.lingers:
        choices = replace(choices, lingers=_lingers(injector.lingers, plan))
    readers = _readers(injector.reader_choices, len(injector.cluster.sources()), workers)
    tick = injector.cluster.ticks
    exchanges, keeps = _exchanges(injector.exchange_choices, plan, workers)
    ranges = () if keeps and workers == before else owners.ranges
    process.handle(TickProposed(tick, ranges, workers, choices, readers, exchanges))


def _exchanges(choices: Stream, plan: TickPlan, workers: int) -> tuple[ExchangeRanges, bool]:
    """Draw the owner maps of some exchanges, and whether the others keep theirs."""
    names = [name for name in sorted(plan.exchanges.values()) if choices.chance(0.5)]
    maps = tuple((name, _owner_map(choices, workers).ranges) for name in names)
    return maps, bool(maps) and choices.chance(0.5)


def _readers(choices: Stream, fronts: int, workers: int) -> tuple[int, ...]:
    """Draw the worker that reads for each front, or leave it to the coordinator."""
    if choices.chance(0.4):
        return ()
    return tuple(choices.below(workers) for _ in range(fronts))


def _plan_choices(choices: Stream, plan: TickPlan) -> PlanChoices:
    """Draw policies and replicas for some of the folds, and orders for some of the filters."""
    every = choices_of(plan)
    folds = [operator for operator, _ in every.policies if choices.chance(0.7)]
    policies = tuple((operator, choices.one_of(list(Policy))) for operator in folds)
    orders = [order for order in every.filters if choices.chance(0.7)]
    filters = tuple(replace(order, groups=_draw_groups(choices, order.groups)) for order in orders)
    may = [operator for operator, _ in every.replicated if choices.chance(0.7)]
    replicated = tuple((operator, choices.chance(0.5)) for operator in may)
    return PlanChoices(policies, filters, replicated=replicated)


def _pre_aggregations(choices: Stream, plan: TickPlan) -> tuple[tuple[str, int], ...]:
    """Draw whether folds that can get pre-aggregated rows do, for some of these folds."""
    may = [operator for operator, _ in choices_of(plan).pre_aggregations if choices.chance(0.7)]
    return tuple((operator, choices.one_of((0, 1, 2))) for operator in may)


def _rebalanced(choices: Stream, plan: TickPlan) -> tuple[tuple[str, int], ...]:
    """Draw how much of tables other workers than their readers process, for some of the tables."""
    tables = [table for table, _ in choices_of(plan).rebalanced if choices.chance(0.7)]
    return tuple((table, choices.one_of((0, 50, 100))) for table in tables)


def _lingers(choices: Stream, plan: TickPlan) -> tuple[tuple[str, int], ...]:
    """Draw for how long readers wait between two small chunks, for some of the tables."""
    tables = [table for table, _ in choices_of(plan).lingers if choices.chance(0.7)]
    return tuple((table, choices.one_of((0, 1, 10, 200))) for table in tables)


def _draw_groups(
    choices: Stream, groups: tuple[tuple[int, ...], ...]
) -> tuple[tuple[int, ...], ...]:
    """Draw an order of the same conjuncts, all in one filter or each in its own."""
    left = [number for group in groups for number in group]
    drawn = [left.pop(choices.below(len(left))) for _ in range(len(left))]
    return tuple((number,) for number in drawn) if choices.chance(0.5) else (tuple(drawn),)


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
