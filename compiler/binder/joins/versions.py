"""Joins of rows with the last version before them: the basis of temporal joins and ASOF joins.

The rows of both sides are ordered by event time for each key, and each row of the left is joined with the
last version before it:

    left, right   →  UNION ALL of (left columns, NULL, time, 1, key) and (NULLs, version, time, 0, key)
                  →  AssignSessions without a gap, ordered by the side: versions before rows of one time
                  →  Over: LAST_VALUE(version) by key
                  →  Filter: rows of the left, with a version unless the join is LEFT

So late rows, waiting and state are handled by sessions and running aggregates.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler.expression import (
    AggregateCall,
    AggregateFunction,
    Cast,
    Expression,
    FieldAccess,
    Literal,
)
from fsql.compiler.functions.calls import call
from fsql.compiler.functions.coercion import coerce, common_type
from fsql.compiler.functions.null_safe import instead_of_null
from fsql.compiler.logical import (
    AssignSessions,
    FrameEnd,
    JoinKind,
    Over,
    OverCall,
    Plan,
    Project,
    Union,
)
from fsql.compiler.planner.rows import column_refs, filter_relation
from fsql.compiler.records import dataclass
from fsql.compiler.sqltypes import BIGINT, SqlType, row_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.binder.context import Context
    from fsql.compiler.binder.scope import Layer
    from fsql.compiler.schema import Schema
    from fsql.compiler.text.source import Span


_VERSION_TIME = "version_time"
_SIDE = "side"


@dataclass(frozen=True, slots=True)
class VersionedSide:
    """One side of the join: its plan, the column of its event time, and its key."""

    plan: Plan
    time: int
    keys: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class SortedSides:
    """The rows of both sides in the order of event time by key: `rows`, which have the columns of `both`.

    `of_rows` and `of_versions` are the values of the column `side`, and `row` is the type of the column
    `version`, which follows those of the left.
    """

    rows: AssignSessions
    both: Union
    row: SqlType
    side: int
    of_rows: int
    of_versions: int

    @property
    def keys(self) -> tuple[Expression, ...]:
        """Return the key, the last columns of both sides."""
        return tuple(column_refs(self.both)[self.side + 1 :])


def with_versions(
    kind: JoinKind,
    left: VersionedSide,
    right: VersionedSide,
    context: Context,
    span: Span,
    *,
    before: bool = False,
) -> Plan:
    """Return the columns of the left, then those of the version valid at the row's time.

    With `before`, a version is only valid for rows with a later time.
    """
    own, versions = left.plan.schema, right.plan.schema
    in_order = sort_sides(kind, left, right, context, span, rows_first=before)
    rows, width, row = in_order.rows, len(in_order.both.schema), in_order.row
    columns = column_refs(in_order.both)
    last = AggregateCall(AggregateFunction.LAST_VALUE, columns[len(own)], row, nullable=True)
    calls = (OverCall(last, FrameEnd.CURRENT_ROW),)
    running = Over(rows, in_order.keys, calls, ("version_then",))
    values = column_refs(running)
    left_rows = call("eq", values[in_order.side], _number(in_order.of_rows))
    found = [call("is_not_null", values[-1])] if kind is JoinKind.INNER else []
    made: list[Expression] = values[: len(own)]
    made[left.time] = values[width + 1]
    made += fields_of_version(values[-1], versions)
    out = tuple(column.name for column in (*own, *versions))
    return Project(filter_relation(running, [left_rows, *found]), tuple(made), out)


def sort_sides(
    kind: JoinKind,
    left: VersionedSide,
    right: VersionedSide,
    context: Context,
    span: Span,
    *,
    rows_first: bool,
) -> SortedSides:
    """Return the rows of both sides by event time; those of the left precede equal ones if `rows_first`."""
    of_versions, of_rows = (1, 0) if rows_first else (0, 1)
    own, versions = left.plan.schema, right.plan.schema
    row = row_of((column.name, column.type) for column in versions)
    whole = Cast(row, nullable=False, argument=call("row", *column_refs(right.plan)))
    nothing = Literal(row, nullable=True, value=None)
    names = [*(column.name for column in own), "version", _VERSION_TIME, _SIDE]
    names += [f"key_{index}" for index in range(len(left.keys))]
    own_order, other_order = _order(left, right)
    rows = _branch(left, [*column_refs(left.plan), nothing], of_rows, own_order, names)
    if kind is JoinKind.INNER:
        rows = _where_not_null(rows, len(own) + 3)
    changes = _branch(right, [*fills(own), whole], of_versions, other_order, names)
    both = Union((rows, _where_not_null(changes, len(own) + 3)))
    columns = column_refs(both)
    time, side = len(own) + 1, len(own) + 2
    # The rows of the left keep the type of their time; those of the right are removed later.
    own_type, sorted_type = own[left.time].type, columns[time].type
    fewer = own_type != sorted_type and own_type.zone == sorted_type.zone
    keys = tuple(columns[side + 1 :])
    in_order = AssignSessions(both, keys, time, time, side, own_type if fewer else None)
    context.source_spans.add(in_order, span)
    return SortedSides(in_order, both, row, side, of_rows, of_versions)


def fills(schema: Schema) -> list[Expression]:
    """Return a value for each column of rows that stand for none."""
    return [
        Literal(column.type, nullable=True, value=None)
        if column.nullable
        else instead_of_null(column.type)
        for column in schema
    ]


def fields_of_version(version: Expression, schema: Schema) -> list[Expression]:
    """Return the columns of a version, which are NULL if it is."""
    return [
        FieldAccess(column.type, nullable=True, argument=version, index=index)
        for index, column in enumerate(schema)
    ]


def _number(value: int) -> Literal:
    return Literal(BIGINT, nullable=False, value=value)


def rename_fields(fields: Layer, plan: Plan) -> Layer:
    """Return the columns of `plan` under the names of `fields`, those of both sides."""
    return tuple(
        field
        if field.member
        else replace(field, column=replace(plan.schema[field.index], name=field.column.name))
        for field in fields
    )


def _order(
    left: VersionedSide, right: VersionedSide
) -> tuple[Sequence[Expression], Sequence[Expression]]:
    """Return the time and the keys of both sides; each pair gets the greater number of digits of fraction."""
    pairs: list[list[Expression]] = []
    ordered = [(column_refs(each.plan)[each.time], *each.keys) for each in (left, right)]
    for pair in zip(*ordered, strict=True):
        common = common_type([each.type for each in pair])
        assert common is not None
        pairs.append([coerce(each, common) for each in pair])
    return [one for one, _ in pairs], [other for _, other in pairs]


def _branch(
    side: VersionedSide,
    first: Sequence[Expression],
    number: int,
    order: Sequence[Expression],
    names: Sequence[str],
) -> Plan:
    """Return the rows of a side with the columns that both sides have."""
    return Project(side.plan, (*first, order[0], _number(number), *order[1:]), tuple(names))


def _where_not_null(plan: Plan, first: int) -> Plan:
    """Return the rows in which no column from `first` on is NULL."""
    keys = [each for each in column_refs(plan)[first:] if each.nullable]
    return filter_relation(plan, [call("is_not_null", key) for key in keys])
