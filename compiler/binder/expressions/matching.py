"""Pattern matching of texts: LIKE and ILIKE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler import syntax
from fsql.compiler.binder.expressions.call_arguments import require_literal
from fsql.compiler.binder.report import refusal
from fsql.compiler.expression import Literal
from fsql.compiler.functions.calls import call, combine_balanced, make_call
from fsql.compiler.functions.evaluate import constant_value
from fsql.compiler.functions.table import FUNCTIONS
from fsql.compiler.sqltypes import BOOLEAN, STRING, Kind

if TYPE_CHECKING:
    from fsql.compiler.binder.expressions.clause import ClauseBinder
    from fsql.compiler.expression import Expression


def _replace_escape(pattern: Expression, escape: syntax.Expression) -> Expression:
    r"""Return a pattern with another escape character as one with `\`.

    Raises:
        Refusal: E405 if the escape is not a single character in quotes, or ends the pattern; E403 if the
            pattern is not constant.
    """
    if not isinstance(escape, syntax.StringLiteral) or len(escape.value) > 1:
        raise refusal("E405", "the escape of LIKE is one character in quotes, or none", escape.span)
    text = constant_value(pattern)
    if escape.value == "\\" or pattern.type != STRING:
        return pattern
    if not isinstance(text, str):
        raise refusal(
            "E403",
            "pattern of LIKE with ESCAPE is not constant",
            escape.span,
            help="write \\ before % and _ in the pattern, and remove ESCAPE",
        )
    made = []
    characters = iter(text)
    for character in characters:
        if character == escape.value:
            following = next(characters, None)
            if following is None:
                raise refusal(
                    "E405", "LIKE pattern must not end with the escape character", escape.span
                )
            made.append("\\" + following)
        else:
            made.append("\\\\" if character == "\\" else character)
    return Literal(STRING, nullable=False, value="".join(made))


def bind_like(binder: ClauseBinder, like: syntax.Like) -> Expression:
    r"""Bind `a [NOT] LIKE pattern [ESCAPE 'c']`; ILIKE compares in lower case."""
    return _bind_test(binder, binder.bind(like.operand), like)


def bind_like_any(binder: ClauseBinder, written: syntax.LikeAny) -> Expression:
    """Bind `a [NOT] LIKE ANY (p, q)` as `a [NOT] LIKE p OR a [NOT] LIKE q`, and ALL with AND."""
    operand = binder.bind(written.operand)
    if not written.patterns:
        return Literal(BOOLEAN, nullable=False, value=written.all_of)
    tests = [
        syntax.Like(written.span, written.operand, each, None, written.negated, written.ignore_case)
        for each in written.patterns
    ]
    found = [_bind_test(binder, operand, test) for test in tests]
    return combine_balanced("and" if written.all_of else "or", found)


def _bind_test(binder: ClauseBinder, operand: Expression, like: syntax.Like) -> Expression:
    """Bind LIKE, whose operand is bound.

    Raises:
        Refusal: E2xx to E4xx.
    """
    pattern = binder.bind(like.pattern)
    if pattern.type.kind is Kind.NULL and operand.type.kind in {Kind.STRING, Kind.NULL}:
        return Literal(BOOLEAN, nullable=True, value=None)
    if like.escape is not None:
        pattern = _replace_escape(pattern, like.escape)
    if like.ignore_case:
        operand, pattern = (make_call("lower", each) or each for each in (operand, pattern))
    made = make_call("like", operand, pattern)
    if made is None:
        raise refusal(
            "E206",
            f"LIKE does not take {operand.type} and {pattern.type}",
            like.span,
            help="cast the value: CAST(… AS STRING)" if pattern.type == STRING else None,
        )
    found = require_literal(FUNCTIONS["like"], made, like)
    return call("not", found) if like.negated else found
