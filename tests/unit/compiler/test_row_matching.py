"""The matcher of row patterns: what regular expressions find, at a bounded cost for each row.

Rows are letters, and each variable takes one letter, or any.  Python's `re` prefers as MATCH_RECOGNIZE does,
and tries ways one by one.
"""

from __future__ import annotations

import re
from random import Random

import pytest

from fsql.compiler.expression import Call, ColumnRef, Literal
from fsql.compiler.row_matching import NO_ROWS, Matcher
from fsql.compiler.row_matching.automaton import automaton_of, states_of
from fsql.compiler.row_pattern import (
    THREADS_MAX,
    Navigation,
    NavigationKind,
    PatternChoice,
    PatternPart,
    PatternRepeat,
    PatternSequence,
    PatternVariable,
    RowPattern,
    SkipTo,
    least_rows,
)
from fsql.compiler.sqltypes import BIGINT, BOOLEAN

LETTERS = "abc"
ANY = len(LETTERS)
VARIABLES = (*LETTERS, ".")
COUNT = Navigation(NavigationKind.COUNT, (), None, 0, BIGINT, BOOLEAN)
FIRST = Navigation(NavigationKind.FIRST, (), 1, 0, BIGINT, BIGINT)
CLASSIFIER = Navigation(NavigationKind.CLASSIFIER, (), None, 0, BIGINT, BIGINT)


def drawn(random: Random, depth: int = 2) -> PatternPart:
    """Return a part of a pattern."""
    kind = random.choice(("variable", "sequence", "choice", "repeat") if depth else ("variable",))
    if kind == "variable":
        return PatternVariable(random.randrange(len(VARIABLES)))
    if kind == "repeat":
        least = random.choice((0, 0, 1, 2))
        most = random.choice((None, None, least + 1, least + 2, max(least, 1)))
        return PatternRepeat(drawn(random, depth - 1), least, most, random.choice((True, False)))
    parts = tuple(drawn(random, depth - 1) for _ in range(random.choice((1, 2, 3))))
    return PatternSequence(parts) if kind == "sequence" else PatternChoice(parts)


def expression_of(part: PatternPart) -> str:
    """Return the regular expression of a part."""
    match part:
        case PatternVariable(variable=variable):
            return VARIABLES[variable]
        case PatternSequence(parts=parts):
            return "".join(map(expression_of, parts))
        case PatternChoice(parts=parts):
            return f"(?:{'|'.join(map(expression_of, parts))})"
        case _:
            assert isinstance(part, PatternRepeat)
            times = f"{{{part.least},{'' if part.most is None else part.most}}}"
            return f"(?:{expression_of(part.part)}){times}{'' if part.greedy else '?'}"


def row_pattern(part: PatternPart, skip_to: SkipTo, *, looks_back: bool = False) -> RowPattern:
    """Return a pattern whose conditions are fields 2 to 4, for each letter."""
    fields = tuple(ColumnRef(BOOLEAN, nullable=False, index=2 + i) for i in range(len(LETTERS)))
    always = Literal(BOOLEAN, nullable=False, value=True)
    count = ColumnRef(BIGINT, nullable=False, index=2 + len(LETTERS))
    seen = Call(BOOLEAN, nullable=False, function="is_not_null", arguments=(count,))
    return RowPattern(
        VARIABLES,
        part,
        (*fields, seen if looks_back else always),
        (COUNT,) if looks_back else (),
        (FIRST, COUNT, CLASSIFIER),
        None,
        skip_to,
        (),
        2 + len(LETTERS),
    )


def rows_of(text: str) -> list[tuple[bool | int, ...]]:
    """Return a row for each letter, whose time is its place, and the timer behind them."""
    rows = [
        (True, place, *(each == letter for letter in LETTERS)) for place, each in enumerate(text)
    ]
    return [*rows, (False, len(text), *(False for _ in LETTERS))]


def found_in(pattern: RowPattern, text: str) -> list[tuple[int, int]]:
    """Return where matches begin, and how many rows they have."""
    matcher, matching = Matcher(pattern), NO_ROWS
    found: list[tuple[int, int]] = []
    for row in rows_of(text):
        matching, ways = matcher.advance(matching, row)
        for first, count, _ in matcher.measures(matching, ways):
            assert isinstance(first, int)
            assert isinstance(count, int)
            found.append((first, count))
        assert found == sorted(found)
    assert not matching.open_matches
    return found


