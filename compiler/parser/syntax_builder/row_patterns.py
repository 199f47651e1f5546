"""MATCH_RECOGNIZE, its clauses and its pattern."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import cast as typed

from fsql.compiler import syntax
from fsql.compiler.diagnostics import Diagnostic, FsqlError, Label

if TYPE_CHECKING:
    from fsql.compiler.parser.lexer import Token
    from fsql.compiler.text.source import Span

_TIMES = {"STAR": (0, None), "PLUS": (1, None), "QUESTION": (0, 1)}
REPEATS_DIGITS_MAX = 6


def match_recognize(  # noqa: PLR0913, PLR0917 - a clause each
    span: Span,
    input_: syntax.Relation,
    partition_by: tuple[syntax.Expression, ...],
    order_by: tuple[syntax.OrderItem, ...] | None,
    measures: tuple[syntax.Measure, ...],
    all_rows: bool,  # noqa: FBT001 - a clause
    skip_to: syntax.SkipTarget | None,
    pattern: syntax.Pattern,
    within: syntax.Expression | None,
    subsets: tuple[syntax.Subset, ...],
    definitions: tuple[syntax.Definition, ...],
    alias: syntax.TableAlias | None,
) -> syntax.MatchRecognize:
    """Return `input MATCH_RECOGNIZE (…) AS alias`."""
    return syntax.MatchRecognize(
        span,
        input_,
        partition_by,
        order_by or (),
        measures,
        all_rows,
        skip_to,
        pattern,
        within,
        subsets,
        definitions,
        alias,
    )


def measures(_span: Span, *each: syntax.Measure | None) -> tuple[syntax.Measure, ...]:
    """Return `MEASURES a AS b, …`, nothing if it is missing."""
    return tuple(one for one in each if one is not None)


def measure(span: Span, expression: syntax.Expression, name: syntax.Identifier) -> syntax.Measure:
    """Return `expression AS name`."""
    return syntax.Measure(span, expression, name)


def rows_per_match(_span: Span, token: Token | None = None) -> bool:
    """Return whether ALL ROWS PER MATCH is given."""
    return token is not None


def skip_to(
    span: Span, token: Token | syntax.Identifier, variable: syntax.Identifier | None = None
) -> syntax.SkipTarget:
    """Return `PAST LAST ROW`, `TO NEXT ROW` or `TO FIRST a`; TO a is TO LAST a."""
    if isinstance(token, syntax.Identifier):
        return syntax.SkipTarget(span, "LAST", token)
    kind = {"PAST": "PAST LAST ROW", "NEXT": "NEXT ROW"}.get(token.kind, token.kind)
    return syntax.SkipTarget(span, typed("syntax.SkipKind", kind), variable)


def pattern(span: Span, *parts: syntax.Pattern) -> syntax.Pattern:
    """Return `A | B`, or its only part."""
    return parts[0] if len(parts) == 1 else syntax.PatternChain(span, parts, either=True)


def pattern_sequence(span: Span, *parts: syntax.Pattern) -> syntax.Pattern:
    """Return `A B`, or its only part."""
    return parts[0] if len(parts) == 1 else syntax.PatternChain(span, parts, either=False)


def pattern_factor(
    span: Span, part: syntax.Pattern, quantifier: tuple[int, int | None, bool] | None
) -> syntax.Pattern:
    """Return a part with its quantifier."""
    return part if quantifier is None else syntax.PatternQuantified(span, part, *quantifier)


def pattern_variable(span: Span, name: syntax.Identifier) -> syntax.PatternName:
    """Return a variable."""
    return syntax.PatternName(span, name)


def pattern_exclusion(span: Span, _pattern: syntax.Pattern) -> syntax.PatternRefused:
    """Return `{- A -}`."""
    return syntax.PatternRefused(span, "exclusion")


def pattern_permutation(span: Span, *_parts: syntax.Pattern) -> syntax.PatternRefused:
    """Return `PERMUTE(A, B)`."""
    return syntax.PatternRefused(span, "PERMUTE")


def pattern_quantifier(span: Span, *tokens: Token | None) -> tuple[int, int | None, bool]:
    """Return the minimum and the maximum number of repetitions, and whether the quantifier is greedy.

    Raises:
        FsqlError: E101 if a number is not valid, or the second is less than the first.
    """
    *bounds, last = tokens
    greedy = last is None
    first = bounds[0]
    if first is not None and first.kind in _TIMES:
        return (*_TIMES[first.kind], greedy)
    least = 0 if first is None else _number(span, first)
    last_bound = first if len(bounds) == 1 else bounds[2]
    most = None if last_bound is None else _number(span, last_bound)
    if most is not None and (most < least or not most):
        raise _wrong(span, "the quantifier allows no number of times")
    return least, most, greedy


def _number(span: Span, token: Token) -> int:
    text = token.text
    if not text.isdigit() or len(text) > REPEATS_DIGITS_MAX:
        raise _wrong(span, f'"{text}" is not a number of times')
    return int(text)


def _wrong(span: Span, message: str) -> FsqlError:
    label = Label(span, "a quantifier is written {2}, {2,} or {2,4}")
    return FsqlError([Diagnostic("E101", message, label)])


def subsets(_span: Span, *each: syntax.Subset | None) -> tuple[syntax.Subset, ...]:
    """Return `SUBSET a = (b, c), …`, nothing if it is missing."""
    return tuple(one for one in each if one is not None)


def subset(
    span: Span, name: syntax.Identifier, variables: tuple[syntax.Identifier, ...]
) -> syntax.Subset:
    """Return `a = (b, c)`."""
    return syntax.Subset(span, name, variables)


def definitions(_span: Span, *each: syntax.Definition) -> tuple[syntax.Definition, ...]:
    """Return the conditions of DEFINE."""
    return each


def definition(
    span: Span, variable: syntax.Identifier, condition: syntax.Expression
) -> syntax.Definition:
    """Return `a AS condition`."""
    return syntax.Definition(span, variable, condition)
