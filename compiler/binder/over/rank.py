"""Ranks: `ROW_NUMBER() OVER (PARTITION BY k ORDER BY x)`, and the rows that ORDER BY … LIMIT keeps.

Ranks partitioned by the bounds of a window are final when it closes, unless EMIT CHANGES is given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.binder.report import refusal
from fsql.compiler.logical import OrderKey

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler import syntax
    from fsql.compiler.binder.expressions.clause import ClauseBinder
    from fsql.compiler.expression import Expression


def bind_order(binder: ClauseBinder, items: Sequence[syntax.OrderItem]) -> tuple[OrderKey, ...]:
    """Return the keys of an ORDER BY; by default NULL is last if ascending, and first if descending.

    Raises:
        Refusal: E2xx to E4xx.
    """
    return tuple(order_key(binder.bind_and_check_size(item.expression), item) for item in items)


def order_key(expression: Expression, item: syntax.OrderItem) -> OrderKey:
    """Return the key of an ORDER BY for a bound expression."""
    first = item.descending if item.nulls_first is None else item.nulls_first
    return OrderKey(expression, item.descending, first)


def check_rank_call(written: syntax.FunctionCall, window: syntax.WindowSpecification) -> None:
    """Check the clauses of a ranking function.

    Raises:
        Refusal: E401, E404.
    """
    name = written.name.parts[-1].name.upper()
    if written.arguments:
        raise refusal("E401", f"function {name} takes no arguments", written.span)
    refuse_frame(name, window)
    if not window.order_by and name != "ROW_NUMBER":
        raise refusal(
            "E404",
            f"function {name} requires ORDER BY",
            written.span,
            help=f"write {name}() OVER (… ORDER BY …)",
        )


def refuse_frame(name: str, window: syntax.WindowSpecification) -> None:
    """Check that no frame is given.

    Raises:
        Refusal: E404.
    """
    if window.frame is not None:
        raise refusal(
            "E404",
            f"function {name} takes no frame",
            window.frame.span,
            help="remove the frame",
        )
