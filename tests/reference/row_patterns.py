"""MATCH_RECOGNIZE by its definition: a search over all rows of a partition, which tries ways one by one.

A match that begins at a row is searched in the order of preference: a greedy quantifier first goes on, an
alternation first takes its first part.  The first way to the end of the pattern is the match.  A way that is
at the end of the rows, and may go on with rows to come, leaves open what is preferred: then this match, and
those after it, are not known yet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fsql.compiler.expression import AggregateCall, AggregateFunction, ColumnRef
from fsql.compiler.row_pattern import (
    NavigationKind,
    PatternChoice,
    PatternPart,
    PatternRepeat,
    PatternSequence,
    PatternVariable,
    SkipTo,
)
from fsql.tests.reference.failure import FailureError
from fsql.tests.reference.scalar import evaluate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fsql.compiler.expression import Value
    from fsql.compiler.row_pattern import Navigation, RowPattern

    Fields = tuple[Value, ...]
    Aggregate = Callable[[AggregateCall, Sequence[Value]], Value]


class OpenError(Exception):
    """A preferred way may still go on."""


class Mapped(NamedTuple):
    """A row of a match and its variable."""

    place: int
    variable: int


Way = tuple[Mapped, ...]


class Search:
    """The matches in the rows of a partition so far; timers among them say how far time is."""

    def __init__(self, pattern: RowPattern, given: Sequence[Fields], aggregate: Aggregate) -> None:
        self.pattern = pattern
        self.aggregate = aggregate
        self.rows = [row for row in given if row[0]]
        self.now = max((time_of(row) for row in given), default=0)
        self.ended = pattern.within_us is None and any(not row[0] for row in given)

    def measures(self) -> list[Fields]:
        """Return the measures of the matches that are decided."""
        return [
            tuple(self.value(each, way, number) for each in self.pattern.measures)
            for number, way in enumerate(self.ways(), 1)
        ]

    def ways(self) -> Iterator[Way]:
        """Yield the matches that are decided."""
        first = 0
        while first < len(self.rows):
            try:
                way = next(self.from_part(self.pattern.pattern, (), first), None)
            except OpenError:
                return
            if way is None:
                first += 1
                continue
            yield way
            first = self.next_first(first, way)

    def next_first(self, first: int, way: Way) -> int:
        """Return the row at which the next match may begin."""
        if self.pattern.skip_to is SkipTo.PAST_LAST_ROW:
            return way[-1].place + 1
        wanted = [each.place for each in way if each.variable in self.pattern.skip_variables]
        if self.pattern.skip_to is SkipTo.NEXT_ROW or not wanted:
            return first + 1
        place = wanted[0] if self.pattern.skip_to is SkipTo.FIRST else wanted[-1]
        return max(place, first + 1)

    def from_part(self, part: PatternPart, way: Way, first: int) -> Iterator[Way]:
        """Yield `way` with the rows of `part`, the preferred way first."""
        match part:
            case PatternVariable(variable=variable):
                yield from self.with_row(variable, way, first)
            case PatternSequence(parts=parts):
                yield from self.in_sequence(parts, way, first)
            case PatternChoice(parts=parts):
                for each in parts:
                    yield from self.from_part(each, way, first)
            case _:
                assert isinstance(part, PatternRepeat)
                yield from self.repeated(part, way, first, 0)

    def in_sequence(self, parts: Sequence[PatternPart], way: Way, first: int) -> Iterator[Way]:
        if not parts:
            yield way
            return
        for longer in self.from_part(parts[0], way, first):
            yield from self.in_sequence(parts[1:], longer, first)

    def repeated(self, part: PatternRepeat, way: Way, first: int, times: int) -> Iterator[Way]:
        enough = times >= part.least
        if enough and not part.greedy:
            yield way
        if part.most is None or times < part.most:
            for longer in self.from_part(part.part, way, first):
                # Once there are enough, a time without rows is none.
                if longer != way or not enough:
                    yield from self.repeated(part, longer, first, times + 1)
        if enough and part.greedy:
            yield way

    def with_row(self, variable: int, way: Way, first: int) -> Iterator[Way]:
        place = way[-1].place + 1 if way else first
        within = self.pattern.within_us
        latest = None if within is None else time_of(self.rows[first]) + within
        if place == len(self.rows):
            if self.ended or (latest is not None and latest < self.now):
                return
            raise OpenError
        if latest is not None and latest < time_of(self.rows[place]):
            return
        longer = (*way, Mapped(place, variable))
        if self.holds(variable, longer):
            yield longer

    def holds(self, variable: int, way: Way) -> bool:
        condition = self.pattern.conditions[variable]
        if condition is None:
            return True
        try:
            values = tuple(self.value(each, way, 0) for each in self.pattern.navigations)
            return evaluate(condition, (*self.rows[way[-1].place], *values)) is True
        except FailureError:
            return False

    def value(self, navigation: Navigation, way: Way, number: int) -> Value:
        """Return the value of a navigation over the rows of `way`, match number `number`."""
        kind, field = navigation.kind, navigation.field
        if kind is NavigationKind.MATCH_NUMBER:
            return number
        if kind is NavigationKind.CLASSIFIER:
            return self.pattern.names[way[-1].variable]
        if kind is NavigationKind.PREV:
            assert field is not None
            place = way[-1].place - navigation.offset
            return self.rows[place][field] if place >= 0 else None
        values = [
            True if field is None else self.rows[each.place][field]
            for each in way
            if not navigation.variables or each.variable in navigation.variables
        ]
        if kind in {NavigationKind.FIRST, NavigationKind.LAST}:
            ordered = values if kind is NavigationKind.FIRST else values[::-1]
            return ordered[navigation.offset] if navigation.offset < len(ordered) else None
        argument = ColumnRef(navigation.argument_type, nullable=True, index=0)
        call = AggregateCall(
            AggregateFunction(kind.value), argument, navigation.type, nullable=True
        )
        return self.aggregate(call, values)


def time_of(row: Fields) -> int:
    """Return the event time of a row or a timer."""
    assert isinstance(row[1], int)
    return row[1]


def decided_matches(
    pattern: RowPattern, given: Sequence[Fields], aggregate: Aggregate
) -> tuple[Fields, ...] | None:
    """Return the measures of the matches that the last of the rows decides; None if there are none."""
    before = sum(1 for _ in Search(pattern, given[:-1], aggregate).ways())
    return tuple(Search(pattern, given, aggregate).measures()[before:]) or None
