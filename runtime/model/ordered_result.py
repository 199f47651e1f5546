"""The results of aggregates that keep their rows: ordered aggregates, those of two arguments, and of bits."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cmp_to_key, partial
from typing import TYPE_CHECKING, Final

from fsql.compiler.expression import AggregateCall, AggregateFunction
from fsql.runtime.model.line_points import line_points
from fsql.runtime.model.value_order import as_key, order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.expression import Value
    from fsql.runtime.model.item import Values

_F = AggregateFunction
_SIMPLE: Final = frozenset(
    {_F.COUNT, _F.SUM, _F.AVG, _F.MIN, _F.MAX, _F.MATCH_RECOGNIZE, _F.PYTHON, _F.PROGRAM}
)


def keeps_rows(call: AggregateCall) -> bool:
    """Return whether the model keeps all rows of an aggregate."""
    if call.function is _F.ARRAY_AGG:
        return call.distinct or bool(call.directions)
    return call.function not in _SIMPLE


def ordered_result(
    call: AggregateCall, entries: Sequence[tuple[Values, int, object]], *, by_place: bool
) -> Value:
    """Return the aggregate of rows with weights, in the order of arrival if `by_place`."""
    rows = [
        row for row, weight, _ in entries if weight > 0 for _ in range(weight) if _used(call, row)
    ]
    if call.distinct:
        rows = list({tuple(map(order, row)): row for row in rows}.values())
    if call.function is _F.M4:
        return line_points(call, [each for each in entries if each[1] > 0])
    if call.by_position:
        return _last_of_ties(call, entries)
    if by_place:
        return _edge(call, entries)
    if call.function is _F.REGR_COUNT:
        return len(rows)
    if not rows:
        return None
    rows.sort(key=cmp_to_key(partial(_compare, call)))
    return _sorted_result(call, rows)


def _sorted_result(call: AggregateCall, rows: Sequence[Values]) -> Value:  # noqa: PLR0911 - one line for each function
    values = [row[0] for row in rows]
    match call.function:
        case _F.ARRAY_AGG:
            return tuple(values)
        case _F.FIRST_VALUE:
            return values[0]
        case _F.LAST_VALUE:
            return values[-1]
        case _F.MODE:
            counts = [(-values.count(value), order(value), value) for value in values]
            return min(counts, key=lambda entry: entry[:2])[2]
        case _F.PERCENTILE_DISC:
            assert call.parameter is not None
            return values[max(math.ceil(Fraction(str(call.parameter)) * len(values)) - 1, 0)]
        case _F.PERCENTILE_CONT:
            return _between(call, values)
        case _F.BIT_AND | _F.BIT_OR | _F.BIT_XOR:
            return _bits(call.function, values)
        case _:
            return _moment(call.function, rows)


def _used(call: AggregateCall, row: Values) -> bool:
    if call.function is _F.ARRAY_AGG:
        return row[0] is not None or not call.ignore_nulls
    return row[0] is not None and (bool(call.directions) or None not in row)


def _edge(call: AggregateCall, entries: Sequence[tuple[Values, int, object]]) -> Value:
    """Return the n-th or n-th last value that is not NULL; values of one place are in their own order."""
    present = [
        (index, order(row[0]), row[0])
        for row, weight, index in entries
        if row[0] is not None
        for _ in range(weight)
    ]
    number = int(call.parameter or 1)
    if len(present) < number:
        return None
    present.sort(key=lambda entry: entry[:2])
    return present[number - 1 if call.function is _F.FIRST_VALUE else -number][2]


def _last_of_ties(call: AggregateCall, entries: Sequence[tuple[Values, int, object]]) -> Value:
    """Return the value of the row that sorts last, of rows that tie the last one in the total order."""
    rows = [
        (place, order(row), row)
        for row, weight, place in entries
        if weight > 0 and row[0] is not None
    ]
    rows.sort(key=lambda entry: entry[:2])
    sorted_rows = [row for *_, row in rows]
    sorted_rows.sort(key=cmp_to_key(partial(_compare_keys, call)))
    return as_key(sorted_rows[-1][0]) if sorted_rows else None


def _compare_keys(call: AggregateCall, left: Values, right: Values) -> int:
    return _compare(call, (None, *left[1:]), (None, *right[1:]))


def _compare(call: AggregateCall, left: Values, right: Values) -> int:
    keys = zip(left[1:], right[1:], call.directions, strict=False) if call.directions else ()
    for one, other, (descending, nulls_first) in keys:
        if (one is None) != (other is None):
            return -1 if (one is None) is nulls_first else 1
        first, second = order(one), order(other)
        if first != second:
            return -1 if (first < second) is not descending else 1
    first, second = order(left[0]), order(right[0])
    return (first > second) - (first < second)


def _between(call: AggregateCall, values: Sequence[Value]) -> float:
    assert call.parameter is not None
    index = Fraction(str(call.parameter)) * (len(values) - 1)
    below = math.floor(index)
    share = index - below
    low = values[below]
    assert isinstance(low, int | float)
    if share == 0:
        return float(low)
    high = values[below + 1]
    assert isinstance(high, int | float)
    if math.isfinite(low) and math.isfinite(high):
        return float((1 - share) * Fraction(low) + share * Fraction(high)) + 0.0
    return low if low == high else low * float(1 - share) + high * float(share)


def _bits(function: AggregateFunction, values: Sequence[Value]) -> int:
    result: int | None = None
    for value in values:
        assert isinstance(value, int)
        if result is None:
            result = value
        elif function is _F.BIT_AND:
            result &= value
        elif function is _F.BIT_OR:
            result |= value
        else:
            result ^= value
    assert result is not None
    return result


def _moment(function: AggregateFunction, rows: Sequence[Values]) -> float | None:
    count = len(rows)
    samples = {_F.VAR_SAMP, _F.STDDEV_SAMP, _F.COVAR_SAMP}
    divisor = count - 1 if function in samples else count
    if divisor == 0:
        return None
    numbers = [[value for value in row if isinstance(value, int | float)] for row in rows]
    if not all(math.isfinite(value) for row in numbers for value in row):
        return math.nan
    ys, xs = [Fraction(row[0]) for row in numbers], [Fraction(row[-1]) for row in numbers]
    mean_x, mean_y = sum(xs, Fraction(0)) / count, sum(ys, Fraction(0)) / count
    sxx = sum(((x - mean_x) ** 2 for x in xs), Fraction(0))
    syy = sum(((y - mean_y) ** 2 for y in ys), Fraction(0))
    sxy = sum(((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)), Fraction(0))
    if function in {_F.VAR_POP, _F.VAR_SAMP}:
        return _float(sxx / divisor)
    if function in {_F.STDDEV_POP, _F.STDDEV_SAMP}:
        return math.sqrt(_float(sxx / divisor))
    if function in {_F.COVAR_POP, _F.COVAR_SAMP}:
        return _float(sxy / divisor)
    return _regression(function, (mean_x, mean_y), sxx, syy, sxy)


def _regression(  # noqa: PLR0911 - one line for each function
    function: AggregateFunction,
    means: tuple[Fraction, Fraction],
    sxx: Fraction,
    syy: Fraction,
    sxy: Fraction,
) -> float | None:
    mean_x, mean_y = means
    sums = {
        _F.REGR_AVGX: mean_x,
        _F.REGR_AVGY: mean_y,
        _F.REGR_SXX: sxx,
        _F.REGR_SYY: syy,
        _F.REGR_SXY: sxy,
    }
    if function in sums:
        return _float(sums[function])
    if sxx == 0:
        return None
    match function:
        case _F.CORR:
            if syy == 0:
                return None
            root = math.sqrt(_float(sxy * sxy / (sxx * syy)))
            return -root if sxy < 0 else root
        case _F.REGR_SLOPE:
            return _float(sxy / sxx)
        case _F.REGR_INTERCEPT:
            return _float(mean_y - sxy / sxx * mean_x)
        case _:
            return _float(sxy * sxy / (sxx * syy)) if syy else 1.0


def _float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
