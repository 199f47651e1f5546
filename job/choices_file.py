"""The choices of a job's plan in a file that a user edits.

The file has one JSON object: the digest of the job's logical plan, the policy of each fold, for each filter
run the conjuncts of each filter in the order of their evaluation, for each fold that may get pre-aggregated
rows, the number of rows of a key in a batch from which they are pre-aggregated, for each table the percentage
of its rows that its readers send to other workers before the first stage, and its linger, and for each join
that may be replicated whether it is.  Omitted choices are unchanged.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import msgspec

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.codes import CODES
from fsql.compiler.explain.choices import conjunct_texts, filter_texts
from fsql.compiler.plan_choices import (
    FilterOrder,
    PlanChoices,
    choices_of,
    fault_of_choices,
    speculative_folds_behind,
    with_choices,
)
from fsql.compiler.tick_plan import FoldHead, Policy
from fsql.job.compilation import compile_job
from fsql.job.description import plan_digest
from fsql.job.first_plan import with_first_plan
from fsql.job.small_file import read_small_file
from fsql.optimizer.choose import choose

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.compiler.tick_plan import TickPlan
    from fsql.job.compilation import Compiled
    from fsql.job.description import JobDescription

BYTES_MAX: Final = 1 << 20


class _Fold(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    stage: int
    operator: str
    policy: Policy


class _Filters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    stage: int
    run: int
    filters: tuple[tuple[str, ...], ...]


class _PreAggregation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    stage: int
    operator: str
    least_rows: int


class _Rebalanced(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    table: str
    percent: int


class _Replica(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    stage: int
    operator: str
    on_all_workers: bool


class _Linger(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    table: str
    milliseconds: int


class ChoicesFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of a file; see above."""

    plan: str
    folds: tuple[_Fold, ...] = ()
    filters: tuple[_Filters, ...] = ()
    pre_aggregations: tuple[_PreAggregation, ...] = ()
    rebalanced: tuple[_Rebalanced, ...] = ()
    lingers: tuple[_Linger, ...] = ()
    replicas: tuple[_Replica, ...] = ()


def plan_of(job: JobDescription, choices: PlanChoices) -> TickPlan:
    """Return the tick plan of a job with these choices, or the optimizer's if they do not fit the plan.

    Raises:
        FsqlError: if the script does not compile; E623, if it compiles to another plan.
    """
    _, plan = compile_and_plan(job)
    return plan if fault_of_choices(plan, choices) else with_choices(plan, choices)


def compile_and_plan(job: JobDescription) -> tuple[Compiled, TickPlan]:
    """Return the script of a job compiled, and the plan with which the job was started.

    Its sources are not opened.

    Raises:
        FsqlError: if the script does not compile; E623, if it compiles to another plan.
    """
    compiled = compile_job(job.script())
    if plan_digest(compiled) != job.plan:
        message = "this version of fsql compiles the script to another plan"
        raise FsqlError([Diagnostic("E623", message, helps=(CODES["E623"].fix,))])
    fronts = {ordinal: len(names) for ordinal, names in job.splits.items()}
    policy = job.options().policy
    plan = choose(compiled.graph, workers=job.workers, fronts=fronts, policy=policy)
    return compiled, with_first_plan(plan, job.plan, job.first)


def choices_file_of(job: JobDescription, plan: TickPlan) -> ChoicesFile:
    """Return the choices of a job's plan."""
    folds = [
        _Fold(number, stage.head.operator, stage.head.policy)
        for number, stage in enumerate(plan.stages)
        if isinstance(stage.head, FoldHead)
    ]
    filters = [
        _Filters(order.stage, order.run, filter_texts(plan, order))
        for order in choices_of(plan).filters
    ]
    least_rows = dict(choices_of(plan).pre_aggregations)
    pre_aggregations = [
        _PreAggregation(fold.stage, fold.operator, least_rows[fold.operator])
        for fold in folds
        if fold.operator in least_rows
    ]
    rebalanced = tuple(_Rebalanced(*each) for each in choices_of(plan).rebalanced)
    lingers = tuple(_Linger(*each) for each in choices_of(plan).lingers)
    of_folds = tuple(folds), tuple(filters), tuple(pre_aggregations)
    copied = dict(choices_of(plan).replicated)
    replicas = tuple(
        _Replica(fold.stage, fold.operator, copied[fold.operator])
        for fold in folds
        if fold.operator in copied
    )
    return ChoicesFile(job.plan, *of_folds, rebalanced, lingers, replicas)


