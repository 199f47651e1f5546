"""LATERAL subqueries over tables: joins with the rows, or the first rows, of each key.

    t, LATERAL (SELECT x.a FROM x WHERE x.k = t.k ORDER BY x.b LIMIT 3)
        →  t JOIN (SELECT x.a, x.k FROM x, the first 3 rows of each k by b) ON k = t.k

The conditions of WHERE that refer to columns of the preceding relations are those of the join.  With LIMIT
they are equalities, by which the subquery's rows are ranked.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler import syntax
from fsql.compiler.binder.expression import ExpressionBinder
from fsql.compiler.binder.join import columns_in, equality_keys, renumber
from fsql.compiler.binder.lateral import gives_elements
from fsql.compiler.binder.limit import resolve_item, row_bounds
from fsql.compiler.binder.operators import call
from fsql.compiler.binder.rank import RankCall, bind_order, rank
from fsql.compiler.binder.relation import (
    Relation,
    apply_alias,
    column_refs,
    project,
    relation_of,
)
from fsql.compiler.binder.report import not_implemented
from fsql.compiler.expression import ColumnRef
from fsql.compiler.logical import Rank, RankFunction

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.compiler.binder.context import Context
    from fsql.compiler.binder.declared_functions import Functions
    from fsql.compiler.binder.scope import Layer
    from fsql.compiler.binder.subquery import Subquery
    from fsql.compiler.expression import Expression

    SubqueryBinder = Callable[[syntax.Query, Layer], Subquery]


def reads_tables(written: syntax.Relation, functions: Functions) -> bool:
    """Return whether a lateral relation is a subquery that reads tables, and not only arrays of a row."""
    if not isinstance(written, syntax.Derived) or not isinstance(written.query.body, syntax.Select):
        return False
    return not all(gives_elements(each, functions) for each in written.query.body.relations)


def bind_lateral_rows(
    outer: Relation, written: syntax.Derived, bind_subquery: SubqueryBinder, context: Context
) -> tuple[Relation, list[Expression]]:
    """Return the rows of a LATERAL subquery, and the conditions that join them with `outer`.

    Raises:
        Refusal: E2xx to E4xx.
        Abandoned: where several parts were refused.
    """
    query, select = written.query, written.query.body
    assert isinstance(select, syntax.Select)
    if select.distinct or select.distinct_on:
        raise not_implemented("DISTINCT in a LATERAL subquery over a table", select.span)
    plain = replace(query, order_by=(), limit=None, offset=None)
    subquery = bind_subquery(plain, outer.fields)
    if subquery.is_aggregate:
        raise not_implemented(
            "aggregate in a LATERAL subquery over a table",
            written.span,
            help="write it as a value: (SELECT COUNT(*) FROM x WHERE x.k = t.k)",
        )
    rows, spans = subquery.rows, context.source_spans
    equalities = equality_keys(rows.correlated, rows.width, spans)
    pairs = [pair for found in equalities.values() for pair in found]
    keys = [inner for inner, _ in pairs]
    others = [each for each in rows.correlated if each not in equalities]
    compared = sorted({i for each in others for i in columns_in(each) if i < rows.width})
    plan = rows.relation.plan
    if query.order_by or query.limit is not None or query.offset is not None:
        if others or not equalities:
            raise not_implemented(
                "comparison with the rows before LATERAL that is not an equality, together with LIMIT"
                if others
                else "first rows of a LATERAL subquery without an equality with the rows before it",
                written.span,
                help="write WHERE x.k = t.k, and other comparisons in the WHERE of the whole query",
            )
        plan = _first_rows(query, select, subquery, keys, context)
    names = [item.name for item in subquery.items]
    values = [item.expression for item in subquery.items]
    hidden = [*keys, *(column_refs(plan)[i] for i in compared)]
    plan = project(plan, [*values, *hidden], [*names, *(f"key_{i}" for i in range(len(hidden)))])
    visible = relation_of(plan, None).fields[: len(values)]
    relation = Relation(plan, visible)
    if written.alias is not None:
        relation = apply_alias(relation, written.alias)
    on = [
        call("eq", mine, ColumnRef(key.type, key.nullable, outer.width + len(values) + index))
        for index, (key, mine) in enumerate(pairs)
    ]
    first = outer.width + len(values) + len(keys)
    places = {column: first + index for index, column in enumerate(compared)}
    on += [renumber(each, lambda i: places.get(i, i - rows.width), spans) for each in others]
    return relation, on


def _first_rows(
    query: syntax.Query,
    select: syntax.Select,
    subquery: Subquery,
    keys: list[Expression],
    context: Context,
) -> Rank:
    """Return the rows of the subquery that ORDER BY and LIMIT keep for each key.

    Raises:
        Refusal: E301 without one of the two.
    """
    if not query.order_by or query.limit is None:
        raise not_implemented(
            "ORDER BY without LIMIT" if query.order_by else "LIMIT without ORDER BY in LATERAL",
            query.span,
            help="write ORDER BY x LIMIT n: the first rows of each key",
        )
    binder = ExpressionBinder(
        subquery.rows.relation.scope,
        "ORDER BY",
        context.source_spans,
        context.functions,
        context.zone,
    )
    items = [
        replace(item, expression=resolve_item(item.expression, select)) for item in query.order_by
    ]
    order = bind_order(binder, items)
    ranking = RankCall(RankFunction.ROW_NUMBER, tuple(keys), order)
    ranked = rank(subquery.rows.relation.plan, ranking, None, None, query.span)
    skipped, limit = row_bounds(query)
    assert isinstance(ranked, Rank)
    return replace(ranked, skipped=skipped, limit=limit)
