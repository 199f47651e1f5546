"""`SELECT DISTINCT ON (k) … ORDER BY k, x DESC`: the first row of each key.

SELECT DISTINCT ON (k) items FROM t ORDER BY k, x DESC
→  SELECT items FROM t QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY x DESC) = 1
"""

from __future__ import annotations

from dataclasses import replace

from fsql.compiler import syntax
from fsql.compiler.binder.limit import resolve_item
from fsql.compiler.binder.report import not_implemented, refusal


def as_first_rows(query: syntax.Query, select: syntax.Select) -> syntax.Select:
    """Return `select`, the body of `query`, with its DISTINCT ON and the ORDER BY as a rank.

    Raises:
        Refusal: E301, E316.
    """
    keys = tuple(resolve_item(key, select) for key in select.distinct_on)
    span = keys[0].span.to(keys[-1].span)
    for written in (query.limit, query.offset, select.qualify):
        if written is not None:
            clause = "QUALIFY" if written is select.qualify else "LIMIT"
            raise not_implemented(
                f"DISTINCT ON with {clause}",
                written.span,
                help=f"write DISTINCT ON in a subquery in FROM, and {clause} outside",
            )
    order = [
        replace(item, expression=resolve_item(item.expression, select)) for item in query.order_by
    ]
    leading, within = order[: len(keys)], tuple(order[len(keys) :])
    if any(item.expression not in keys for item in leading):
        raise refusal(
            "E316",
            "ORDER BY does not begin with the expressions of DISTINCT ON",
            next(item.span for item in leading if item.expression not in keys),
            help="write ORDER BY k, x DESC for DISTINCT ON (k)",
        )
    name = syntax.QualifiedName.of(span, "ROW_NUMBER")
    window = syntax.WindowSpecification(span, None, keys, within, None)
    number = syntax.FunctionCall(span, name, (), over=window)
    first = syntax.Comparison(span, "=", number, syntax.NumberLiteral(span, "1"))
    return replace(select, distinct_on=(), qualify=first)
