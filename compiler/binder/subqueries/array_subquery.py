"""`ARRAY(SELECT …)`: an aggregate as a value.

    ARRAY(SELECT x FROM b WHERE p ORDER BY y)
        →   COALESCE((SELECT ARRAY_AGG(x ORDER BY y) FROM b WHERE p), ARRAY[])

Another query than a plain SELECT is a subquery in FROM, with the expressions of its ORDER BY as further
columns.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.limit import resolve_item
from fsql.compiler.binder.references import has_running_call
from fsql.compiler.binder.report import not_implemented, refusal
from fsql.compiler.binder.scope import quantity_text
from fsql.compiler.binder.subqueries.subquery import has_aggregate_call
from fsql.compiler.syntax.names import generated_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.text.source import Span

_ROWS: Final = generated_name("array")
_ELEMENT: Final = generated_name("element")


def as_aggregate(written: syntax.ArraySubquery) -> syntax.ScalarSubquery:
    """Return the subquery that has the array as its value, and NULL for no rows.

    Raises:
        Refusal: E209, if its SELECT has several items; E301 and E316 for its ORDER BY.
    """
    query = written.query
    select = query.body
    if not isinstance(select, syntax.Select) or isinstance(select.items[0], syntax.Star):
        by = [_by_element(each) for each in query.order_by]
        return _aggregate(written, _column(query.span, _ELEMENT), by, _rows(query, [_ELEMENT]))
    if len(select.items) > 1:
        raise refusal(
            "E209",
            f"ARRAY of a subquery with {quantity_text(len(select.items), 'column')}",
            query.span,
            help="SELECT one column, or ROW(a, b)",
        )
    element = select.items[0].expression
    order = [
        replace(each, expression=resolve_item(each.expression, select)) for each in query.order_by
    ]
    if _is_plain(query, select, [element, *(each.expression for each in order)]):
        return _aggregate(written, element, order, select)
    names = {element: _ELEMENT}
    for each in order:
        if select.distinct and each.expression != element:
            raise refusal(
                "E316",
                "ORDER BY of SELECT DISTINCT has an expression that is not selected",
                each.span,
                help="use GROUP BY instead of DISTINCT",
            )
        names.setdefault(each.expression, f"order_{len(names)}")
    items = tuple(syntax.SelectItem(each.span, each, None) for each in names)
    below = replace(query, body=replace(select, items=items))
    by = [replace(each, expression=_column(each.span, names[each.expression])) for each in order]
    rows = _rows(below, list(names.values()))
    return _aggregate(written, _column(element.span, _ELEMENT), by, rows)


def _is_plain(
    query: syntax.Query, select: syntax.Select, expressions: Sequence[syntax.Expression]
) -> bool:
    """Return whether the rows of a SELECT can be aggregated in it."""
    if query.common_tables or query.limit is not None or query.offset is not None:
        return False
    clauses = (select.distinct, select.distinct_on, select.group_by is not None, select.windows)
    if any(clauses) or any(
        each is not None for each in (select.having, select.qualify, select.emit)
    ):
        return False
    return not (has_aggregate_call(expressions) or has_running_call(expressions))


def _by_element(item: syntax.OrderItem) -> syntax.OrderItem:
    """Return an item of ORDER BY that names the only column of a query."""
    if not isinstance(item.expression, syntax.NumberLiteral | syntax.ColumnReference):
        raise not_implemented(
            "ORDER BY an expression in ARRAY of a set operation",
            item.span,
            help="name the column, or its number",
        )
    return replace(item, expression=_column(item.span, _ELEMENT))


def _rows(query: syntax.Query, names: Sequence[str]) -> syntax.Select:
    """Return a SELECT from a query, without items; its columns have the names given."""
    span, body = query.span, query.body
    chosen = isinstance(body, syntax.Select) and bool(body.distinct_on)
    if query.limit is None and query.offset is None and not chosen:
        query = replace(query, order_by=())
    columns = tuple(syntax.Identifier(span, name) for name in names)
    alias = syntax.TableAlias(span, syntax.Identifier(span, _ROWS), columns)
    rows = syntax.Derived(span, query, lateral=False, alias=alias)
    return syntax.Select(span, distinct=False, items=(), relations=(rows,))


def _aggregate(
    written: syntax.ArraySubquery,
    element: syntax.Expression,
    order: Sequence[syntax.OrderItem],
    select: syntax.Select,
) -> syntax.ScalarSubquery:
    """Return the array of an element of the rows of a SELECT."""
    span = written.span
    name = syntax.QualifiedName.of(span, "ARRAY_AGG")
    array = syntax.FunctionCall(span, name, (element,), order_by=tuple(order))
    items = (syntax.SelectItem(span, array, None),)
    return syntax.ScalarSubquery(
        span, syntax.Query(written.query.span, replace(select, items=items))
    )


def _column(span: Span, name: str) -> syntax.ColumnReference:
    return syntax.ColumnReference(
        span, (syntax.Identifier(span, _ROWS), syntax.Identifier(span, name))
    )
