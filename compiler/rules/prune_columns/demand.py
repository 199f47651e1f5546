"""An analysis: which columns of each operator are made use of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler import logical
from fsql.compiler.expression import Expression
from fsql.compiler.functions.evaluate import fallible
from fsql.compiler.logical import append_only, may_tie, operators
from fsql.compiler.node import children
from fsql.compiler.rules.columns import columns_of
from fsql.compiler.rules.failures import aggregate_fallible
from fsql.compiler.sqltypes import Kind

if TYPE_CHECKING:
    from fsql.compiler.expression import AggregateCall

Columns = frozenset[int]


def demanded_columns(job: logical.Job) -> dict[logical.Plan, Columns]:
    """Return, for each operator of `job`, the output columns that its readers make use of."""
    found: dict[logical.Plan, Columns] = {}
    order: dict[logical.Plan, None] = {}
    for insert in job.inserts:
        found[insert.query] = everything(insert.query)
        order.update(dict.fromkeys(operators(insert.query)))
    # Inputs come before their readers, so backwards every reader has spoken before its inputs' turn.
    for plan in reversed(order):
        for below, columns in zip(plan.inputs, demands(plan, found[plan]), strict=True):
            found[below] = found.get(below, frozenset()) | columns
    return found


def everything(plan: logical.Plan) -> Columns:
    """Return all columns of `plan`."""
    return frozenset(range(len(plan.schema)))


def demands(plan: logical.Plan, wanted: Columns) -> tuple[Columns, ...]:
    """Return what `plan` makes use of in each of its inputs, where `wanted` is made use of in it."""
    match plan:
        case logical.Scan():
            return ()
        case logical.Union(branches=branches):
            return (wanted,) * len(branches)
        case logical.Join():
            return _join_demands(plan, wanted)
        case _:
            (below,) = plan.inputs
            columns = _row_demands(plan, wanted) & everything(below)
            return (columns or frozenset((_narrowest(below),)),)


def kept_expressions(plan: logical.Project, wanted: Columns) -> list[int]:
    """Return which expressions stay: those that are wanted, and those that can fail."""
    return [i for i, each in enumerate(plan.expressions) if i in wanted or fallible(each)]


def kept_aggregates(
    plan: logical.LateralAggregate | logical.Aggregate | logical.WindowAggregate | logical.Over,
    wanted: Columns,
) -> list[int]:
    """Return which aggregates stay: those that are wanted, and those that can fail."""
    calls = aggregates(plan)
    first = len(plan.schema) - len(calls)
    return [i for i, call in enumerate(calls) if first + i in wanted or aggregate_fallible(call)]


def aggregates(
    plan: logical.LateralAggregate | logical.Aggregate | logical.WindowAggregate | logical.Over,
) -> tuple[AggregateCall, ...]:
    """Return the aggregate calls of `plan`, whose results are the last of its columns."""
    if isinstance(plan, logical.Over):
        return tuple(call.aggregate for call in plan.calls)
    return plan.aggregates


def _row_demands(plan: logical.Plan, wanted: Columns) -> Columns:
    """Return what an operator with one input makes use of.

    Columns behind those of the input are its own.
    """
    match plan:
        case logical.WindowAggregate(input=below):
            return everything(below)
        case logical.Over(input=below) if may_tie(below):
            return everything(below)
        case logical.Project(expressions=expressions):
            return columns_of(*(expressions[i] for i in kept_expressions(plan, wanted)))
        case logical.AssignWindows(time_column=time):
            return wanted | {time}
        case _:
            return _expression_demands(plan, wanted)


def _expression_demands(plan: logical.Plan, wanted: Columns) -> Columns:
    used = columns_of(*(part for part in children(plan) if isinstance(part, Expression)))
    if isinstance(plan, logical.LateralAggregate | logical.Aggregate | logical.Over):
        calls = aggregates(plan)
        used |= columns_of(*(calls[i].argument for i in kept_aggregates(plan, wanted)))
    return used if isinstance(plan, logical.Aggregate) else used | wanted


def _join_demands(plan: logical.Join, wanted: Columns) -> tuple[Columns, Columns]:
    width = len(plan.left.schema)
    bound = plan.time_range
    left = {i for i in wanted if i < width} | columns_of(*plan.left_keys)
    right = {i - width for i in wanted if i >= width} | columns_of(*plan.right_keys)
    if bound is not None:
        left |= {bound.left_time}
        right |= {bound.right_time}
    return _side_demand(plan, plan.left, left), _side_demand(plan, plan.right, right)


def _side_demand(plan: logical.Join, side: logical.Plan, columns: set[int]) -> Columns:
    """Return what a join makes use of in a side: rows that share a position pair in their own order."""
    if append_only(plan) and may_tie(side):
        return everything(side)
    return frozenset(columns or {_narrowest(side)})


def _narrowest(plan: logical.Plan) -> int:
    """Return a column that costs little to carry along."""
    wide = (Kind.STRING, Kind.ARRAY)
    return min(range(len(plan.schema)), key=lambda i: (plan.schema[i].type.kind in wide, i))
