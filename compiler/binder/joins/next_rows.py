"""ASOF joins with the next row: `a ASOF JOIN b ON a.k = b.k AND a.at <= b.at`.

The rows of both sides are sorted as for versions.  A row of the right joins the rows of the left since the
row of the right before it: those before which as many rows of the right have come.

    both sides in order  →  Over: the number of rows of the right before
                         →  rows of the right  JOIN once  rows of the left, by key and number

For a LEFT join, the first row of each key also makes a row that comes at the end of the input: it joins the
rows after the last row of the right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.binder.joins.versions import (
    SortedSides,
    VersionedSide,
    fields_of_version,
    fills,
    sort_sides,
)
from fsql.compiler.expression import AggregateCall, AggregateFunction, Case, Literal
from fsql.compiler.functions.calls import call
from fsql.compiler.functions.coercion import coerce
from fsql.compiler.logical import (
    AssignSessions,
    FrameEnd,
    Join,
    JoinKind,
    Over,
    OverCall,
    Plan,
    Project,
    Union,
)
from fsql.compiler.planner.rows import column_refs, filter_relation, null_safe_keys
from fsql.compiler.sqltypes import BIGINT, TIMESTAMP_MAX

if TYPE_CHECKING:
    from fsql.compiler.binder.context import Context
    from fsql.compiler.expression import Expression
    from fsql.compiler.text.source import Span


def with_next_rows(
    kind: JoinKind,
    left: VersionedSide,
    right: VersionedSide,
    context: Context,
    span: Span,
    *,
    after: bool,
) -> Plan:
    """Return the columns of the left, then those of the first row of the right from the row's time on.

    With `after`, it is one with a later time.  Rows of the left are in the order of the rows of the right.
    """
    width = len(left.plan.schema)
    sides = sort_sides(kind, left, right, context, span, rows_first=not after)
    names = tuple(column.name for column in sides.both.schema)
    rows: Plan = Project(sides.rows, tuple(column_refs(sides.both)), names)
    if kind is JoinKind.LEFT:
        rows = Union((rows, _ends(sides, left, context, span)))
    columns = column_refs(rows)
    one = Literal(BIGINT, nullable=False, value=1)
    is_right = call("eq", columns[sides.side], _number(sides.of_versions))
    nothing = Literal(BIGINT, nullable=True, value=None)
    marked = Case(BIGINT, nullable=True, branches=((is_right, one),), otherwise=nothing)
    count = AggregateCall(AggregateFunction.COUNT, marked, BIGINT, nullable=False)
    numbered = Over(rows, sides.keys, (OverCall(count, FrameEnd.ONE_PRECEDING),), ("number",))
    values = column_refs(numbered)
    waiting, coming = (
        filter_relation(numbered, [call("eq", values[sides.side], _number(number))])
        for number in (sides.of_rows, sides.of_versions)
    )
    # In an inner join no key is NULL.
    keys = values[sides.side + 1 :]
    pairs = [(each, each) for each in keys]
    if kind is JoinKind.LEFT:
        pairs = [pair for each in keys for pair in null_safe_keys(each, each)]
    joined = Join(
        coming,
        waiting,
        tuple(one for one, _ in pairs),
        tuple(other for _, other in pairs),
        None,
        once=True,
    )
    found = column_refs(joined)
    made = [
        *found[len(values) : len(values) + width],
        *fields_of_version(found[width], right.plan.schema),
    ]
    schema = (*left.plan.schema, *right.plan.schema)
    return Project(joined, tuple(made), tuple(column.name for column in schema))


def _ends(sides: SortedSides, left: VersionedSide, context: Context, span: Span) -> Plan:
    """Return a row of the right for each key of the left, without a version, at the end of the input."""
    count = AggregateCall(AggregateFunction.COUNT, None, BIGINT, nullable=False)
    keys = [coerce(key, column.type) for key, column in zip(left.keys, sides.keys, strict=True)]
    calls = (OverCall(count, FrameEnd.CURRENT_ROW),)
    counted = Over(left.plan, tuple(keys), calls, ("number",))
    first = filter_relation(counted, [call("eq", column_refs(counted)[-1], _number(1))])
    time = column_refs(left.plan)[left.time]
    end = Literal(time.type, nullable=False, value=TIMESTAMP_MAX)
    names = [column.name for column in sides.both.schema]
    marks = Project(first, (time, end, *keys), ("first", "end", *names[sides.side + 1 :]))
    # The watermark passes the end of time at the end of the input, after it has passed all rows.
    held = AssignSessions(marks, tuple(column_refs(marks)[2:]), 0, 1)
    context.source_spans.add(held, span)
    own = sides.both.schema[: sides.side]
    made: list[Expression] = [*fills(own), _number(sides.of_versions)]
    made += column_refs(held)[2 : 2 + len(keys)]
    return Project(held, tuple(made), tuple(names))


def _number(value: int) -> Literal:
    return Literal(BIGINT, nullable=False, value=value)
