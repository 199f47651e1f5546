"""Values in order, with their weights: ORDER BY within an aggregate, percentiles, MODE.

The rows of a slot are kept sorted by the keys of ORDER BY, then by the value itself, so that the result does
not depend on the order of their arrival.  To add a row costs a binary search and an insertion into a list; to
read a percentile or MODE costs a pass over the distinct values of the group.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from fractions import Fraction
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from fsql.compiler.expression import AggregateFunction
from fsql.compiler.functions.ordering import compare

if TYPE_CHECKING:
    from fsql.compiler.expression import AggregateCall, Value
    from fsql.runtime.kernels.accumulators.moments import Arguments, Entry

    _Row = tuple["SortKey", Arguments]


_CHOOSES: Final = frozenset({AggregateFunction.FIRST_VALUE, AggregateFunction.LAST_VALUE})


class _Key:
    """A value that is compared by an item of ORDER BY."""

    __slots__ = ("descending", "nulls_first", "value")

    def __init__(self, value: Value, direction: tuple[bool, bool]) -> None:
        self.value = value
        self.descending, self.nulls_first = direction

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and compare(self.value, other.value) == 0

    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, other: _Key) -> bool:
        if (self.value is None) != (other.value is None):
            return (self.value is None) == self.nulls_first
        sign = compare(self.value, other.value)
        return sign > 0 if self.descending else sign < 0


SortKey = tuple[_Key, ...]


def sort_key_of(given: Arguments, directions: tuple[tuple[bool, bool], ...]) -> SortKey:
    """Return the sort key of a row: the keys of ORDER BY, then the value, which is the first argument."""
    value, *keys = given
    return tuple(
        _Key(*each) for each in zip((*keys, value), (*directions, (False, False)), strict=True)
    )


class OrderedValues:
    """`SlotState` over the values of one slot; see the module."""

    def __init__(self, call: AggregateCall) -> None:
        self._call = call
        self._directions = call.directions
        self._rows: list[_Row] = []
        self._weights: list[int] = []
        self._count = 0

    def add(self, given: Arguments, weight: int) -> None:
        self._count += weight
        given = tuple(map(canonical, given))
        sort_key = sort_key_of(given, self._directions)
        index = bisect_left(self._rows, sort_key, key=lambda row: row[0])
        if index < len(self._rows) and self._rows[index][0] == sort_key:
            self._weights[index] += weight
            if not self._weights[index]:
                del self._rows[index], self._weights[index]
        else:
            self._rows.insert(index, (sort_key, given))
            self._weights.insert(index, weight)

    def entries(self) -> list[Entry]:
        return [(row[1], weight) for row, weight in zip(self._rows, self._weights, strict=True)]

    def result_size(self) -> int:
        if self._call.function is not AggregateFunction.ARRAY_AGG:
            return 1
        size = len(self._rows) if self._call.distinct else self._count
        return size if self._call.parameter is None else min(size, abs(int(self._call.parameter)))

    def result(self) -> Value:
        if self._call.function in _CHOOSES:
            return self._edge(last=self._call.function is AggregateFunction.LAST_VALUE)
        if self._call.function is AggregateFunction.ARRAY_AGG:
            return self._array()
        values, weights = self._present()
        if not values:
            return None
        match self._call.function:
            case AggregateFunction.MODE:
                return values[weights.index(max(weights))][1][0]
            case AggregateFunction.PERCENTILE_DISC:
                counts = list(accumulate(weights))
                return _at(values, counts, self._rank(counts[-1], whole=True))
            case _:
                return self._continuous(values, list(accumulate(weights)))

    def _present(self) -> tuple[list[_Row], list[int]]:
        """Return the rows that are present, and how often; each once for DISTINCT."""
        rows, weights = self._rows, self._weights
        if weights and min(weights) < 0:
            present = [index for index, weight in enumerate(weights) if weight > 0]
            rows, weights = (
                [rows[index] for index in present],
                [weights[index] for index in present],
            )
        return rows, [1] * len(rows) if self._call.distinct else weights

    def _edge(self, *, last: bool) -> Value:
        """Return the first or the last value, without a pass over the others."""
        indexes = range(len(self._rows))
        for index in reversed(indexes) if last else indexes:
            if self._weights[index] > 0:
                return self._rows[index][1][0]
        return None

    def _array(self) -> Value:
        """Return the values in order; those that are read, without a pass over the others."""
        number = self._call.parameter
        if number is None:
            values = [
                given[0]
                for (_, given), weight in zip(*self._present(), strict=True)
                for _ in range(weight)
            ]
            return tuple(values) or None
        found: list[Value] = []
        wanted, indexes = int(abs(number)), range(len(self._rows))
        for index in indexes if number > 0 else reversed(indexes):
            weight = min(self._weights[index], 1) if self._call.distinct else self._weights[index]
            found += [self._rows[index][1][0]] * min(weight, wanted - len(found))
            if len(found) == wanted:
                break
        return (tuple(found) if number > 0 else tuple(reversed(found))) or None

    def _rank(self, count: int, *, whole: bool) -> int:
        """Return the index of the percentile among `count` values, from 0."""
        fraction = self._call.parameter
        assert isinstance(fraction, float)
        exact = as_written(fraction)
        return max(math.ceil(exact * count) - 1, 0) if whole else math.floor(exact * (count - 1))

    def _continuous(self, values: list[_Row], counts: list[int]) -> float:
        """Return the exact value between two neighbours, rounded once."""
        assert isinstance(self._call.parameter, float)
        index = self._rank(counts[-1], whole=False)
        low = _at(values, counts, index)
        assert isinstance(low, int | float)
        share = as_written(self._call.parameter) * (counts[-1] - 1) - index
        if not share:
            return float(low) + 0.0
        high = _at(values, counts, index + 1)
        assert isinstance(high, int | float)
        if not (math.isfinite(low) and math.isfinite(high)):
            return low if low == high else low * float(1 - share) + high * float(share)
        return float(Fraction(low) + share * (Fraction(high) - Fraction(low))) + 0.0


@cache
def as_written(fraction: float) -> Fraction:
    """Return the number that stands in the query: 0.4 is two fifths, though the float is somewhat more."""
    return Fraction(repr(fraction))


def _at(values: list[_Row], counts: list[int], index: int) -> Value:
    """Return the value at an index; `counts` has how many values there are up to each row."""
    return values[bisect_right(counts, index)][1][0]


def canonical(value: Value) -> Value:
    """Return the value with 0.0 for -0.0, so that equal values are the same."""
    match value:
        case float():
            return value + 0.0
        case tuple():
            return tuple(canonical(element) for element in value)
        case _:
            return value
