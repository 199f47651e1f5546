"""Frames that end a time after each row: `RANGE BETWEEN CURRENT ROW AND INTERVAL '5' SECOND FOLLOWING`.

Such a frame is known when the watermark has passed its end.  Each row is a row of frames at its own time, and
is emitted with its frames at the time of their end.  Both are sorted by that time:

    rows in order of time ─┬─▶ marked, at their time ───────────────────▶ UNION ALL ─▶ sort ─▶ Over ─▶ Filter
                           └─▶ at their time + the longest FOLLOWING ────────▲

Over computes frames that end before the row, or at it; Filter drops the marked rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler.analysis.delays import delay_us
from fsql.compiler.expression import (
    AggregateCall,
    AggregateFunction,
    Cast,
    ColumnRef,
    Expression,
    Literal,
)
from fsql.compiler.functions.aggregates import aggregate_result
from fsql.compiler.functions.calls import call
from fsql.compiler.functions.null_safe import instead_of_null
from fsql.compiler.logical import (
    AssignExpiry,
    FrameEnd,
    Over,
    OverCall,
    Plan,
    Project,
    Union,
    grain_us,
)
from fsql.compiler.node import walk
from fsql.compiler.planner.order import in_order_of_time
from fsql.compiler.planner.over.following import mask_rows, not_null, value_of_rows
from fsql.compiler.planner.rows import column_refs, filter_relation
from fsql.compiler.sqltypes import BOOLEAN, Kind, decimal_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.bound.source_spans import SourceSpans
    from fsql.compiler.planner.over.following import InOrder


_TRUE: Final = Literal(BOOLEAN, nullable=False, value=True)
_FALSE: Final = Literal(BOOLEAN, nullable=False, value=False)
_SUMMED: Final = decimal_type(19, 0)
"""The type in which integers are added: their sums cannot be out of range."""


def add_following_ranges(
    ordered: InOrder,
    calls: Sequence[OverCall],
    names: tuple[str, ...],
    source_spans: SourceSpans,
) -> Plan:
    """Return the rows with the value of each call, by time; no column is event time any more."""
    plan, partition, time, span = ordered
    wait_us = max(-each.end_preceding for each in calls)
    own, width = tuple(column.name for column in plan.schema), len(plan.schema)
    marks = (*own, "is_row")
    read = [*partition, *(part for each in calls for part in each.aggregate.arguments)]
    rows = Project(plan, (*_columns_read(plan, read, time), _TRUE), marks)
    emitted = Project(plan, (*column_refs(plan), _FALSE), marks)
    delay, grain = delay_us(plan, time), grain_us(plan)
    both = Union(
        (
            AssignExpiry(rows, time, 0, delay, grain),
            AssignExpiry(emitted, time, wait_us, delay, grain),
        )
    )
    known = column_refs(both)[-1]
    at_ends = in_order_of_time(both, partition, known, span, source_spans)
    *columns, is_row, now = column_refs(at_ends)
    shifted = []
    for each in calls:
        preceding = None if each.preceding is None else each.preceding + wait_us
        aggregate = mask_rows(_without_overflow(each.aggregate, source_spans), is_row, source_spans)
        shifted.append(
            OverCall(aggregate, FrameEnd.CURRENT_ROW, preceding, now, each.end_preceding + wait_us)
        )
    over = Over(at_ends, partition, tuple(shifted), names)
    found = column_refs(over)[width + 2 :]
    made: list[Expression] = [*columns[:width]]
    for value, each in zip(found, calls, strict=True):
        kept = value_of_rows(value, each.aggregate)
        made.append(kept if each.aggregate.nullable else not_null(kept))
    return Project(filter_relation(over, [call("not", is_row)]), tuple(made), (*own, *names))


def _columns_read(plan: Plan, read: Sequence[Expression], time: int) -> list[Expression]:
    """Return the columns that frames read, and something in place of the others."""
    used = {part.index for each in read for part in walk(each) if isinstance(part, ColumnRef)}
    made: list[Expression] = []
    for index, column in enumerate(column_refs(plan)):
        if index in used or index == time:
            made.append(column)
        elif column.nullable:
            made.append(Literal(column.type, nullable=True, value=None))
        else:
            made.append(instead_of_null(column.type))
    return made


def _without_overflow(aggregate: AggregateCall, source_spans: SourceSpans) -> AggregateCall:
    """Return a sum that cannot fail: the frame of a marked row may be out of range, but is of no row."""
    argument = aggregate.argument
    integers = argument is not None and argument.type.kind in {Kind.INT, Kind.BIGINT}
    if aggregate.function is not AggregateFunction.SUM or not integers:
        return aggregate
    assert argument is not None
    wide = Cast(_SUMMED, argument.nullable, argument)
    result = aggregate_result(AggregateFunction.SUM, _SUMMED)
    assert result is not None
    made = replace(aggregate, argument=wide, type=result)
    source_spans.copy(aggregate, made)
    return made
