"""Accumulators: the aggregate functions, over weighted values, one value at a time.

An accumulator is immutable: `add` returns a new one, because the state that contains it remains in its bucket
and may be combined again.  A weight of -1 removes an equal value.  Within one root, removals may precede
additions, so counts may be negative; results are only checked after the root.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Protocol

from fsql.compiler.expression import AggregateCall, AggregateFunction
from fsql.compiler.functions.decimals import round_quotient
from fsql.compiler.functions.evaluate import evaluate
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.functions.python_aggregates import registered_aggregate
from fsql.compiler.functions.python_programs import registered_program
from fsql.compiler.records import dataclass
from fsql.compiler.row_matching import NO_ROWS, MatchedRows, Matcher, Matching
from fsql.compiler.sqltypes import BIGINT_MAX, BIGINT_MIN, Kind, SqlType
from fsql.runtime.model.ordered_result import keeps_rows, ordered_result
from fsql.runtime.model.value_order import Key, as_key, order, row_order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.expression import Value
    from fsql.runtime.model.item import Values


class SumOutOfRangeFailure(RowFailure):
    """E505: a sum of integers beyond BIGINT."""

    code: ClassVar[int] = 505

    def __init__(self) -> None:
        super().__init__("SUM out of range")


class Accumulator(Protocol):
    """One aggregate over the values so far."""

    def add(self, value: Value, weight: int, place: object) -> Accumulator:
        """Return the accumulator with `value` added; values that share a position have the same `place`."""

    def result(self) -> Value:
        """Return the aggregate, or raise a RowFailure."""


@dataclass(frozen=True, slots=True)
class Count:
    """COUNT: the number of values that are not NULL."""

    count: int = 0

    def add(self, value: Value, weight: int, _place: object) -> Count:
        """Count the value."""
        return self if value is None else Count(self.count + weight)

    def result(self) -> int:
        """Return the count."""
        return self.count


@dataclass(frozen=True, slots=True)
class Sum:
    """SUM and AVG: the exact sum of finite values, and counts of NaN and the infinities."""

    average: bool
    floating: bool
    count: int = 0
    exact: Fraction | int = 0
    nan: int = 0
    infinite: int = 0
    negative_infinite: int = 0

    def add(self, value: Value, weight: int, _place: object) -> Sum:
        """Add the value."""
        if value is None:
            return self
        assert isinstance(value, int | float)
        counted = replace(self, count=self.count + weight)
        if math.isnan(value):
            return replace(counted, nan=self.nan + weight)
        if value == math.inf:
            return replace(counted, infinite=self.infinite + weight)
        if value == -math.inf:
            return replace(counted, negative_infinite=self.negative_infinite + weight)
        addend = Fraction(value) if self.floating else int(value)
        return replace(counted, exact=self.exact + weight * addend)

    def result(self) -> Value:
        """Return the sum, or the average.

        Raises:
            RowFailure: E505, if a sum of integers does not fit BIGINT.
        """
        if self.count <= 0:
            return None
        if not self.floating:
            if self.average:
                return float(Fraction(self.exact, self.count))
            if not BIGINT_MIN <= self.exact <= BIGINT_MAX:
                raise SumOutOfRangeFailure
            return int(self.exact)
        total = self._round()
        return (total / self.count if self.average else total) + 0.0  # -0.0 becomes 0.0.

    def _round(self) -> float:
        if self.nan > 0 or (self.infinite > 0 and self.negative_infinite > 0):
            return math.nan
        if self.infinite > 0 or self.negative_infinite > 0:
            return math.inf if self.infinite > 0 else -math.inf
        try:
            return float(self.exact)  # The conversion of a Fraction rounds correctly.
        except OverflowError:
            return math.inf if self.exact > 0 else -math.inf


@dataclass(frozen=True, slots=True)
class DecimalSum:
    """SUM and AVG of DECIMAL, as integers of the smallest unit; `factor` scales them to the result."""

    type: SqlType
    average: bool
    factor: int
    count: int = 0
    exact: int = 0

    def add(self, value: Value, weight: int, _place: object) -> DecimalSum:
        """Add the value."""
        if value is None:
            return self
        assert isinstance(value, int)
        return replace(self, count=self.count + weight, exact=self.exact + weight * value)

    def result(self) -> Value:
        """Return the sum, or the average rounded once.

        Raises:
            RowFailure: E505, if it has more digits than its type.
        """
        if self.count <= 0:
            return None
        result = (
            round_quotient(self.exact * self.factor, self.count) if self.average else self.exact
        )
        if abs(result) >= 10**self.type.precision:
            raise SumOutOfRangeFailure
        return result


@dataclass(frozen=True, slots=True)
class Extreme:
    """MIN and MAX: all values in order, with their weights, so that each can be retracted."""

    greatest: bool
    weights: tuple[tuple[Key, int, Value], ...] = ()

    def add(self, value: Value, weight: int, _place: object) -> Extreme:
        """Add the value."""
        if value is None:
            return self
        key = order(value)
        weights = list(self.weights)
        index = bisect_left(weights, key, key=lambda entry: entry[0])
        if index < len(weights) and weights[index][0] == key:
            weight += weights.pop(index)[1]
        if weight:
            weights.insert(index, (key, weight, as_key(value)))
        return replace(self, weights=tuple(weights))

    def result(self) -> Value:
        """Return the least or the greatest value."""
        present = [value for _, weight, value in self.weights if weight > 0]
        return (present[-1] if self.greatest else present[0]) if present else None


@dataclass(frozen=True, slots=True)
class Collection:
    """ARRAY_AGG: the values in the total order; values that share a position are in their own order."""

    ignores_nulls: bool = False
    entries: tuple[tuple[object, tuple[Key, Key], Value], ...] = ()

    def add(self, value: Value, weight: int, place: object) -> Collection:
        """Append the value; places ascend, so only the last one can be shared."""
        if value is None and self.ignores_nulls:
            return self
        assert weight == 1, "ARRAY_AGG is refused over updating input"
        entries = list(self.entries)
        shared = len(entries)
        while shared and entries[shared - 1][0] == place:
            shared -= 1
        entry = (place, row_order((value,)), value)
        insort(entries, entry, lo=shared, key=lambda entry: entry[1])
        return replace(self, entries=tuple(entries))

    def result(self) -> Value:
        """Return the array; NULL without rows."""
        return tuple(value for _, _, value in self.entries) or None


@dataclass(frozen=True, slots=True)
class PythonRows:
    """A function in Python: the rows in the total order, or in that of their values if some can leave."""

    call: AggregateCall
    entries: tuple[tuple[object, tuple[Key, Key], Value, int], ...] = ()

    def add(self, value: Value, weight: int, place: object) -> PythonRows:
        """Add the row to the entry of equal rows."""
        if value is None:
            return self
        where = None if self.call.in_value_order else place
        key = row_order((value,))
        known = sum(count for at, own, _, count in self.entries if (at, own) == (where, key))
        others = [entry for entry in self.entries if entry[:2] != (where, key)]
        entry = [(where, key, as_key(value), known + weight)] if known + weight else []
        return replace(self, entries=(*others, *entry))

    def result(self) -> Value:
        """Return the value of the function, computed from all rows; NULL without rows."""
        assert self.call.python is not None
        rows: dict[object, list[tuple[tuple[Key, Key], Value, int]]] = {}
        for place, key, value, weight in self.entries:
            rows.setdefault(place, []).append((key, value, weight))
        ordered = [
            value
            for peers in rows.values()
            for _, value, weight in sorted(peers, key=lambda entry: entry[0])
            for _ in range(weight)
        ]
        if self.call.function is AggregateFunction.PROGRAM:
            return registered_program(self.call.python).over(ordered)
        return registered_aggregate(self.call.python).over(ordered)


@dataclass(frozen=True, slots=True)
class Matches:
    """MATCH_RECOGNIZE: the matches that the last row decides."""

    matcher: Matcher
    matching: Matching = NO_ROWS
    decided: Sequence[MatchedRows] = ()

    def add(self, value: Value, weight: int, _place: object) -> Matches:
        """Match the row."""
        assert isinstance(value, tuple)
        matching, decided = self.matching, list[MatchedRows]()
        for _ in range(weight):
            matching, matches = self.matcher.advance(matching, value)
            decided += matches
        return Matches(self.matcher, matching, decided)

    def result(self) -> Value:
        """Return the measures of the matches.

        Raises:
            RowFailure: E505.
        """
        return tuple(self.matcher.measures(self.matching, self.decided)) or None


@dataclass(frozen=True, slots=True)
class Distinct:
    """An aggregate of the values that are present, each once however often it was added."""

    inner: Accumulator
    weights: tuple[tuple[Key, int], ...] = ()

    def add(self, value: Value, weight: int, place: object) -> Distinct:
        """Add the value; the aggregate only receives it if it appears or disappears."""
        if value is None:
            return self
        key = order(value)
        weights = dict(self.weights)
        before = weights.pop(key, 0)
        after = before + weight
        if after:
            weights[key] = after
        appears = (after > 0) - (before > 0)
        inner = self.inner.add(as_key(value), appears, place) if appears else self.inner
        return Distinct(inner, tuple(weights.items()))

    def result(self) -> Value:
        """Return the aggregate."""
        return self.inner.result()


@dataclass(frozen=True, slots=True)
class Accumulators:
    """The accumulators of a group, one for each aggregate call."""

    each: tuple[Accumulator, ...]

    @staticmethod
    def of(calls: Sequence[AggregateCall]) -> Accumulators:
        """Return the accumulators of an empty group."""
        return Accumulators(
            tuple(
                _accumulator(call)
                if keeps_rows(call) or not call.distinct
                else Distinct(_accumulator(call))
                for call in calls
            )
        )

    def add(self, given: Values, weight: int, place: object) -> Accumulators:
        """Return accumulators with a row's arguments added, one for each call."""
        return Accumulators(
            tuple(
                accumulator.add(value, weight, place)
                for accumulator, value in zip(self.each, given, strict=True)
            )
        )

    def results(self) -> Values:
        """Return the aggregates, or raise the RowFailure of the leftmost aggregate that fails."""
        return tuple(accumulator.result() for accumulator in self.each)


