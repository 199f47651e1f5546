"""Matching of texts with patterns: LIKE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler import syntax
from fsql.compiler.binder.calls import checked_literal
from fsql.compiler.binder.operators import call, make_call
from fsql.compiler.binder.report import not_implemented, refusal
from fsql.compiler.functions.table import FUNCTIONS
from fsql.compiler.sqltypes import STRING

if TYPE_CHECKING:
    from fsql.compiler.binder.expression import ExpressionBinder
    from fsql.compiler.expression import Expression


def bind_like(binder: ExpressionBinder, like: syntax.Like) -> Expression:
    r"""Bind `a [NOT] LIKE 'pattern'`; the escape character is `\`."""
    if like.ignore_case:
        raise not_implemented("ILIKE", like.span, help="compare LOWER(…) LIKE '…'")
    if like.escape is not None and like.escape != syntax.StringLiteral(like.escape.span, "\\"):
        raise not_implemented(
            "ESCAPE", like.escape.span, help="the escape character is the backslash"
        )
    operand, pattern = binder.bind(like.operand), binder.bind(like.pattern)
    made = make_call("like", operand, pattern)
    if made is None:
        raise refusal(
            "E206",
            f"LIKE does not take {operand.type} and {pattern.type}",
            like.span,
            help="cast the value: CAST(… AS STRING)" if pattern.type == STRING else None,
        )
    found = checked_literal(FUNCTIONS["like"], made, like)
    return call("not", found) if like.negated else found
