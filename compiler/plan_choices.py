"""The parts of a tick plan that a tick may change in addition to owners.

They are the policies of folds, the order of filters, which folds get rows of hot keys pre-aggregated, which
folds are replicated, how much of a table other workers process than those that read it, and for how long
readers wait for more rows.

Contract.  Any choices that `fault_of_choices` accepts give a plan that releases the same bytes, and has the
same stages, operators, exchanges, ports and state.

A **filter run** is a longest chain of filters in one stage that cannot fail, where only the next filter reads
what one leaves.  Its filters are a conjunction, which may be evaluated in any order: all conjuncts in one
filter, or in several filters, of which each sees the rows that those before it have kept.  Conjuncts are
numbered in the order of their canonical forms, and runs in the order of their first filters: so numbers do
not depend on the choices that are in force.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.evaluate import fallible
from fsql.compiler.graph import CombineJoin, Select
from fsql.compiler.logical import TimeKind
from fsql.compiler.pre_aggregation import may_pre_aggregate, pre_aggregations_of
from fsql.compiler.records import dataclass
from fsql.compiler.rules.conjuncts import conjunction, conjuncts
from fsql.compiler.serialize import ID_DIGITS, canonical_bytes, digest
from fsql.compiler.tick_plan import (
    HEAD,
    FoldHead,
    Placement,
    Policy,
    Send,
    SourceHead,
    Stage,
    Step,
    TickPlan,
    ToFold,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.compiler.expression import Expression


@dataclass(frozen=True, slots=True)
class FilterOrder:
    """How filter run number `run` of a stage is evaluated: a filter for each group of conjuncts, in order."""

    stage: int
    run: int
    groups: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class PlanChoices:
    """The choices; those that are left out stay as they are.

    `policies` are those of folds, by operator id, and `filters` the order of filters.  `pre_aggregations`
    has for folds the number of rows of a key in a batch from which they are pre-aggregated, 0 for never.
    `rebalanced` has for tables, by name, the percentage of rows that the worker of a front sends to other
    workers before the first stage, and `lingers` for how many milliseconds it waits between two small chunks.
    `replicated` has for folds whether they are replicated.
    """

    policies: tuple[tuple[str, Policy], ...] = ()
    filters: tuple[FilterOrder, ...] = ()
    pre_aggregations: tuple[tuple[str, int], ...] = ()
    rebalanced: tuple[tuple[str, int], ...] = ()
    lingers: tuple[tuple[str, int], ...] = ()
    replicated: tuple[tuple[str, bool], ...] = ()


NO_CHOICES = PlanChoices()

LINGER_MS_MAX: Final = 1_000
"""The maximum linger of a table in milliseconds."""

CONDITION: Final = "#"
"""Separates the filter run and the number of the conjunct in the name of a condition."""

PAIR: Final = "&"
"""Separates the name of the first condition and the number of the second in the name of a pair."""


@dataclass(frozen=True, slots=True)
class FilterRun:
    """A filter run: its steps from the first to the last, and its conjuncts by number."""

    steps: tuple[int, ...]
    conjuncts: tuple[Expression, ...]


def filter_runs(stage: Stage) -> list[FilterRun]:
    """Return the filter runs of a stage that have several conjuncts."""
    readers = Counter([*(step.input for step in stage.steps), *(send.step for send in stage.sends)])
    chains: dict[int, list[int]] = {}
    for index, step in enumerate(stage.steps):
        if _predicate(step) is not None:
            follows = readers[step.input] == 1 and step.input in chains
            chain = chains.pop(step.input) if follows else []
            chains[index] = [*chain, index]
    runs = []
    for chain in sorted(chains.values()):
        found = [each for index in chain for each in conjuncts(_predicate_of(stage, index))]
        if len(found) > 1:
            runs.append(FilterRun(tuple(chain), tuple(sorted(found, key=canonical_bytes))))
    return runs


def condition_names(stage: Stage, index: int) -> list[str]:
    """Return the names by which the conjuncts of a filter run are measured, by number.

    They determine what the run computes, so they do not depend on the choices that are in force.
    """
    found = filter_runs(stage)[index].conjuncts
    run = f"filter-{digest(conjunction(found))[:ID_DIGITS]}"
    return [f"{run}{CONDITION}{number}" for number in range(len(found))]


def pair_name(first: str, second: int) -> str:
    """Return the name by which condition `second` is measured where a condition, given by name, is true."""
    return f"{first}{PAIR}{second}"


def choices_of(plan: TickPlan) -> PlanChoices:
    """Return all choices of a plan."""
    return PlanChoices(
        tuple((head.operator, head.policy) for head in _folds(plan)),
        tuple(
            FilterOrder(number, index, _groups(stage, run))
            for number, stage in enumerate(plan.stages)
            for index, run in enumerate(filter_runs(stage))
        ),
        tuple(sorted(pre_aggregations_of(plan).items())),
        tuple(sorted((head.table.name, head.rebalanced) for head in _sources(plan))),
        tuple(
            sorted((head.table.name, head.linger_ms) for head in _sources(plan) if may_linger(head))
        ),
        tuple(
            (head.operator, head.operator in plan.replicated)
            for head in _folds(plan)
            if may_replicate(head)
        ),
    )


def fault_of_choices(plan: TickPlan, choices: PlanChoices) -> str:
    """Return why a plan cannot have these choices, "" if it can."""
    folds = {head.operator for head in _folds(plan)}
    operators = [operator for operator, _ in choices.policies]
    for operator in operators:
        if operator not in folds:
            return f"the plan has no fold {operator}"
    if len(set(operators)) < len(operators):
        return "a fold has two policies"
    indexes = [(order.stage, order.run) for order in choices.filters]
    if len(set(indexes)) < len(indexes):
        return "a filter run has two orders"
    for order in choices.filters:
        has_stage = 0 <= order.stage < len(plan.stages)
        runs = filter_runs(plan.stages[order.stage]) if has_stage else []
        if not 0 <= order.run < len(runs):
            return f"stage {order.stage} has no filter run {order.run}"
        given = sorted(number for group in order.groups for number in group)
        if not all(order.groups) or given != list(range(len(runs[order.run].conjuncts))):
            return f"the filters of stage {order.stage} do not have each conjunct once"
    return (
        _fault_of_pre_aggregations(plan, choices)
        or _fault_of_replicas(plan, choices)
        or _fault_of_tables(plan, choices)
    )


def _fault_of_pre_aggregations(plan: TickPlan, choices: PlanChoices) -> str:
    may = pre_aggregations_of(plan)
    for operator, least in choices.pre_aggregations:
        if operator not in may:
            return f"rows for {operator} cannot be pre-aggregated"
        if least < 0:
            return f"rows for {operator} cannot be pre-aggregated from {least} rows on"
    if len({operator for operator, _ in choices.pre_aggregations}) < len(choices.pre_aggregations):
        return "a fold has two pre-aggregations"
    return ""


def may_replicate(head: FoldHead) -> bool:
    """Return whether a fold may be replicated.

    Its left rows make rows and are not kept, so that they may be on any worker that has the right side; and
    changes of the right side make none, so that no row is made twice.
    """
    return isinstance(head.combine, CombineJoin) and head.combine.once


def _fault_of_replicas(plan: TickPlan, choices: PlanChoices) -> str:
    may = {head.operator for head in _folds(plan) if may_replicate(head)}
    for operator, _ in choices.replicated:
        if operator not in may:
            return f"the fold {operator} cannot be replicated"
    if len({operator for operator, _ in choices.replicated}) < len(choices.replicated):
        return "a fold is replicated twice"
    return ""


def speculative_folds_behind(plan: TickPlan, table: str) -> list[str]:
    """Return the speculative folds that rows of a table, or what is made of them, come to."""
    return [
        head.operator for head in folds_behind(plan, table) if head.policy is Policy.SPECULATIVE
    ]


def folds_behind(plan: TickPlan, table: str) -> list[FoldHead]:
    """Return the folds that rows of a table, or what is made of them, come to."""
    reached: set[int] = set()
    for number, stage in enumerate(plan.stages):
        head = stage.head
        if number in reached or (isinstance(head, SourceHead) and head.table.name == table):
            reached |= {send.to.stage for send in stage.sends if isinstance(send.to, ToFold)}
    heads = [plan.stages[number].head for number in sorted(reached)]
    return [head for head in heads if isinstance(head, FoldHead)]


def _fault_of_tables(plan: TickPlan, choices: PlanChoices) -> str:
    tables = {head.table.name for head in _sources(plan)}
    for table, _ in (*choices.rebalanced, *choices.lingers):
        if table not in tables:
            return f"the plan does not read a table {table}"
    for table, percent in choices.rebalanced:
        if not 0 <= percent <= 100:
            return f"{percent} percent of the rows of {table} cannot be rebalanced"
    if len({table for table, _ in choices.rebalanced}) < len(choices.rebalanced):
        return "a table is rebalanced twice"
    return _fault_of_lingers(plan, choices)


def may_linger(head: SourceHead) -> bool:
    """Return whether a reader that waits gets larger chunks.

    Rows that have arrived at different times are in different chunks, so the reader would only be slower.
    """
    return head.table.time is not TimeKind.ARRIVAL


def _fault_of_lingers(plan: TickPlan, choices: PlanChoices) -> str:
    may = {head.table.name for head in _sources(plan) if may_linger(head)}
    for table, milliseconds in choices.lingers:
        if table not in may:
            return f"{table} cannot have a linger: its rows have the times of their arrival"
        if not 0 <= milliseconds <= LINGER_MS_MAX:
            return f"{table} cannot have a linger of {milliseconds} ms; the maximum is {LINGER_MS_MAX:,} ms"
    if len({table for table, _ in choices.lingers}) < len(choices.lingers):
        return "a table has two lingers"
    return ""


def with_choices(plan: TickPlan, choices: PlanChoices) -> TickPlan:
    """Return the plan with these choices, which must be valid for it."""
    policies, least_rows = dict(choices.policies), dict(choices.pre_aggregations)
    rebalanced, lingers = dict(choices.rebalanced), dict(choices.lingers)
    replicated = dict(choices.replicated)
    stages = []
    for number, stage in enumerate(plan.stages):
        orders = {each.run: each.groups for each in choices.filters if each.stage == number}
        if orders:
            stage = _with_filters(stage, orders)  # noqa: PLW2901 - the same stage
        head = stage.head
        if isinstance(head, FoldHead) and head.operator in policies:
            stage = replace(stage, head=replace(head, policy=policies[head.operator]))  # noqa: PLW2901
        elif isinstance(head, SourceHead) and (rebalanced or lingers):
            percent = rebalanced.get(head.table.name, head.rebalanced)
            linger_ms = lingers.get(head.table.name, head.linger_ms)
            head = replace(head, rebalanced=percent, linger_ms=linger_ms)
            stage = replace(stage, head=head)  # noqa: PLW2901
        sends = tuple(_with_pre_aggregation(plan, stage, each, least_rows) for each in stage.sends)
        sends = tuple(_with_placement(plan, each, replicated) for each in sends)
        stages.append(stage if sends == stage.sends else replace(stage, sends=sends))
    return replace(plan, stages=tuple(stages))


def _with_pre_aggregation(
    plan: TickPlan, stage: Stage, send: Send, least_rows: dict[str, int]
) -> Send:
    """Return a send with its choice, if it is given one."""
    if not least_rows or not may_pre_aggregate(plan, stage, send):
        return send
    assert isinstance(send.to, ToFold)
    head = plan.stages[send.to.stage].head
    assert isinstance(head, FoldHead)
    least = least_rows.get(head.operator, send.to.pre_aggregates)
    return replace(send, to=replace(send.to, pre_aggregates=least))


def _with_placement(plan: TickPlan, send: Send, replicated: dict[str, bool]) -> Send:
    """Return a send into a fold that is given a choice to be replicated, or not to be."""
    to = send.to
    operator = plan.exchanges[to.stage] if replicated and isinstance(to, ToFold) else ""
    if operator not in replicated:
        return send
    assert isinstance(to, ToFold)
    placement = Placement.EVERY if to.side else Placement.HERE
    placement = placement if replicated[operator] else Placement.OWNER
    return replace(send, to=replace(to, placement=placement))


def _with_filters(stage: Stage, orders: dict[int, tuple[tuple[int, ...], ...]]) -> Stage:
    """Return the stage with some of its filter runs in other orders."""
    runs = {run.steps[0]: (index, run) for index, run in enumerate(filter_runs(stage))}
    indexes = {HEAD: HEAD}
    steps: list[Step] = []
    dropped: set[int] = set()
    for index, step in enumerate(stage.steps):
        if index in dropped:
            continue
        run_index, run = runs.get(index, (HEAD, None))
        if run is None or run_index not in orders:
            steps.append(replace(step, input=indexes[step.input]))
            indexes[index] = len(steps) - 1
            continue
        below = indexes[step.input]
        for group in orders[run_index]:
            predicate = conjunction([run.conjuncts[number] for number in group])
            steps.append(replace(step, function=Select(predicate), input=below))
            below = len(steps) - 1
        dropped.update(run.steps)
        indexes[run.steps[-1]] = below
    sends = tuple(Send(indexes[send.step], send.to) for send in stage.sends)
    return Stage(stage.head, tuple(steps), sends)


def _groups(stage: Stage, run: FilterRun) -> tuple[tuple[int, ...], ...]:
    """Return the numbers of the conjuncts in each filter of a run."""
    left = list(enumerate(run.conjuncts))
    groups = []
    for index in run.steps:
        group = []
        for conjunct in conjuncts(_predicate_of(stage, index)):
            found = next(each for each in left if each[1] is conjunct)
            left.remove(found)
            group.append(found[0])
        groups.append(tuple(group))
    return tuple(groups)


def _predicate(step: Step) -> Expression | None:
    """Return the predicate of a filter that cannot fail, None for other steps."""
    function = step.function
    if not isinstance(function, Select) or fallible(function.predicate):
        return None
    return function.predicate


def _predicate_of(stage: Stage, index: int) -> Expression:
    predicate = _predicate(stage.steps[index])
    assert predicate is not None
    return predicate


def _sources(plan: TickPlan) -> Iterator[SourceHead]:
    for stage in plan.stages:
        if isinstance(stage.head, SourceHead):
            yield stage.head


def _folds(plan: TickPlan) -> Iterator[FoldHead]:
    for stage in plan.stages:
        if isinstance(stage.head, FoldHead):
            yield stage.head