@dataclass(frozen=True, slots=True)
class Ordered:
    """Aggregates of many arguments or of values in order: all rows, with their weights and places."""

    call: AggregateCall
    entries: tuple[tuple[Values, int, object], ...] = ()

    def add(self, value: Value, weight: int, place: object) -> Ordered:
        """Add the row; `value` has all of its arguments."""
        assert isinstance(value, tuple)
        found: dict[tuple[object, ...], tuple[Values, int, object]] = {}
        given = tuple(map(as_key, value))
        for row, count, where in (*self.entries, (given, weight, place)):
            key = (row_order(row), where if self.by_place else None)
            found[key] = row, count + found.get(key, ((), 0, None))[1], where
        return replace(self, entries=tuple(entry for entry in found.values() if entry[1]))

    @property
    def by_place(self) -> bool:
        """Return whether the result depends on the total order."""
        if self.call.by_position or self.call.function is AggregateFunction.M4:
            return True
        edges = {AggregateFunction.FIRST_VALUE, AggregateFunction.LAST_VALUE}
        return self.call.function in edges and not self.call.directions

    def result(self) -> Value:
        """Return the aggregate of the rows that are present."""
        return ordered_result(self.call, self.entries, by_place=self.by_place)


def arguments(calls: Sequence[AggregateCall], values: Values) -> Values:
    """Return the arguments of the calls over a row; for COUNT(*) a value that is never NULL."""
    return tuple(_argument(call, values) for call in calls)


