"""Subqueries as values: LEFT joins with at most one row for each row of the query around them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.bound.pending import SubqueryValue, replace_pending
from fsql.compiler.expression import ColumnRef, Expression
from fsql.compiler.logical import Join, JoinKind, Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.compiler.bound.select import BoundSubquery
    from fsql.compiler.bound.source_spans import SourceSpans


def join_subqueries(
    plan: Plan, subqueries: Sequence[BoundSubquery], source_spans: SourceSpans
) -> tuple[Plan, Callable[[Expression], Expression]]:
    """Return `plan` with the columns of subqueries, and the function that resolves their placeholders."""
    indexes: list[int] = []
    for each in subqueries:
        indexes.append(len(plan.schema))
        plan = Join(plan, each.rows, each.outer_keys, each.keys, None, JoinKind.LEFT)

    def resolve(expression: Expression) -> Expression:
        return replace_pending(
            expression,
            lambda part: (
                ColumnRef(part.type, part.nullable, indexes[part.index] + part.column)
                if isinstance(part, SubqueryValue)
                else None
            ),
            source_spans,
        )

    return plan, resolve
