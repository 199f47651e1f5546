"""Aggregates without GROUP BY as subqueries that name columns of the outer query in SELECT or HAVING.

    (SELECT MAX(b.v) - a.n FROM b WHERE b.k = a.k)   →   a LEFT JOIN (SELECT k, MAX(v) FROM b GROUP BY k)
                                                         with MAX(v) - a.n
    (SELECT SUM(b.v * a.n) FROM b WHERE b.k = a.k)   →   the rows of b are joined with the values of a.n first

They are computed after the join, so that they also have a value if there is no group.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler.binder.joins.join import columns_in
from fsql.compiler.binder.subqueries.decorrelation import split_conditions, with_outer_values
from fsql.compiler.binder.subqueries.subquery import bind_items_of
from fsql.compiler.bound.pending import OuterValue, replace_pending
from fsql.compiler.expression import ColumnRef

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler import syntax
    from fsql.compiler.binder.context import Context
    from fsql.compiler.binder.relation import Relation
    from fsql.compiler.binder.subqueries.subquery import Rows, Subquery
    from fsql.compiler.bound.source_spans import SourceSpans
    from fsql.compiler.expression import Expression
    from fsql.compiler.text.source import Span


def bind_one_row(
    select: syntax.Select,
    span: Span,
    rows: Rows,
    outer: tuple[Relation, frozenset[int]],
    context: Context,
    known: Mapping[int, int] | None = None,
) -> Subquery:
    """Return the items and HAVING of an aggregate without GROUP BY over its rows.

    `outer` are the rows of the outer query, and those of its columns that SELECT or HAVING may name.
    If the rows have their values, `known` has their columns with those of the outer query.

    Raises:
        Refusal: E2xx to E4xx.
        Abandoned: where several items were refused.
    """
    relation, used = outer
    spans = context.source_spans
    if known is None and not split_conditions(rows, spans)[1]:
        behind = tuple(field.shift(rows.width) for field in relation.fields)
        visible = replace(rows, relation=replace(rows.relation, outer=behind))
        with context.report.collect_warnings() as warnings:
            subquery = bind_items_of(select, span, visible, context)
        assert subquery.aggregates is not None
        arguments = [each for call in subquery.aggregates.calls for each in call.arguments]
        if all(index < rows.width for each in arguments for index in columns_in(each)):
            for warning in warnings:
                context.report.warn(warning)
            behind_of = {rows.width + index: index for index in range(relation.width)}
            return replace(_with_outer_columns(subquery, behind_of, spans), rows=rows)
    values_of = known or {}
    if used or split_conditions(rows, spans)[1]:
        rows, values_of = with_outer_values(rows, relation, used, span, spans)
    return _with_outer_columns(bind_items_of(select, span, rows, context), values_of, spans)


def _with_outer_columns(
    subquery: Subquery, values_of: Mapping[int, int], spans: SourceSpans
) -> Subquery:
    """Return a subquery whose columns of the outer query have a value also if there is no group."""

    def replaced(expression: Expression) -> Expression:
        return replace_pending(
            expression,
            lambda part: (
                OuterValue(part.type, part.nullable, values_of[part.index])
                if isinstance(part, ColumnRef) and part.index in values_of
                else None
            ),
            spans,
        )

    items = (replace(each, expression=replaced(each.expression)) for each in subquery.items)
    return replace(subquery, items=tuple(items), having=tuple(map(replaced, subquery.having)))


def resolve_outer(expression: Expression, spans: SourceSpans) -> Expression:
    """Return an expression over the columns of the outer query."""
    return replace_pending(
        expression,
        lambda part: (
            ColumnRef(part.type, part.nullable, part.index)
            if isinstance(part, OuterValue)
            else None
        ),
        spans,
    )
