"""CASE and CAST."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler import syntax
from fsql.compiler.diagnostics import Diagnostic, FsqlError, Label

if TYPE_CHECKING:
    from fsql.compiler.parser.lexer import Token
    from fsql.compiler.text.source import Span


def case(
    span: Span,
    operand: syntax.Expression | None,
    branches: tuple[syntax.WhenClause, ...],
    otherwise: syntax.Expression | None,
) -> syntax.Case:
    """Return `CASE a WHEN b THEN c ELSE d END`.

    Raises:
        FsqlError: E101 for several values without an operand that they are compared with.
    """
    spans = [branch.span for branch in branches]
    if operand is None and len(spans) > len(set(spans)):
        label = Label(next(each for each in spans if spans.count(each) > 1), "several conditions")
        help_ = (
            "write OR between conditions, or the operand after CASE: CASE a WHEN 1, 2 THEN b END"
        )
        raise FsqlError([Diagnostic("E101", "WHEN with several values", label, helps=(help_,))])
    return syntax.Case(span, operand, branches, otherwise)


def when_clauses(
    _span: Span, *branches: tuple[syntax.WhenClause, ...]
) -> tuple[syntax.WhenClause, ...]:
    """Return the branches of CASE."""
    return tuple(clause for branch in branches for clause in branch)


def when_clause(span: Span, *parts: syntax.Expression) -> tuple[syntax.WhenClause, ...]:
    """Return `WHEN b THEN a`; `WHEN b, c THEN a` is two branches."""
    *values, result = parts
    return tuple(syntax.WhenClause(span, value, result) for value in values)


def colon_cast(span: Span, operand: syntax.Expression, type_: syntax.TypeName) -> syntax.Cast:
    """Return `a::type`."""
    return syntax.Cast(span, operand, type_, safe=False)


def cast(
    span: Span, token: Token, operand: syntax.Expression, type_: syntax.TypeName
) -> syntax.Cast:
    """Return `CAST(a AS type)`."""
    return syntax.Cast(span, operand, type_, token.kind == "TRY_CAST")
