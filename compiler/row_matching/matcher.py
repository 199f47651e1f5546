"""The matcher: follows all candidates at once, in the order of preference.

A **partial match** begins at one row; its **threads** are the alternatives for continuing it, the preferred
one first.  A thread that reaches the end of the pattern makes its candidate, and those after it are dropped.
A partial match without threads is decided: its candidate is a match, or there is none.  Matches come in the
order of their first rows, so each is found at the row that decides it and all before it.

    PATTERN (A B* C)      rows   A   B   C   D
                          threads    B,C B,C B     then no thread before the candidate A B C: a match

Two threads of a partial match in one state, with equal registers, continue in the same way: only the
preferred one is kept.  So a partial match has at most as many threads as the pattern has states, if no
condition refers to earlier rows.  If the next match begins after the last row and there is no time limit,
this holds for all partial matches together: of two in one state, the later one can only find matches that the
earlier one finds, too.  So each row costs one pass over the states of the pattern.

A matching is immutable.  Its rows are those from the first open partial match on, and the rows before it that
PREV may read; matching them again yields the same matching, so a snapshot has only the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from fsql.compiler.expression import ColumnRef
from fsql.compiler.functions.evaluate import evaluate
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.row_matching.automaton import END, automaton_of
from fsql.compiler.row_matching.navigation import empty_registers, value_of, with_row
from fsql.compiler.row_pattern import IS_ROW, THREADS_MAX, TIME, NavigationKind, SkipTo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.expression import Expression, Value
    from fsql.compiler.row_matching.navigation import Fields, Registers
    from fsql.compiler.row_pattern import Navigation, RowPattern

_SPARE_ROWS = 16
"""The number of unneeded rows that are held before the others are copied."""


class MatchedRows(NamedTuple):
    """The rows of a match or a candidate: the last of them, its variable, and the rows before it."""

    variable: int
    number: int
    row: Fields
    before: MatchedRows | None


class _Thread(NamedTuple):
    state: int
    matched: MatchedRows | None
    registers: Registers


class _PartialMatch(NamedTuple):
    first: int
    time: int
    threads: tuple[_Thread, ...]
    candidate: MatchedRows | None


class _Rows(NamedTuple):
    """The last row and those before it."""

    row: Fields
    before: _Rows | None


class Matching(NamedTuple):
    """The state of matching in one partition; rows are numbered from any number on.

    `found` counts the matches, if a measure has their number.
    """

    open_matches: Sequence[_PartialMatch] = ()
    rows: _Rows | None = None
    held: int = 0
    next_row: int = 0
    next_first: int = 0
    found: int = 0


NO_ROWS: Final = Matching()


class Matcher:
    """Finds the matches of one pattern."""

    def __init__(self, pattern: RowPattern) -> None:
        self._pattern = pattern
        self._automaton = automaton_of(pattern.pattern)
        self._navigations = pattern.navigations
        empty = empty_registers(pattern.navigations)
        self._begin = tuple(_Thread(state, None, empty) for state in self._automaton.begin)
        kinds = [each.kind for each in pattern.navigations]
        self._looks_back = any(kind is not NavigationKind.PREV for kind in kinds)
        kinds = [each.kind for each in pattern.measures]
        self._numbers = NavigationKind.MATCH_NUMBER in kinds
        self._shares = pattern.skip_to is SkipTo.PAST_LAST_ROW and pattern.within_us is None
        self.rows_before = max(
            (each.offset for each in pattern.navigations if each.kind is NavigationKind.PREV),
            default=0,
        )
        """The number of rows before a match that conditions may read."""
        self._conditions = [_Condition(each, pattern.width) for each in pattern.conditions]
        begun = {self._automaton.variables[state] for state in self._automaton.begin}
        self._begin_fields = [self._conditions[each].field for each in sorted(begun)]

    def measures(self, matching: Matching, matches: Sequence[MatchedRows]) -> list[Fields]:
        """Return the measures of the matches that `advance` returned last.

        Raises:
            RowFailure: E505.
        """
        first = matching.found - len(matches) + 1
        return [self._measures(matched, first + index) for index, matched in enumerate(matches)]

    def advance(self, matching: Matching, row: Fields) -> tuple[Matching, Sequence[MatchedRows]]:
        """Return the matching after `row`, and the matches that it decides."""
        open_matches, rows, held, next_row, next_first, found = matching
        time = row[TIME]
        assert isinstance(time, int)
        if row[IS_ROW]:
            if not open_matches and not self._may_begin(row):
                return self._skip(matching, row), ()
            open_matches = self._expire(open_matches, time, ends=False)
            open_matches = self._follow(matching, open_matches, row, time)
            rows, held, next_row = _Rows(row, rows), held + 1, next_row + 1
        elif open_matches:
            open_matches = self._expire(open_matches, time, ends=True)
        else:
            return matching, ()
        matches: list[MatchedRows] = []
        if open_matches and not open_matches[0].threads:
            open_matches, next_first = self._take_decided(open_matches, next_first, matches)
        if self._numbers:
            found += len(matches)
        after = Matching(open_matches, rows, held, next_row, next_first, found)
        return self._without_old_rows(after), matches

    def _may_begin(self, row: Fields) -> bool:
        """Return whether a match may begin with a row, as far as its own fields determine that."""
        return any(field is None or row[field] is True for field in self._begin_fields)

    def _skip(self, matching: Matching, row: Fields) -> Matching:
        """Return the matching after a row that is part of no match."""
        open_matches, rows, held, next_row, next_first, found = matching
        if not self.rows_before:
            return matching
        after = Matching(open_matches, _Rows(row, rows), held + 1, next_row + 1, next_first, found)
        return self._without_old_rows(after)

    def held_rows(self, matching: Matching) -> tuple[int, list[Fields]]:
        """Return how many rows are before the first open partial match, and all rows that are needed."""
        wanted = self._rows_needed(matching)
        first = matching.open_matches[0].first if matching.open_matches else matching.next_row
        rows = _last_rows(matching.rows, wanted)
        return wanted - (matching.next_row - first), rows

    def matching_of(self, before: int, rows: Sequence[Fields], found: int) -> Matching:
        """Return the matching of which `held_rows` returned these rows."""
        matching = Matching(next_first=before)
        for row in rows:
            matching, _ = self.advance(matching, row)
        return matching._replace(found=found)

    def _expire(
        self, open_matches: Sequence[_PartialMatch], time: int, *, ends: bool
    ) -> Sequence[_PartialMatch]:
        """Return the partial matches without the threads that exceed the time limit."""
        within = self._pattern.within_us
        if within is None:
            return [each._replace(threads=()) for each in open_matches] if ends else open_matches
        if not open_matches or open_matches[0].time + within >= time:
            return open_matches  # Later ones have later times.
        return [
            each._replace(threads=()) if each.time + within < time else each
            for each in open_matches
        ]

    def _follow(
        self, matching: Matching, open_matches: Sequence[_PartialMatch], row: Fields, time: int
    ) -> list[_PartialMatch]:
        """Return the partial matches after `row`, and one that begins with it."""
        number = matching.next_row
        holds = _Holds(self, row, matching.rows)
        seen: set[object] = set()
        made: list[_PartialMatch] = []
        ended = False
        for each in open_matches:
            if not self._shares:
                seen = set()
            after = self._step(each, row, number, holds, seen)
            if after.threads or after.candidate is not None:
                made.append(after)
            ended = after.candidate is not each.candidate
            if ended and self._pattern.skip_to is SkipTo.PAST_LAST_ROW:
                break
        else:
            ended = False
        if not ended and number >= matching.next_first and self._may_begin(row):
            seen = seen if self._shares else set()
            begun = _PartialMatch(number, time, self._begin, None)
            after = self._step(begun, row, number, holds, seen)
            if after.threads or after.candidate is not None:
                made.append(after)
        return made

    def _step(
        self, partial: _PartialMatch, row: Fields, number: int, holds: _Holds, seen: set[object]
    ) -> _PartialMatch:
        following, variables = self._automaton.following, self._automaton.variables
        threads: list[_Thread] = []
        candidate = partial.candidate
        for thread in partial.threads:
            variable = variables[thread.state]
            registers = holds(variable, thread.registers)
            if registers is None:
                continue
            matched = MatchedRows(variable, number, row, thread.matched)
            for state in following[thread.state]:
                if state == END:
                    return _PartialMatch(partial.first, partial.time, tuple(threads), matched)
                key = (state, registers) if self._looks_back else state
                if key not in seen:
                    seen.add(key)
                    threads.append(_Thread(state, matched, registers))
        del threads[THREADS_MAX:]
        return _PartialMatch(partial.first, partial.time, tuple(threads), candidate)

    def _take_decided(
        self, open_matches: Sequence[_PartialMatch], next_first: int, matches: list[MatchedRows]
    ) -> tuple[Sequence[_PartialMatch], int]:
        """Move the decided partial matches, up to the first open one, to `matches`; return the others."""
        index = 0
        while index < len(open_matches) and not open_matches[index].threads:
            partial = open_matches[index]
            index += 1
            if partial.candidate is None or partial.first < next_first:
                continue
            matches.append(partial.candidate)
            next_first = self._next_first(partial.first, partial.candidate)
            while index < len(open_matches) and open_matches[index].first < next_first:
                index += 1
        return open_matches[index:], next_first

    def _next_first(self, first: int, matched: MatchedRows) -> int:
        """Return the row at which the next match may begin."""
        match self._pattern.skip_to:
            case SkipTo.PAST_LAST_ROW:
                return matched.number + 1
            case SkipTo.NEXT_ROW:
                return first + 1
            case skip_to:
                wanted = self._pattern.skip_variables
                rows = [each.number for each in _rows_of(matched) if each.variable in wanted]
                if not rows:
                    return first + 1
                return max(first + 1, rows[0 if skip_to is SkipTo.FIRST else -1])

    def _rows_needed(self, matching: Matching) -> int:
        first = matching.open_matches[0].first if matching.open_matches else matching.next_row
        return min(matching.held, matching.next_row - first + self.rows_before)

    def _without_old_rows(self, matching: Matching) -> Matching:
        wanted = self._rows_needed(matching)
        if matching.held <= 2 * wanted + _SPARE_ROWS:
            return matching
        rows: _Rows | None = None
        for row in _last_rows(matching.rows, wanted):
            rows = _Rows(row, rows)
        return matching._replace(rows=rows, held=wanted)

    def _measures(self, matched: MatchedRows, number: int) -> Fields:
        measures = self._pattern.measures
        registers = empty_registers(measures)
        for each in _rows_of(matched):
            registers = with_row(measures, registers, each.variable, each.row)
        return tuple(
            self._measure(navigation, register, matched, number)
            for navigation, register in zip(measures, registers, strict=True)
        )

    def _measure(
        self,
        navigation: Navigation,
        register: Any,  # noqa: ANN401 - each kind has its own
        matched: MatchedRows,
        number: int,
    ) -> Value:
        if navigation.kind is NavigationKind.MATCH_NUMBER:
            return number
        if navigation.kind is NavigationKind.CLASSIFIER:
            return self._pattern.names[matched.variable]
        return value_of(navigation, register)

    def registers_if(
        self, variable: int, registers: Registers, row: Fields, rows: _Rows | None
    ) -> Registers | None:
        """Return the registers after `row` as `variable`; None if its condition is not TRUE."""
        condition = self._conditions[variable]
        if condition.field is not None and row[condition.field] is not True:
            return None
        after = registers
        if self._looks_back:
            after = with_row(self._navigations, registers, variable, row)
        if condition.field is not None:
            return after
        if condition.expression is None:
            return after
        try:
            values = [
                _value_before(navigation, rows)
                if navigation.kind is NavigationKind.PREV
                else value_of(navigation, register)
                for navigation, register in zip(self._navigations, after, strict=True)
            ]
            holds = evaluate(condition.expression, (*row, *values)) is True
        except RowFailure:
            return None
        return after if holds else None


class _Condition:
    """A condition, which may be a mere field of the row, of which there are `fields`."""

    def __init__(self, expression: Expression | None, fields: int) -> None:
        self.expression = expression
        of_row = isinstance(expression, ColumnRef) and expression.index < fields
        self.field = expression.index if isinstance(expression, ColumnRef) and of_row else None


class _Holds:
    """The conditions over one row, each evaluated once for what it depends on."""

    def __init__(self, matcher: Matcher, row: Fields, rows: _Rows | None) -> None:
        self._matcher = matcher
        self._row = row
        self._rows = rows
        self._known: dict[object, Registers | None] = {}

    def __call__(self, variable: int, registers: Registers) -> Registers | None:
        key = (variable, registers)
        if key not in self._known:
            self._known[key] = self._matcher.registers_if(
                variable, registers, self._row, self._rows
            )
        return self._known[key]


def _value_before(navigation: Navigation, rows: _Rows | None) -> Value:
    assert navigation.field is not None
    for _ in range(navigation.offset - 1):
        rows = None if rows is None else rows.before
    return None if rows is None else rows.row[navigation.field]


def _last_rows(rows: _Rows | None, count: int) -> list[Fields]:
    """Return up to `count` rows, in their order."""
    found: list[Fields] = []
    while rows is not None and len(found) < count:
        found.append(rows.row)
        rows = rows.before
    return found[::-1]


def _rows_of(matched: MatchedRows) -> list[MatchedRows]:
    """Return each row of a match, in their order."""
    found: list[MatchedRows] = []
    current: MatchedRows | None = matched
    while current is not None:
        found.append(current)
        current = current.before
    return found[::-1]
