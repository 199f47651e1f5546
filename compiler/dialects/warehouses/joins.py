"""Joins of Snowflake and Spark: MATCH_CONDITION of ASOF JOIN, and LATERAL VIEW."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler import syntax
from fsql.compiler.diagnostics import Diagnostic, FsqlError, Label

if TYPE_CHECKING:
    from fsql.compiler.parser.lexer import Token
    from fsql.compiler.text.source import Span


def matched_join(
    span: Span,
    kind: syntax.JoinKind,
    right: syntax.Relation,
    _word: object,
    times: syntax.Expression,
    condition: syntax.Expression,
) -> syntax.JoinClause:
    """Return `ASOF JOIN b MATCH_CONDITION (p) ON q`, which is `ASOF LEFT JOIN b ON p AND q`.

    Raises:
        FsqlError: E101 for other joins.
    """
    if kind not in {"ASOF", "ASOF LEFT"}:
        label = Label(times.span, "only ASOF JOIN has it")
        help_ = "write the condition in ON"
        raise FsqlError(
            [
                Diagnostic(
                    "E101", "MATCH_CONDITION of another join than ASOF JOIN", label, helps=(help_,)
                )
            ]
        )
    both = syntax.Logical(times.span.to(condition.span), "AND", (times, condition))
    return syntax.JoinClause(span, "ASOF LEFT", right, both, (), natural=False)


def lateral_view(
    span: Span,
    outer: Token | None,
    function: syntax.Identifier,
    array: syntax.Expression,
    alias: syntax.Identifier | None,
    columns: tuple[syntax.Identifier, ...],
) -> syntax.JoinClause:
    """Return `LATERAL VIEW explode(a) t AS b` as CROSS JOIN UNNEST(a) AS t(b), with OUTER as LEFT JOIN.

    Raises:
        FsqlError: E101 for other functions.
    """
    if function.name.upper() != "EXPLODE":
        help_ = "write CROSS JOIN UNNEST(array) WITH ORDINALITY AS u(x, n)"
        label = Label(function.span, "only EXPLODE is allowed here")
        message = f'LATERAL VIEW of function "{function.name}"'
        raise FsqlError([Diagnostic("E101", message, label, helps=(help_,))])
    named = syntax.TableAlias(span, alias or columns[0], columns)
    unnest = syntax.Unnest(span, array, ordinality=False, alias=named, whole=True)
    if outer is None:
        return syntax.JoinClause(span, "CROSS", unnest, None, (), natural=False)
    always = syntax.BooleanLiteral(span, value=True)
    return syntax.JoinClause(span, "LEFT", unnest, always, (), natural=False)


def view_columns(_span: Span, *names: syntax.Identifier) -> tuple[syntax.Identifier, ...]:
    """Return the names after `LATERAL VIEW explode(a) t AS`."""
    return names
