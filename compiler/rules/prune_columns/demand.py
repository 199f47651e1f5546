"""An analysis: which columns of each operator are used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler import logical
from fsql.compiler.expression import Expression
from fsql.compiler.logical import append_only, may_tie, operators
from fsql.compiler.node import children
from fsql.compiler.records import dataclass
from fsql.compiler.rules.columns import columns_of
from fsql.compiler.rules.failures import aggregate_fallible, failing_expressions
from fsql.compiler.sqltypes import TEXTUAL, Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler.expression import AggregateCall

LATE_OUTPUT: Final = "late_path"
"""The option of a sink by which the late rows of its query's windows are written."""

Columns = frozenset[int]
Aggregating = logical.LateralAggregate | logical.Aggregate | logical.WindowAggregate | logical.Over


@dataclass(frozen=True, slots=True)
class Demand:
    """The used columns: `of` has those of each operator that its readers use.

    The late rows of `written_windows` are written somewhere, with all their columns.
    """

    of: Mapping[logical.Plan, Columns]
    written_windows: frozenset[logical.Plan]

    def from_inputs(self, plan: logical.Plan) -> tuple[Columns, ...]:
        """Return what `plan` uses of each of its inputs."""
        return _demands(plan, self.of[plan], late_rows=plan in self.written_windows)


def demanded_columns(job: logical.Job) -> Demand:
    """Return which columns of the operators of `job` are used."""
    found: dict[logical.Plan, Columns] = {}
    order: dict[logical.Plan, None] = {}
    written: set[logical.Plan] = set()
    for insert in job.inserts:
        found[insert.query] = all_columns(insert.query)
        order.update(dict.fromkeys(operators(insert.query)))
        if LATE_OUTPUT in dict(insert.sink.options):
            written.update(operators(insert.query))
    demand = Demand(found, frozenset(written))
    # Inputs precede their readers, so in reverse order all readers are handled before their inputs.
    for plan in reversed(order):
        for below, columns in zip(plan.inputs, demand.from_inputs(plan), strict=True):
            found[below] = found.get(below, frozenset()) | columns
    return demand


def columns_read(job: logical.Job) -> dict[str, frozenset[str]]:
    """Return the used columns of the tables of a job, by the names of both.

    For a job before the rules, this is part of the meaning of the script: a malformed value makes a row
    malformed only if its column is read.
    """
    demand = demanded_columns(job)
    read: dict[str, frozenset[str]] = {}
    for plan, columns in demand.of.items():
        if isinstance(plan, logical.Scan):
            table, schema = plan.table, plan.schema
            used = columns if table.event_time is None else columns | columns_of(table.event_time)
            names = frozenset(schema[i].name for i in used)
            read[table.name] = read.get(table.name, frozenset()) | names
    return read


def all_columns(plan: logical.Plan) -> Columns:
    """Return all columns of `plan`."""
    return frozenset(range(len(plan.schema)))


def _demands(plan: logical.Plan, wanted: Columns, *, late_rows: bool) -> tuple[Columns, ...]:
    """Return what `plan` uses of each of its inputs if `wanted` is used of it."""
    match plan:
        case logical.Scan():
            return ()
        case logical.Union(branches=branches):
            return (wanted,) * len(branches)
        case logical.Join():
            return _join_demands(plan, wanted)
        case _:
            (below,) = plan.inputs
            if _depends_on_all_columns(plan, late_rows=late_rows):
                return (all_columns(below),)
            columns = _row_demands(plan, wanted) & all_columns(below)
            return (columns or frozenset((_narrowest(below),)),)


def kept_expressions(plan: logical.Project, wanted: Columns) -> list[int]:
    """Return which expressions are kept: those that are wanted, and those that can fail."""
    return sorted(wanted.union(failing_expressions(plan)))


def kept_values(plan: logical.ApplyChanges, wanted: Columns) -> list[int]:
    """Return which values are kept: those that are wanted, and those by which rows are compared."""
    first = len(plan.keys)
    return [i for i in range(len(plan.values)) if first + i in wanted or i in plan.compared]


