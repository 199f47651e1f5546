"""Temporal joins: `JOIN t FOR SYSTEM_TIME AS OF o.at ON o.k = t.k`, with the version of that time.

Each row of the right table is a version of its key, from its event time on.  The rows of both sides are put
into the order of event time, by key, and what is joined is the last version before each row of the left:

    left, right   →  UNION ALL of (left columns, NULL, time, 1, key) and (NULLs, version, time, 0, key)
                  →  AssignSessions without a gap, ordered by the side: versions before rows of one time
                  →  Over: LAST_VALUE(version) by key
                  →  Filter: rows of the left, with a version unless the join is LEFT

So late rows, waiting, and what state is kept are those of sessions and of running aggregates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fsql.compiler import syntax
from fsql.compiler.binder.join import equality_keys, side_by_side
from fsql.compiler.binder.operators import call
from fsql.compiler.binder.relation import Relation, column_refs, filter_relation
from fsql.compiler.binder.report import Refusal, not_implemented, refusal
from fsql.compiler.binder.row_time import is_row_time
from fsql.compiler.binder.window import event_time_field
from fsql.compiler.expression import (
    AggregateCall,
    AggregateFunction,
    Cast,
    ColumnRef,
    Expression,
    FieldAccess,
    Literal,
)
from fsql.compiler.functions.null_safe import instead_of_null
from fsql.compiler.logical import (
    AssignSessions,
    Filter,
    FrameEnd,
    JoinKind,
    Over,
    OverCall,
    Plan,
    Project,
    Scan,
    Union,
    append_only,
)
from fsql.compiler.sqltypes import BIGINT, FLOATING, row_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.binder.context import Context
    from fsql.compiler.schema import Column
    from fsql.compiler.text.source import Span

_VERSION_TIME = "version_time"
_SIDE = "side"
_VERSIONS, _ROWS = 0, 1


@dataclass(frozen=True, slots=True)
class _Side:
    """One side of the join: its plan, the column of its event time, and its key."""

    plan: Plan
    time: int
    keys: tuple[Expression, ...]


def join_versions(
    clause: syntax.JoinClause,
    left: Relation,
    right: Relation,
    on: Sequence[Expression],
    context: Context,
) -> Relation:
    """Return the join of each row of the left with the version of the right at its event time.

    Raises:
        Refusal: E203, E204, E304, E310, E323; E301 if LEFT JOIN has a condition that is no key.
    """
    assert isinstance(clause.right, syntax.TableReference)
    span, at, kind = clause.right.span, clause.right.system_time, JoinKind(clause.kind)
    if not isinstance(at, syntax.ColumnReference):
        raise _invalid(
            "FOR SYSTEM_TIME AS OF an expression", span, "name a column of the left side"
        )
    if not append_only(left.plan):
        raise refusal("E310", "temporal join of rows that can be retracted", span)
    time = event_time_field(left, at, context.source_spans)
    primary = _primary_key(right, span, context)
    versions = _version_time(right.plan)
    if versions is None:
        raise _invalid(
            "temporal join with a table that has no event time",
            span,
            "declare a WATERMARK in CREATE TABLE: a version is valid from its event time on",
        )
    keys, rest = _keys(left, primary, on, context)
    missing = [right.plan.schema[index].name for index in primary if index not in keys]
    if missing:
        raise _invalid(
            "temporal join without an equality for each column of the PRIMARY KEY",
            span,
            f"add an equality to ON for: {', '.join(missing)}",
        )
    if rest and kind is JoinKind.LEFT:
        raise not_implemented(
            "conditions of a temporal LEFT JOIN other than on the PRIMARY KEY",
            span,
            help="join by the key alone, and use CASE WHEN in SELECT",
        )
    pairs = [keys[index] for index in primary]
    plan = _with_versions(
        kind,
        _Side(left.plan, time.index, tuple(mine for mine, _ in pairs)),
        _Side(right.plan, versions, tuple(theirs for _, theirs in pairs)),
        context,
        span,
    )
    fields = tuple(
        field
        if field.member
        else replace(field, column=_named(plan.schema[field.index], field.column))
        for field in side_by_side(left, right)
    )
    return Relation(filter_relation(plan, rest), fields)


def _version_time(plan: Plan) -> int | None:
    """Return the column from which versions are valid: event time as declared, else the time of rows."""
    times = [i for i, column in enumerate(plan.schema) if column.time_attribute]
    return min(times, key=lambda i: (is_row_time(plan, i), i), default=None)


def _named(column: Column, field: Column) -> Column:
    return replace(column, name=field.name)


def _primary_key(right: Relation, span: Span, context: Context) -> tuple[int, ...]:
    """Return the columns of the right side that are the PRIMARY KEY of its table.

    Raises:
        Refusal: E323.
    """
    plan, steps = right.plan, list[Project]()
    while isinstance(plan, Filter | Project):
        if isinstance(plan, Project):
            steps.insert(0, plan)
        plan = plan.input
    if not isinstance(plan, Scan):
        raise _invalid(
            "temporal join with what is not the rows of one table",
            span,
            "name a table that is not read as changes, or a view that only filters and computes columns",
        )
    entry = context.catalog.table(plan.table.ordinal)
    key = entry.primary_key
    if key is None:
        raise _invalid(
            f'temporal join with table "{entry.name}", which has no PRIMARY KEY',
            span,
            "add PRIMARY KEY (…) NOT ENFORCED: its rows are versions of a key",
        )
    for step in steps:
        places = {
            each.index: place
            for place, each in reversed(list(enumerate(step.expressions)))
            if isinstance(each, ColumnRef)
        }
        if any(index not in places for index in key):
            raise _invalid(
                f'temporal join with a view without the PRIMARY KEY of table "{entry.name}"',
                span,
                "add its columns to the view",
            )
        key = tuple(places[index] for index in key)
    return key


def _keys(
    left: Relation, primary: tuple[int, ...], on: Sequence[Expression], context: Context
) -> tuple[dict[int, tuple[Expression, Expression]], list[Expression]]:
    """Return the pair that equates each column of the primary key, and the conditions that are none."""
    equalities = equality_keys(on, left.width, context.source_spans)
    keys: dict[int, tuple[Expression, Expression]] = {}
    rest: list[Expression] = []
    for condition in on:
        pairs = equalities.get(condition, [])
        index = _column_of(pairs[0][1]) if len(pairs) == 1 else None
        if index is None or index not in primary or index in keys:
            rest.append(condition)
        else:
            keys[index] = pairs[0]
    return keys, rest


def _column_of(key: Expression) -> int | None:
    """Return the column that a key is, perhaps as another type that tells all its values apart."""
    if isinstance(key, Cast) and key.type.kind not in FLOATING:
        key = key.argument
    return key.index if isinstance(key, ColumnRef) else None


def _with_versions(kind: JoinKind, left: _Side, right: _Side, context: Context, span: Span) -> Plan:
    """Return the columns of the left, then those of the version at the row's time."""
    own, versions = left.plan.schema, right.plan.schema
    row = row_of((column.name, column.type) for column in versions)
    fills: list[Expression] = [
        Literal(column.type, nullable=True, value=None)
        if column.nullable
        else instead_of_null(column.type)
        for column in own
    ]
    whole = Cast(row, nullable=False, argument=call("row", *column_refs(right.plan)))
    nothing = Literal(row, nullable=True, value=None)
    names = [*(column.name for column in own), "version", _VERSION_TIME, _SIDE]
    names += [f"key_{place}" for place in range(len(left.keys))]
    rows = _branch(left, [*column_refs(left.plan), nothing], _ROWS, names)
    if kind is JoinKind.INNER:
        rows = _where_not_null(rows, len(own) + 3)
    both = Union(
        (rows, _where_not_null(_branch(right, [*fills, whole], _VERSIONS, names), len(own) + 3))
    )
    columns = column_refs(both)
    time, side, keys = len(own) + 1, len(own) + 2, tuple(columns[len(own) + 3 :])
    in_order = AssignSessions(both, keys, time, time, side)
    context.source_spans.add(in_order, span)
    last = AggregateCall(AggregateFunction.LAST_VALUE, columns[len(own)], row, nullable=True)
    running = Over(in_order, keys, (OverCall(last, FrameEnd.CURRENT_ROW),), ("version_then",))
    of_rows = call("eq", columns[side], Literal(BIGINT, nullable=False, value=_ROWS))
    values = column_refs(running)
    found = [call("is_not_null", values[-1])] if kind is JoinKind.INNER else []
    made: list[Expression] = values[: len(own)]
    made[left.time] = values[len(both.schema) + 1]
    made += [
        FieldAccess(column.type, nullable=True, argument=values[-1], index=place)
        for place, column in enumerate(versions)
    ]
    out = tuple(column.name for column in (*own, *versions))
    return Project(filter_relation(running, [of_rows, *found]), tuple(made), out)


def _branch(side: _Side, first: list[Expression], number: int, names: list[str]) -> Plan:
    """Return the rows of a side with the columns that both have."""
    time = column_refs(side.plan)[side.time]
    which = Literal(BIGINT, nullable=False, value=number)
    return Project(side.plan, (*first, time, which, *side.keys), tuple(names))


def _where_not_null(plan: Plan, first: int) -> Plan:
    """Return the rows in which no column from `first` on is NULL."""
    keys = [each for each in column_refs(plan)[first:] if each.nullable]
    return filter_relation(plan, [call("is_not_null", key) for key in keys])


def _invalid(what: str, span: Span, help_text: str) -> Refusal:
    return refusal("E323", what, span, help=help_text)
