"""Tests of texts by patterns: LIKE and SIMILAR TO."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler import syntax
from fsql.compiler.diagnostics import Diagnostic, FsqlError, Label

if TYPE_CHECKING:
    from fsql.compiler.parser.lexer import Token
    from fsql.compiler.text.source import Span


def like(
    span: Span,
    operand: syntax.Expression,
    negated: Token | None,
    token: Token,
    pattern: syntax.Expression,
    escape: syntax.Expression | None,
) -> syntax.Like:
    """Return `a LIKE pattern`."""
    return syntax.Like(span, operand, pattern, escape, negated is not None, token.kind == "ILIKE")


def like_any(
    span: Span,
    operand: syntax.Expression,
    negated: Token | None,
    token: Token,
    quantifier: Token,
    *patterns: syntax.Expression,
) -> syntax.LikeAny:
    """Return `a LIKE ANY (ARRAY[p, q])` or `a LIKE ANY (p, q)`.

    Raises:
        FsqlError: E101 if the patterns are not listed.
    """
    if len(patterns) == 1 and isinstance(patterns[0], syntax.ArrayConstructor):
        patterns = patterns[0].items
    elif len(patterns) == 1 and not isinstance(patterns[0], syntax.StringLiteral):
        message = "patterns of LIKE ANY must be listed"
        help_ = "write LIKE ANY (ARRAY['a%', 'b%'])"
        raise FsqlError([Diagnostic("E101", message, Label(patterns[0].span), helps=(help_,))])
    return syntax.LikeAny(
        span,
        operand,
        patterns,
        all_of=quantifier.kind == "ALL",
        negated=negated is not None,
        ignore_case=token.kind == "ILIKE",
    )


def similar(
    span: Span,
    operand: syntax.Expression,
    negated: Token | None,
    pattern: syntax.Expression,
    escape: syntax.Expression | None,
) -> syntax.Expression:
    """Return `a SIMILAR TO pattern ESCAPE '!'` as a call, whose pattern has backslashes.

    Raises:
        FsqlError: E101 for an escape that is not one character.
    """
    if escape is not None:
        pattern = _with_backslashes(pattern, escape)
    found = syntax.FunctionCall.of(span, "SIMILAR_TO", operand, pattern)
    return syntax.Not(span, found) if negated is not None else found


def _with_backslashes(
    pattern: syntax.Expression, escape: syntax.Expression
) -> syntax.StringLiteral:
    """Return a pattern with backslashes instead of another escape character.

    Raises:
        FsqlError: E101.
    """
    for part in (pattern, escape):
        if not isinstance(part, syntax.StringLiteral):
            message = "pattern of SIMILAR TO … ESCAPE is not a text"
            raise FsqlError([Diagnostic("E101", message, Label(part.span, "write it here"))])
    assert isinstance(pattern, syntax.StringLiteral)
    assert isinstance(escape, syntax.StringLiteral)
    if len(escape.value) != 1:
        message = "ESCAPE is not one character"
        raise FsqlError([Diagnostic("E101", message, Label(escape.span))])
    other = {"\\": r"\\", escape.value: "\\"}
    made, escaped = "", False
    for sign in pattern.value:
        made += sign if escaped else other.get(sign, sign)
        escaped = not escaped and sign == escape.value
    return replace(pattern, value=made)
