"""Row patterns of MATCH_RECOGNIZE: variables, quantifiers, and where the next match begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.report import not_implemented
from fsql.compiler.binder.row_patterns.navigations import (
    Symbol,
    find_symbol,
    invalid,
    unknown_variable,
)
from fsql.compiler.row_matching.automaton import PAIRS_MAX, STATES_MAX, automaton_of, states_of
from fsql.compiler.row_pattern import (
    PatternChoice,
    PatternPart,
    PatternRepeat,
    PatternSequence,
    PatternVariable,
    SkipTo,
    least_rows,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_REFUSED: Final = {
    "exclusion": "remove the brackets: with ONE ROW PER MATCH, only measures are returned",
    "PERMUTE": "write the orders as alternatives: (A B | B A)",
}
_SKIPS: Final = {
    "PAST LAST ROW": SkipTo.PAST_LAST_ROW,
    "NEXT ROW": SkipTo.NEXT_ROW,
    "FIRST": SkipTo.FIRST,
    "LAST": SkipTo.LAST,
}


def symbols_of(written: syntax.MatchRecognize) -> tuple[Symbol, ...]:
    """Return the variables of the pattern in the order of their first mention, then the subsets.

    Raises:
        Refusal: E326.
    """
    symbols: list[Symbol] = []
    for name in _names(written.pattern):
        if find_symbol(name, symbols) is None:
            symbols.append(Symbol(name.name, (len(symbols),)))
    variables = len(symbols)
    for subset in written.subsets:
        if find_symbol(subset.name, symbols) is not None:
            raise invalid(
                f'SUBSET "{subset.name.name}" is the name of a variable or of another SUBSET',
                subset.name.span,
                "use another name",
            )
        members: list[int] = []
        for name in subset.variables:
            index = find_symbol(name, symbols[:variables])
            if index is None:
                raise unknown_variable(name.span, symbols[:variables])
            members.append(index)
        symbols.append(Symbol(subset.name.name, tuple(members), is_variable=False))
    return tuple(symbols)


def _names(pattern: syntax.Pattern) -> Iterator[syntax.Identifier]:
    match pattern:
        case syntax.PatternName(name=name):
            yield name
        case syntax.PatternChain(parts=parts):
            for part in parts:
                yield from _names(part)
        case syntax.PatternQuantified(part=part):
            yield from _names(part)
        case syntax.PatternRefused(what=what):
            raise not_implemented(
                "exclusion {- … -} in PATTERN" if what == "exclusion" else "PERMUTE in PATTERN",
                pattern.span,
                help=_REFUSED[what],
            )


def bind_pattern(written: syntax.Pattern, symbols: Sequence[Symbol]) -> PatternPart:
    """Return the pattern.

    Raises:
        Refusal: E326 if it may be empty, or has too many states.
    """
    pattern = _part(written, symbols)
    if least_rows(pattern) == 0:
        raise invalid(
            "pattern that can match no rows at all",
            written.span,
            "make at least one part required: write A+ instead of A*",
        )
    if states_of(pattern) > STATES_MAX:
        raise invalid(
            f"pattern of {states_of(pattern):,} states; the limit is {STATES_MAX:,}",
            written.span,
            "use smaller numbers in the quantifiers; each repeats its part as often",
        )
    pairs = sum(map(len, automaton_of(pattern).following))
    if pairs > PAIRS_MAX:
        raise invalid(
            f"pattern with {pairs:,} transitions between states; the limit is {PAIRS_MAX:,}",
            written.span,
            "use smaller numbers in the quantifiers, and parts that take at least one row: (A?){9} as A{,9}",
        )
    return pattern


def _part(written: syntax.Pattern, symbols: Sequence[Symbol]) -> PatternPart:
    match written:
        case syntax.PatternName(name=name):
            index = find_symbol(name, symbols)
            assert index is not None
            return PatternVariable(index)
        case syntax.PatternChain(parts=parts, either=either):
            made = tuple(_part(part, symbols) for part in parts)
            return PatternChoice(made) if either else PatternSequence(made)
        case syntax.PatternQuantified(part=part, least=least, most=most, greedy=greedy):
            return PatternRepeat(_part(part, symbols), least, most, greedy)
        case _:
            raise AssertionError(written)


def bind_skip(
    written: syntax.SkipTarget | None, symbols: Sequence[Symbol]
) -> tuple[SkipTo, tuple[int, ...]]:
    """Return where the next match may begin, and at rows of which variables.

    Raises:
        Refusal: E326.
    """
    if written is None:
        return SkipTo.PAST_LAST_ROW, ()
    if written.variable is None:
        return _SKIPS[written.kind], ()
    index = find_symbol(written.variable, symbols)
    if index is None:
        raise unknown_variable(written.variable.span, symbols)
    return _SKIPS[written.kind], symbols[index].variables
