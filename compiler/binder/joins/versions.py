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

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fsql.compiler.binder.expressions.operators import call
from fsql.compiler.binder.relation import column_refs, filter_relation
from fsql.compiler.expression import (
    AggregateCall,
    AggregateFunction,
    Cast,
    Expression,
    FieldAccess,
    Literal,
)
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
from fsql.compiler.sqltypes import BIGINT, row_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.binder.context import Context
    from fsql.compiler.binder.scope import Layer
    from fsql.compiler.text.source import Span

_VERSION_TIME = "version_time"
_SIDE = "side"


@dataclass(frozen=True, slots=True)
class VersionedSide:
    """One side of the join: its plan, the column of its event time, and its key."""

    plan: Plan
    time: int
    keys: tuple[Expression, ...]


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
    of_versions, of_rows = (1, 0) if before else (0, 1)
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
    names += [f"key_{index}" for index in range(len(left.keys))]
    own_order, other_order = _order(left, right)
    rows = _branch(left, [*column_refs(left.plan), nothing], of_rows, own_order, names)
    if kind is JoinKind.INNER:
        rows = _where_not_null(rows, len(own) + 3)
    changes = _branch(right, [*fills, whole], of_versions, other_order, names)
    both = Union((rows, _where_not_null(changes, len(own) + 3)))
    columns = column_refs(both)
    time, side, keys = len(own) + 1, len(own) + 2, tuple(columns[len(own) + 3 :])
    # The rows of the left keep the type of their time; those of the right are removed below.
    own_type, sorted_type = own[left.time].type, columns[time].type
    fewer = own_type != sorted_type and own_type.zone == sorted_type.zone
    in_order = AssignSessions(both, keys, time, time, side, own_type if fewer else None)
    context.source_spans.add(in_order, span)
    last = AggregateCall(AggregateFunction.LAST_VALUE, columns[len(own)], row, nullable=True)
    running = Over(in_order, keys, (OverCall(last, FrameEnd.CURRENT_ROW),), ("version_then",))
    left_rows = call("eq", columns[side], Literal(BIGINT, nullable=False, value=of_rows))
    values = column_refs(running)
    found = [call("is_not_null", values[-1])] if kind is JoinKind.INNER else []
    made: list[Expression] = values[: len(own)]
    made[left.time] = values[len(both.schema) + 1]
    made += [
        FieldAccess(column.type, nullable=True, argument=values[-1], index=index)
        for index, column in enumerate(versions)
    ]
    out = tuple(column.name for column in (*own, *versions))
    return Project(filter_relation(running, [left_rows, *found]), tuple(made), out)


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
    which = Literal(BIGINT, nullable=False, value=number)
    return Project(side.plan, (*first, order[0], which, *order[1:]), tuple(names))


def _where_not_null(plan: Plan, first: int) -> Plan:
    """Return the rows in which no column from `first` on is NULL."""
    keys = [each for each in column_refs(plan)[first:] if each.nullable]
    return filter_relation(plan, [call("is_not_null", key) for key in keys])
