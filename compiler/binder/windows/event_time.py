"""The event-time column of a window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.analysis.properties import Bound, window_columns
from fsql.compiler.binder.ddl.declared_functions import NO_FUNCTIONS
from fsql.compiler.binder.expressions.expression import ExpressionBinder
from fsql.compiler.binder.expressions.pseudo_columns import row_time_field
from fsql.compiler.binder.report import Refusal, refusal
from fsql.compiler.binder.scope import Field
from fsql.compiler.expression import ColumnRef, Literal
from fsql.compiler.functions.calls import call
from fsql.compiler.logical import (
    Aggregate,
    ApplyChanges,
    Filter,
    Join,
    JoinKind,
    Over,
    OverCall,
    Plan,
    Project,
    Rank,
    RankFunction,
    Scan,
    TimeKind,
    ToChangelog,
    Union,
    WindowAggregate,
    append_only,
    operators,
)
from fsql.compiler.planner.rows import column_refs, filter_relation, project
from fsql.compiler.row_pattern import decision_us
from fsql.compiler.sqltypes import Kind
from fsql.compiler.syntax.names import generated_name

if TYPE_CHECKING:
    from fsql.compiler.binder.relation import Relation
    from fsql.compiler.bound.source_spans import SourceSpans


LATEST_TIME: Final = generated_name("latest_time")
"""The name of the hidden column with the greatest of several event times."""
KNOWN_TIME: Final = "known_time"
"""The name of the hidden column with a time that is not NULL."""


def window_time(
    relation: Relation,
    written: syntax.ColumnReference | syntax.EventTime,
    source_spans: SourceSpans,
    *,
    of_changes: bool = False,
) -> tuple[Relation, Field]:
    """Return the relation with the event-time column over which a window is defined.

    A window that names none is over the greatest event time of a pair, which is a column more.  With
    `of_changes`, windows of tables that change may be over any time; rows without one have no window.

    Raises:
        Refusal: E203, E204, E304.
    """
    if isinstance(written, syntax.EventTime):
        relation, latest = with_latest_time(relation)
        if latest is not None:
            return relation, latest
    elif of_changes and _is_table_of_changes(relation.plan):
        time = ExpressionBinder(
            relation.scope, "a window", source_spans, NO_FUNCTIONS, "UTC"
        ).column(written)
        if time.column.type.kind is Kind.TIMESTAMP:
            return _with_known_time(relation, time)
    return relation, event_time_field(relation, written, source_spans)


def _is_table_of_changes(plan: Plan) -> bool:
    """Return whether rows are those of tables of changes or of groups.

    After joins and ranks there are ways to keep event time, which errors name.
    """
    lose_time = [node for node in operators(plan) if _reason(node) is not None]
    kinds = ApplyChanges | Aggregate | WindowAggregate
    return not append_only(plan) and all(isinstance(node, kinds) for node in lose_time)


def _with_known_time(relation: Relation, time: Field) -> tuple[Relation, Field]:
    """Return the rows that have a time, and the column with it, which is never NULL."""
    if not time.column.nullable:
        return relation, time
    below = filter_relation(relation.plan, [call("is_not_null", time.expression)])
    never = Literal(time.column.type, nullable=False, value=0)
    names = [*(column.name for column in below.schema), KNOWN_TIME]
    known = call("coalesce", time.expression, never)
    made = project(below, [*column_refs(below), known], names)
    return relation.with_plan(made), Field(None, time.name, relation.width, made.schema[-1])


def with_latest_time(relation: Relation) -> tuple[Relation, Field | None]:
    """Return the relation with the greatest of its event times in a hidden column, if it has several."""
    times = [each for each in relation.fields if each.column.time_attribute]
    if len(times) < 2:
        return relation, None
    latest = call("greatest", *(each.expression for each in times))
    plan = relation.plan
    names = [*(column.name for column in plan.schema), LATEST_TIME]
    made = project(plan, [*column_refs(plan), latest], names)
    column = made.schema[-1]
    return relation.with_plan(made), Field(None, times[0].name, relation.width, column)


def event_time_field(
    relation: Relation,
    written: syntax.ColumnReference | syntax.EventTime,
    source_spans: SourceSpans,
) -> Field:
    """Return the event-time column over which a window is defined.

    Raises:
        Refusal: E203, E204, E304.
    """
    if isinstance(written, syntax.EventTime):
        return _only_event_time(relation, written)
    binder = ExpressionBinder(relation.scope, "a window", source_spans, NO_FUNCTIONS, "UTC")
    time = None
    if not binder.scope.find(written.parts[-1]):
        time = row_time_field(binder.scope, written)
    if time is None:
        time = binder.column(written)
    if not time.column.time_attribute:
        raise _not_event_time(relation, time, written)
    return time


def _only_event_time(relation: Relation, written: syntax.EventTime) -> Field:
    """Return the event-time column of a relation that has no several, for a window that names none.

    Raises:
        Refusal: E304 if there is none.
    """
    times = [field for field in relation.fields if field.column.time_attribute]
    if not times:
        lost = _event_time_reason(relation.plan)
        raise refusal(
            "E304",
            "FROM has no event time",
            written.span,
            note=lost,
            help="declare it in CREATE TABLE: WATERMARK FOR at AS at - INTERVAL '5' SECOND"
            if lost is None
            else _how_to_keep(relation.plan),
        )
    return times[0]


def _not_event_time(relation: Relation, time: Field, written: syntax.ColumnReference) -> Refusal:
    others = [field.name for field in relation.fields if field.column.time_attribute]
    lost = _event_time_reason(relation.plan)
    column = window_columns(relation.plan)[time.index]
    if column is not None and column.bound is Bound.START:
        help_text = (
            "a window has the times up to its end: select window_time, and use that"
            if not others
            else f"a window has the times up to its end: use {others[-1]}"
        )
    elif others:
        help_text = f"use the event-time column: {others[0]}"
    elif time.column.type.kind is not Kind.TIMESTAMP:
        help_text = "compute a TIMESTAMP in CREATE TABLE, and declare a WATERMARK for it"
    else:
        help_text = (
            "declare it in CREATE TABLE:"
            f" WATERMARK FOR {time.name} AS {time.name} - INTERVAL '5' SECOND"
        )
    return refusal(
        "E304",
        f'column "{time.name}" is not event time',
        written.span,
        f"this is {time.column.type} without a WATERMARK" if lost is None else "",
        note=lost,
        help=help_text if lost is None else _how_to_keep(relation.plan),
    )


def _event_time_reason(plan: Plan) -> str | None:
    """Return the note that names the operator after which event time is lost, if it is known."""
    if any(isinstance(node, ToChangelog) for node in operators(plan)):
        return "the changes of an updating query are not in the order of event time"
    reasons = map(_reason, operators(plan))
    return next((reason for reason in reasons if reason is not None), None)


def _reason(node: Plan) -> str | None:
    """Return the note about an operator, if event time is lost after it."""
    reason = None
    match node:
        case ApplyChanges():
            reason = "a change can retract a row of any age, so its rows are not in the order of event time"
        case Over(calls=calls) if any(map(_is_decided_late, calls)):
            reason = (
                "MATCH_ROWTIME() is event time if the time until a match is decided has a bound:"
                " PATTERN (…) WITHIN INTERVAL '1' HOUR"
            )
        case Aggregate() | WindowAggregate(final=False):
            reason = "the rows of an updating aggregate are not in the order of event time"
        case Rank(final=False):
            reason = "the ranks are updating: a later row may replace a row of any age"
        case Join(time_range=None, once=False):
            reason = "after a join without a time range, rows are not in the order of event time"
        case Union() if _loses_time(node):
            reason = "no column is event time in all rows: a FULL JOIN or UNION has rows of each side alone"
        case _:
            pass
    return reason


def _loses_time(union: Union) -> bool:
    """Return whether all branches have event time, but in different columns."""
    timed = [any(column.time_attribute for column in each.schema) for each in union.branches]
    return all(timed) and not any(column.time_attribute for column in union.schema)


def _how_to_keep(plan: Plan) -> str | None:
    """Return help for the changes, ranks or join after which event time is lost, if any is known."""
    if any(isinstance(node, ApplyChanges) for node in operators(plan)):
        return (
            "group by an expression of the time, such as FLOOR(at TO HOUR): its groups are updated"
        )
    ranks = [node for node in operators(plan) if isinstance(node, Rank) and not node.final]
    firsts = [node for node in ranks if _is_first_in_time(node)]
    if firsts:
        time = firsts[0].input.schema[_order_column(firsts[0])].name
        return (
            "number the rows in the order of event time, which releases each row once:"
            f" COUNT(*) OVER (PARTITION BY … ORDER BY {time} ROWS UNBOUNDED PRECEDING) = 1"
        )
    if ranks:
        return "rank the rows of windows: PARTITION BY window_start, window_end, …"
    if any(isinstance(node, Union) and _loses_time(node) for node in operators(plan)):
        return "write LEFT JOIN, which keeps that of the left side, or UNION ALL of the times in one column"
    return _join_in_time(plan)


def _is_first_in_time(rank: Rank) -> bool:
    """Return whether rows are numbered by event time, ascending."""
    column = _order_column(rank)
    return (
        rank.function is RankFunction.ROW_NUMBER
        and column >= 0
        and rank.input.schema[column].time_attribute
    )


def _order_column(rank: Rank) -> int:
    """Return the only column by which rows are ranked, ascending; -1 if there is no such column."""
    if len(rank.order) != 1 or rank.order[0].descending:
        return -1
    expression = rank.order[0].expression
    return expression.index if isinstance(expression, ColumnRef) else -1


def _join_in_time(plan: Plan) -> str | None:
    """Return help for the join after which event time is lost: one that keeps it, if any is known."""
    join = next(
        (n for n in operators(plan) if isinstance(n, Join) and n.time_range is None and not n.once),
        None,
    )
    if join is None:
        return None
    times, others = (
        [column.name for column in side.schema if column.time_attribute]
        for side in (join.left, join.right)
    )
    right = operators(join.right)
    scans = [node for node in right if isinstance(node, Scan)]
    if times and others:
        return (
            "limit the time between both sides in ON:"
            f" … AND b.{others[0]} BETWEEN a.{times[0]} AND a.{times[0]} + INTERVAL '1' HOUR"
        )
    plain = all(isinstance(node, Scan | Filter | Project) for node in right)
    if times and plain and all(each.table.time is TimeKind.OFFSET for each in scans):
        kind = "LEFT JOIN" if join.kind is JoinKind.LEFT else "JOIN"
        return (
            "join the row of a key at the time of each row, which keeps event time:"
            f" {kind} {scans[0].table.name} FOR SYSTEM_TIME AS OF a.{times[0]},"
            " with all columns of its PRIMARY KEY in ON"
        )
    return None


def _is_decided_late(call: OverCall) -> bool:
    """Return whether matches of a row pattern may be decided any time after their last row."""
    pattern = call.aggregate.pattern
    return pattern is not None and decision_us(pattern) is None