def file_text(file: ChoicesFile) -> str:
    """Return the text of a file."""
    return json.dumps(msgspec.to_builtins(file), indent=2, ensure_ascii=False) + "\n"


def read_choices(path: Path, job: JobDescription, plan: TickPlan) -> PlanChoices:
    """Return the choices in a file, for the plan of a job.

    Raises:
        FsqlError: E654, if it cannot be read, or is not valid for the plan.
    """
    data = read_small_file(path, BYTES_MAX, _invalid)
    try:
        found = msgspec.json.decode(data, type=ChoicesFile)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise _invalid(f'"{path}": {error}') from None
    if found.plan != job.plan:
        raise _invalid(f'"{path}" was written for another plan than the job has')
    for fold in found.folds:
        _check_fold(fold.stage, fold.operator, plan, path)
    for each in found.pre_aggregations:
        _check_fold(each.stage, each.operator, plan, path)
    for replica in found.replicas:
        _check_fold(replica.stage, replica.operator, plan, path)
    policies = tuple((fold.operator, fold.policy) for fold in found.folds)
    orders = tuple(_order(filters, plan, path) for filters in found.filters)
    least_rows = tuple((fold.operator, fold.least_rows) for fold in found.pre_aggregations)
    rebalanced = tuple((each.table, each.percent) for each in found.rebalanced)
    lingers = tuple((each.table, each.milliseconds) for each in found.lingers)
    replicas = tuple((each.operator, each.on_all_workers) for each in found.replicas)
    choices = PlanChoices(policies, orders, least_rows, rebalanced, lingers, replicas)
    wrong = fault_of_choices(plan, choices)
    if wrong:
        raise _invalid(f'"{path}": {wrong}')
    after = with_choices(plan, choices)
    for table, percent in choices_of(after).rebalanced:
        for operator in speculative_folds_behind(after, table) if percent else ():
            wrong = f"rows of {table} can be rebalanced only if the fold {operator} is ordered"
            raise _invalid(f'"{path}": {wrong}')
    return choices


def _check_fold(stage: int, operator: str, plan: TickPlan, path: Path) -> None:
    head = plan.stages[stage].head if 0 <= stage < len(plan.stages) else None
    if not isinstance(head, FoldHead) or head.operator != operator:
        raise _invalid(f'"{path}": stage {stage} is not the fold {operator}')


def _order(given: _Filters, plan: TickPlan, path: Path) -> FilterOrder:
    """Return the order in which a file has the conjuncts of a filter run."""
    where = f'"{path}", stage {given.stage}, run {given.run}'
    runs = {(order.stage, order.run) for order in choices_of(plan).filters}
    if (given.stage, given.run) not in runs:
        raise _invalid(f"{where}: the plan has no such filters")
    left = list(enumerate(conjunct_texts(plan, given.stage, given.run)))
    groups = []
    for texts in given.filters:
        if not texts:
            raise _invalid(f"{where}: a filter has no condition")
        group = []
        for text in texts:
            found = next((each for each in left if each[1] == text), None)
            if found is None:
                raise _invalid(f"{where}: the filters do not have the condition {text}")
            left.remove(found)
            group.append(found[0])
        groups.append(tuple(group))
    if left:
        raise _invalid(f"{where}: the condition {left[0][1]} is missing")
    return FilterOrder(given.stage, given.run, tuple(groups))


def _invalid(reason: str) -> FsqlError:
    return FsqlError([Diagnostic("E654", reason, helps=(CODES["E654"].fix,))])