def kept_aggregates(plan: Aggregating, wanted: Columns) -> list[int]:
    """Return which aggregates are kept: those that are wanted, and those that can fail."""
    calls = aggregates(plan)
    first = len(plan.schema) - len(calls)
    return [i for i, call in enumerate(calls) if first + i in wanted or aggregate_fallible(call)]


def aggregates(plan: Aggregating) -> tuple[AggregateCall, ...]:
    """Return the aggregate calls of `plan`, whose results are the last of its columns."""
    if isinstance(plan, logical.Over):
        return tuple(call.aggregate for call in plan.calls)
    return plan.aggregates


def _depends_on_all_columns(plan: logical.Plan, *, late_rows: bool) -> bool:
    """Return whether the result of `plan` depends on columns of the input that it does not refer to.

    Changes are added up, and rows that share a position are ordered, by all columns.  Late rows are written
    with all columns; and if rows are retracted, a change of any column causes more late rows, which are
    counted.
    """
    match plan:
        case logical.Over(input=below):
            return may_tie(below)
        case logical.Rank(input=below):
            tied = not append_only(below) or may_tie(below)
            return tied or (late_rows and plan.window_end is not None)
        case logical.WindowAggregate(input=below):
            return (late_rows and not plan.counted_below) or not append_only(below)
        case logical.AssignSessions() | logical.CountLateRows():
            return late_rows
        case logical.ToChangelog():
            return True
        case _:
            return False


def _row_demands(plan: logical.Plan, wanted: Columns) -> Columns:
    """Return the columns that an operator uses of its only input.

    Columns after those of the input are its own.
    """
    match plan:
        case logical.Project(expressions=expressions):
            return columns_of(*(expressions[i] for i in kept_expressions(plan, wanted)))
        case (
            logical.AssignWindows(time_column=time)
            | logical.AssignExpiry(time_column=time)
            | logical.CountLateRows(time_column=time)
        ):
            return wanted | {time}
        case logical.ApplyChanges(keys=keys, present=present, unavailable=unavailable, whole=whole):
            others = tuple(each for each in (unavailable, whole) if each is not None)
            values = (plan.values[i] for i in kept_values(plan, wanted))
            return columns_of(*keys, present, *others, *values)
        case logical.AssignSessions(time_column=time, end_column=end, order_column=order):
            ordered = frozenset() if order is None else frozenset({order})
            return columns_of(*plan.partition) | wanted | {time, end} | ordered
        case _:
            return _expression_demands(plan, wanted)


def _expression_demands(plan: logical.Plan, wanted: Columns) -> Columns:
    used = columns_of(*(part for part in children(plan) if isinstance(part, Expression)))
    if isinstance(plan, logical.Rank):
        used |= columns_of(*(key.expression for key in plan.order))
        used |= frozenset() if plan.window_end is None else {plan.window_end}
    if isinstance(plan, Aggregating):
        calls = aggregates(plan)
        kept = (calls[i] for i in kept_aggregates(plan, wanted))
        used |= columns_of(*(argument for call in kept for argument in call.arguments))
    if isinstance(plan, logical.Over):
        used |= columns_of(*(call.time for call in plan.calls))
    match plan:
        case logical.Aggregate():
            return used
        case logical.WindowAggregate(window_end=end):
            return used | {end}
        case _:
            return used | wanted


def _join_demands(plan: logical.Join, wanted: Columns) -> tuple[Columns, Columns]:
    width = len(plan.left.schema)
    bound = plan.time_range
    if plan.condition is not None:
        wanted |= columns_of(plan.condition)
    left = {i for i in wanted if i < width} | columns_of(*plan.left_keys)
    right = {i - width for i in wanted if i >= width} | columns_of(*plan.right_keys)
    if bound is not None:
        left |= {bound.left_time}
        right |= {bound.right_time}
    return (
        frozenset(left or {_narrowest(plan.left)}),
        frozenset(right or {_narrowest(plan.right)}),
    )


def _narrowest(plan: logical.Plan) -> int:
    """Return a column that is cheap to keep."""
    wide = (*TEXTUAL, Kind.ARRAY, Kind.MAP)
    return min(range(len(plan.schema)), key=lambda i: (plan.schema[i].type.kind in wide, i))
