"""Joins of rows with the last row before them of a table at rest: lookup joins.

All rows of a table at rest come before those of other tables, so each row of the left finds all of them:

    left, right   →  UNION ALL of (left columns, NULL, 1, key) and (NULLs, row, 0, key)
                  →  Over: LAST_VALUE(row) by key, in the total order
                  →  Filter: rows of the left, with a row of the right unless the join is LEFT

A row of the left is released at its own position, and its event time remains event time: in its place the
rows of the right have the time of their position (`AssignRowTime`), before all others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.expression import AggregateCall, AggregateFunction, Cast, FieldAccess, Literal
from fsql.compiler.functions.calls import call
from fsql.compiler.functions.coercion import coerce, common_type
from fsql.compiler.functions.null_safe import instead_of_null
from fsql.compiler.logical import (
    AssignRowTime,
    FrameEnd,
    JoinKind,
    Over,
    OverCall,
    Plan,
    Project,
    Union,
    tables,
)
from fsql.compiler.planner.rows import column_refs, filter_relation
from fsql.compiler.sqltypes import BIGINT, row_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.binder.context import Context
    from fsql.compiler.expression import Expression
    from fsql.compiler.schema import Schema


def with_rows_at_rest(
    kind: JoinKind, left: Plan, right: Plan, pairs: Sequence[tuple[Expression, Expression]]
) -> Plan:
    """Return the columns of the left, then those of the last row of the right with the same key.

    `pairs` are the keys of the left and the right.  The tables of the right are at rest, those of the left
    are not.
    """
    own, found = left.schema, right.schema
    timed, fills = _fills(right, own)
    row = row_of((column.name, column.type) for column in found)
    whole = Cast(row, nullable=False, argument=call("row", *column_refs(right)))
    nothing = Literal(row, nullable=True, value=None)
    names = (*(column.name for column in own), "found", "side")
    names += tuple(f"key_{index}" for index in range(len(pairs)))
    rows = _branch(
        left, [*column_refs(left), nothing], 1, [mine for mine, _ in pairs], pairs, names
    )
    others = _branch(timed, [*fills, whole], 0, [theirs for _, theirs in pairs], pairs, names)
    first_key = len(own) + 2
    both = Union(
        (
            rows if kind is JoinKind.LEFT else _where_not_null(rows, first_key),
            _where_not_null(others, first_key),
        )
    )
    columns = column_refs(both)
    last = AggregateCall(AggregateFunction.LAST_VALUE, columns[len(own)], row, nullable=True)
    calls = (OverCall(last, FrameEnd.CURRENT_ROW),)
    running = Over(both, tuple(columns[first_key:]), calls, ("found_then",))
    values = column_refs(running)
    of_left = call("eq", values[len(own) + 1], Literal(BIGINT, nullable=False, value=1))
    matches = [call("is_not_null", values[-1])] if kind is JoinKind.INNER else []
    made = [
        *values[: len(own)],
        *(
            FieldAccess(column.type, nullable=True, argument=values[-1], index=index)
            for index, column in enumerate(found)
        ),
    ]
    out = tuple(column.name for column in (*own, *found))
    return Project(filter_relation(running, [of_left, *matches]), tuple(made), out)


def read_first(right: Plan, left: Plan, context: Context) -> None:
    """Have the tables of the right read first, except those of the left.

    Without event time in the job, rows of both sides would come by their numbers.
    """
    of_left = {table.ordinal for table in tables(left)}
    of_right = {table.ordinal for table in tables(right)}
    context.looked_up.update(of_right - of_left)


def _fills(right: Plan, own: Schema) -> tuple[Plan, list[Expression]]:
    """Return the right side with a time for each type of event time in the left, and values for the left."""
    times = list(dict.fromkeys(column.type for column in own if column.time_attribute))
    timed = right
    for type_ in times:
        timed = AssignRowTime(timed, type_, at_rest=True)
    places = dict(zip(times, column_refs(timed)[len(right.schema) :], strict=True))
    return timed, [
        places[column.type]
        if column.time_attribute
        else Literal(column.type, nullable=True, value=None)
        if column.nullable
        else instead_of_null(column.type)
        for column in own
    ]


def _branch(
    plan: Plan,
    first: Sequence[Expression],
    side: int,
    keys: Sequence[Expression],
    pairs: Sequence[tuple[Expression, Expression]],
    names: Sequence[str],
) -> Plan:
    """Return the rows of a side with the columns that both have; keys get the type common to their pair."""
    made: list[Expression] = [*first, Literal(BIGINT, nullable=False, value=side)]
    for key, pair in zip(keys, pairs, strict=True):
        common = common_type([each.type for each in pair])
        assert common is not None
        made.append(coerce(key, common))
    return Project(plan, tuple(made), tuple(names))


def _where_not_null(plan: Plan, first: int) -> Plan:
    """Return the rows in which no column from `first` on is NULL."""
    keys = [each for each in column_refs(plan)[first:] if each.nullable]
    return filter_relation(plan, [call("is_not_null", key) for key in keys])