@pytest.mark.slow
def test_matches_are_those_of_regular_expressions() -> None:
    random = Random("row matching")
    tried = met = 0
    while tried < 3_000:
        part = drawn(random)
        if not least_rows(part):
            continue
        tried += 1
        text = "".join(random.choice(LETTERS) for _ in range(random.choice((0, 3, 8, 15))))
        expression = re.compile(expression_of(part))
        looks_back = random.random() < 0.3
        pattern = row_pattern(part, SkipTo.PAST_LAST_ROW, looks_back=looks_back)
        expected = [(each.start(), len(each[0])) for each in expression.finditer(text)]
        assert found_in(pattern, text) == expected, (expression.pattern, text)
        pattern = row_pattern(part, SkipTo.NEXT_ROW, looks_back=looks_back)
        each_row = [expression.match(text, place) for place in range(len(text))]
        expected = [(each.start(), len(each[0])) for each in each_row if each is not None]
        assert found_in(pattern, text) == expected, (expression.pattern, text)
        met += len(expected)
    assert met > 5_000


def threads_at_most(pattern: RowPattern, text: str) -> int:
    """Return how many threads there are at most at once."""
    matcher, matching = Matcher(pattern), NO_ROWS
    most = 0
    for row in rows_of(text):
        matching, _ = matcher.advance(matching, row)
        most = max(most, sum(len(each.threads) for each in matching.open_matches))
    return most


def nested(depth: int) -> PatternPart:
    """Return `((.*)*)*` and so on, for which backtracking takes exponential time, and an `a` behind it."""
    part: PatternPart = PatternVariable(ANY)
    for _ in range(depth):
        part = PatternRepeat(PatternChoice((part, PatternVariable(ANY))), 0, None)
    return PatternSequence((part, PatternVariable(0)))


def test_work_is_bounded_by_the_pattern() -> None:
    part = nested(6)
    pattern = row_pattern(part, SkipTo.PAST_LAST_ROW)
    assert threads_at_most(pattern, "b" * 300) <= states_of(part)


def test_ways_that_look_back_are_bounded() -> None:
    ways = PatternChoice((PatternVariable(0), PatternVariable(ANY)))
    part = PatternSequence((PatternRepeat(ways, 0, None), PatternVariable(1), PatternVariable(1)))
    pattern = row_pattern(part, SkipTo.PAST_LAST_ROW)
    counted = Navigation(NavigationKind.LAST, (0,), 1, 8, BIGINT, BIGINT)
    looking = RowPattern(
        pattern.names,
        part,
        (*pattern.conditions[:-1], Literal(BOOLEAN, nullable=False, value=True)),
        (counted,),
        pattern.measures,
        None,
        SkipTo.PAST_LAST_ROW,
        (),
        pattern.width,
    )
    matcher, matching = Matcher(looking), NO_ROWS
    most = 0
    for row in rows_of("a" * 16):
        matching, _ = matcher.advance(matching, row)
        most = max([most, *(len(each.threads) for each in matching.open_matches)])
    assert most == THREADS_MAX


def test_a_matching_is_made_again_of_its_rows() -> None:
    random = Random("matching of rows")
    for _ in range(300):
        part = drawn(random)
        if not least_rows(part):
            continue
        skip_to = random.choice((SkipTo.PAST_LAST_ROW, SkipTo.NEXT_ROW))
        matcher = Matcher(row_pattern(part, skip_to, looks_back=random.random() < 0.5))
        matching = again = NO_ROWS
        for row in rows_of("".join(random.choice(LETTERS) for _ in range(20))):
            before, rows = matcher.held_rows(matching)
            again = matcher.matching_of(before, rows, matching.found)
            matching, ways = matcher.advance(matching, row)
            after, same = matcher.advance(again, row)
            assert matcher.measures(matching, ways) == matcher.measures(after, same)
            assert matcher.held_rows(matching) == matcher.held_rows(after)


def test_old_rows_are_forgotten() -> None:
    matcher = Matcher(
        row_pattern(PatternSequence((PatternVariable(0), PatternVariable(1))), SkipTo.NEXT_ROW)
    )
    matching = NO_ROWS
    for row in rows_of("ac" * 500):
        matching, _ = matcher.advance(matching, row)
        assert matching.held < 40


def test_the_states_of_a_pattern() -> None:
    part = PatternSequence(
        (PatternVariable(0), PatternRepeat(PatternVariable(1), 0, None), PatternVariable(2))
    )
    automaton = automaton_of(part)
    named = [LETTERS[each] for each in automaton.variables]
    assert [named[each] for each in automaton.begin] == ["a"]
    after = {
        named[i]: [named[s] if s >= 0 else "end" for s in each]
        for i, each in enumerate(automaton.following)
    }
    assert after == {"a": ["b", "c"], "b": ["b", "c"], "c": ["end"]}
