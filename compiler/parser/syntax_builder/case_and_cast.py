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
    several = [branch for branch in branches if len(branch.conditions) > 1]
    if operand is None and several:
        label = Label(several[0].span, "several conditions")
        help_ = (
            "write OR between conditions, or the operand after CASE: CASE a WHEN 1, 2 THEN b END"
        )
        raise FsqlError([Diagnostic("E101", "WHEN with several values", label, helps=(help_,))])
    return syntax.Case(span, operand, branches, otherwise)


def when_clauses(_span: Span, *branches: syntax.WhenClause) -> tuple[syntax.WhenClause, ...]:
    """Return the branches of CASE."""
    return branches


def when_clause(span: Span, *parts: syntax.Expression) -> syntax.WhenClause:
    """Return `WHEN b, c THEN a`."""
    *conditions, result = parts
    return syntax.WhenClause(span, tuple(conditions), result)


def colon_cast(span: Span, operand: syntax.Expression, type_: syntax.TypeName) -> syntax.Cast:
    """Return `a::type`."""
    return syntax.Cast(span, operand, type_, safe=False)


def cast(
    span: Span, token: Token, operand: syntax.Expression, type_: syntax.TypeName
) -> syntax.Cast:
    """Return `CAST(a AS type)`."""
    return syntax.Cast(span, operand, type_, token.kind == "TRY_CAST")