def _argument(call: AggregateCall, values: Values) -> Value:
    if call.argument is None:
        return True
    given = tuple(evaluate(argument, values) for argument in call.arguments)
    return given if keeps_rows(call) else given[0]


def _accumulator(call: AggregateCall) -> Accumulator:  # noqa: PLR0911 - one line for each kind
    if keeps_rows(call):
        return Ordered(call)
    match call.function:
        case AggregateFunction.COUNT:
            return Count()
        case AggregateFunction.MIN | AggregateFunction.MAX:
            return Extreme(greatest=call.function is AggregateFunction.MAX)
        case AggregateFunction.PYTHON | AggregateFunction.PROGRAM:
            return PythonRows(call)
        case AggregateFunction.ARRAY_AGG:
            return Collection(call.ignore_nulls)
        case AggregateFunction.MATCH_RECOGNIZE:
            assert call.pattern is not None
            return Matches(Matcher(call.pattern))
        case AggregateFunction.SUM | AggregateFunction.AVG:
            assert call.argument is not None
            if call.argument.type.kind is Kind.DECIMAL:
                return DecimalSum(
                    call.type,
                    average=call.function is AggregateFunction.AVG,
                    factor=10 ** (call.type.scale - call.argument.type.scale),
                )
            floating = call.argument.type.kind is Kind.DOUBLE
            return Sum(average=call.function is AggregateFunction.AVG, floating=floating)
        case _:
            raise AssertionError(call.function)
