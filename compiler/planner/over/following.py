"""Frames that have rows after each row: `LEAD(x)`, `ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING`.

Such a row is emitted with the last row that any frame may include, n rows later in the order of event time.
For the last n rows of a partition there is no such row: at the end of the input, n rows of padding follow
instead.

    rows in order of time ─┬───────────────────────────────────────▶ UNION ALL ─▶ Over ─▶ Filter
                           └▶ the first of each partition, held until       ▲
                              the watermark is after all times, n times ───┘

Over computes each frame of the row n before, and that row's own columns; Filter drops what has no such row.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from fsql.compiler.bound.aggregates import unwrap_rows
from fsql.compiler.diagnostics.refusal import not_implemented
from fsql.compiler.expression import (
    AggregateCall,
    AggregateFunction,
    Case,
    Cast,
    Expression,
    Literal,
)
from fsql.compiler.functions.aggregates import aggregate_nullable
from fsql.compiler.functions.calls import call
from fsql.compiler.functions.null_safe import instead_of_null
from fsql.compiler.logical import (
    AssignSessions,
    FrameEnd,
    Over,
    OverCall,
    Plan,
    Project,
    Union,
    Unnest,
)
from fsql.compiler.planner.rows import column_refs, filter_relation
from fsql.compiler.sqltypes import BIGINT, BOOLEAN, FLOATING, STRING, TIMESTAMP_MAX, array_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.bound.source_spans import SourceSpans
    from fsql.compiler.schema import Column
    from fsql.compiler.text.source import Span


_TRUE: Final = Literal(BOOLEAN, nullable=False, value=True)


Sequenced = tuple[tuple[Expression, ...], Expression | None]
"""A partition, and the order of its rows; None for the total order."""


class InOrder(NamedTuple):
    """Rows ordered by the event-time column `time` within each partition; `span` is that of the ORDER BY."""

    plan: Plan
    partition: tuple[Expression, ...]
    time: int
    span: Span


def take_following_calls(
    operators: dict[Sequenced, dict[int, OverCall]], written: Mapping[Expression, Span]
) -> tuple[Sequenced, dict[int, OverCall]] | None:
    """Remove the calls with rows after each row, and those computed with them, and return them.

    Raises:
        Refusal: E301 if they are not of one partition.
    """
    found = None
    for sequence, calls in list(operators.items()):
        if all(call.end_preceding >= 0 for call in calls.values()):
            continue
        order = sequence[1]
        assert order is not None
        if found is not None:
            raise not_implemented(
                "LEAD and FOLLOWING over several partitions in one SELECT",
                written[order],
                help="write one PARTITION BY for all of them",
            )
        units = {call.time for call in calls.values() if call.end_preceding < 0}
        if len(units) > 1:
            raise not_implemented(
                "FOLLOWING in ROWS and in RANGE frames of one SELECT",
                written[order],
                help="write a query for each of them",
            )
        taken = {index: call for index, call in calls.items() if call.time in units}
        found = (
            sequence,
            {
                index: replace(
                    call,
                    frame_end=FrameEnd.CURRENT_ROW,
                    end_preceding=call.end_preceding + (call.frame_end is FrameEnd.ONE_PRECEDING),
                )
                for index, call in taken.items()
            },
        )
        operators[sequence] = {i: call for i, call in calls.items() if i not in taken}
        if not operators[sequence]:
            del operators[sequence]
    return found


def add_following_frames(
    ordered: InOrder,
    calls: Sequence[OverCall],
    names: tuple[str, ...],
    source_spans: SourceSpans,
) -> Plan:
    """Return the rows with the value of each call; no column is event time any more."""
    plan, partition = ordered.plan, ordered.partition
    delay = max(-each.end_preceding for each in calls)
    own, width = plan.schema, len(plan.schema)
    inner = tuple(column.name for column in own)
    inner += ("is_row", *(f"key_{index}" for index in range(len(partition))))
    rows = Project(plan, (*column_refs(plan), _TRUE, *partition), inner)
    padding = _padding(ordered, delay, inner, source_spans)
    both = Union((rows, padding))
    columns = column_refs(both)
    is_row = columns[width]
    shifted = [
        _row_value(is_row, delay),
        *(_row_value(_exact(column), delay) for column in columns[:width]),
        *(_shift(each, is_row, delay, source_spans) for each in calls),
    ]
    for each in shifted[: width + 1]:
        source_spans.add(each.aggregate, ordered.span)
    made_names = ("has_row", *inner[:width], *names)
    over = Over(both, tuple(columns[width + 1 :]), tuple(shifted), made_names)
    found = column_refs(over)[len(both.schema) :]
    there = call("coalesce", found[0], Literal(BOOLEAN, nullable=False, value=False))
    made = [_original_value(value, column) for value, column in zip(found[1:], own, strict=False)]
    for value, each in zip(found[width + 1 :], calls, strict=True):
        kept = value_of_rows(value, each.aggregate)
        made.append(kept if each.aggregate.nullable else not_null(kept))
    return Project(filter_relation(over, [there]), tuple(made), (*inner[:width], *names))


def _padding(
    ordered: InOrder, delay: int, names: tuple[str, ...], source_spans: SourceSpans
) -> Plan:
    """Return, for each partition, the rows of padding that follow all of its rows."""
    plan, partition, time, span = ordered
    count = AggregateCall(AggregateFunction.COUNT, None, BIGINT, nullable=False)
    source_spans.add(count, span)
    counted = Over(plan, partition, (OverCall(count, FrameEnd.CURRENT_ROW),), ("number",))
    one = Literal(BIGINT, nullable=False, value=1)
    first = filter_relation(counted, [call("eq", column_refs(counted)[-1], one)])
    end = Literal(column_refs(plan)[time].type, nullable=False, value=TIMESTAMP_MAX)
    keys = names[len(plan.schema) + 1 :]
    marks = Project(first, (column_refs(plan)[time], end, *partition), ("first", "end", *keys))
    # The watermark passes the end of time at the end of the input, after it has passed all rows.
    held = AssignSessions(marks, tuple(column_refs(marks)[2:]), 0, 1)
    source_spans.add(held, span)
    times = Literal(array_of(BIGINT), nullable=False, value=(1,) * delay)
    repeated = Unnest(held, times, "number", None)
    fills = [
        Literal(column.type, nullable=True, value=None)
        if column.nullable
        else instead_of_null(column.type)
        for column in plan.schema
    ]
    no_row = Literal(BOOLEAN, nullable=False, value=False)
    made = (*fills, no_row, *column_refs(repeated)[2 : 2 + len(partition)])
    return Project(repeated, made, names)


def _shift(each: OverCall, is_row: Expression, delay: int, source_spans: SourceSpans) -> OverCall:
    """Return the call for the row `delay` rows before, without the values of padding."""
    return replace(each, aggregate=mask_rows(each.aggregate, is_row, source_spans), delay=delay)


def mask_rows(given: AggregateCall, is_row: Expression, source_spans: SourceSpans) -> AggregateCall:
    """Return an aggregate of the rows that are marked; `value_of_rows` returns its value."""
    aggregate = given
    argument = aggregate.argument or _TRUE
    if aggregate.function is AggregateFunction.ARRAY_AGG and not aggregate.ignore_nulls:
        # The NULLs of rows are kept, those of padding are not.
        argument = call("row", argument)
        aggregate = replace(aggregate, type=array_of(argument.type), ignore_nulls=True)
    nothing = Literal(argument.type, nullable=True, value=None)
    kept = Case(argument.type, nullable=True, branches=((is_row, argument),), otherwise=nothing)
    nullable = aggregate_nullable(aggregate.function, argument_nullable=True, grouped=False)
    made = replace(aggregate, argument=kept, nullable=nullable)
    source_spans.copy(given, made)
    return made


def value_of_rows(value: Expression, aggregate: AggregateCall) -> Expression:
    """Return the value of an aggregate from that of the aggregate of marked rows."""
    if value.type == aggregate.type:
        return value
    if aggregate.function is AggregateFunction.ARRAY_AGG:
        return unwrap_rows(value)
    return Cast(aggregate.type, value.nullable, value)


def _row_value(value: Expression, delay: int) -> OverCall:
    """Return the value of the row itself."""
    first = AggregateCall(AggregateFunction.FIRST_VALUE, value, value.type, nullable=True)
    return OverCall(first, FrameEnd.CURRENT_ROW, 0, None, 0, delay)


def _exact(column: Expression) -> Expression:
    """Return a value that keeps the sign of zero, which FIRST_VALUE drops."""
    if column.type.kind in FLOATING:
        return Cast(STRING, column.nullable, column)
    return column


def _original_value(value: Expression, column: Column) -> Expression:
    """Return a value of `_exact` as the original column."""
    if column.type.kind in FLOATING:
        value = Cast(column.type, value.nullable, value)
    return value if column.nullable else not_null(value)


def not_null(value: Expression) -> Expression:
    """Return a value that is not NULL if there is a row."""
    return call("coalesce", value, instead_of_null(value.type)) if value.nullable else value
