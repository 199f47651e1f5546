"""Aggregates that go by an order, by two arguments or by bits, over all rows of a group."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from operator import and_, or_, xor
from typing import TYPE_CHECKING, Any, Final

from fsql.compiler.expression import AggregateFunction as F
from fsql.tests.reference.line_points import points_of_line
from fsql.tests.reference.order import normalised, order_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.expression import AggregateCall, Value

OF_ROWS: Final = frozenset(F) - {F.COUNT, F.SUM, F.AVG, F.MIN, F.MAX, F.ARRAY_AGG}
_BITS: Final = {F.BIT_AND: and_, F.BIT_OR: or_, F.BIT_XOR: xor}


def in_order(call: AggregateCall) -> bool:
    """Return whether the values are sorted, rather than in the order of their rows."""
    return bool(call.directions) or (call.distinct and call.function is F.ARRAY_AGG)


def aggregate_rows(  # noqa: C901 - one line for each kind
    call: AggregateCall, values: Sequence[Any]
) -> Value:
    """Return the aggregate of rows in the total order; several arguments are a tuple."""
    rows = [tuple(value) if call.others else (value,) for value in values]
    if call.function is F.M4:
        return points_of_line(call, rows)
    if call.function is F.ARRAY_AGG:
        rows = [row for row in rows if row[0] is not None or not call.ignore_nulls]
    elif call.directions:
        rows = [row for row in rows if row[0] is not None]
    else:
        rows = [row for row in rows if None not in row]
    if call.function is F.REGR_COUNT:
        return len(rows)
    if call.distinct:
        rows = list({order_key(row[0]): row for row in rows}.values())
    if not rows:
        return None
    if call.function in {F.FIRST_VALUE, F.LAST_VALUE} and not call.directions:
        number = int(call.parameter or 1)
        if len(rows) < number:
            return None
        place = number - 1 if call.function is F.FIRST_VALUE else len(rows) - number
        return normalised(rows[place][0])
    if not call.by_position:
        rows.sort(key=lambda row: order_key(row[0]))
    for place in reversed(range(len(call.directions))):
        descending, nulls_first = call.directions[place]
        # A stable sort for each key, the last one first; NULLs apart.
        nulls = [row for row in rows if row[1 + place] is None]
        rest = [row for row in rows if row[1 + place] is not None]
        groups: dict[object, list[tuple[Any, ...]]] = {}
        for row in rest:
            groups.setdefault(order_key(row[1 + place]), []).append(row)
        keys = sorted(groups, reverse=descending)  # type: ignore[type-var]
        rest = [row for key in keys for row in groups[key]]
        rows = nulls + rest if nulls_first else rest + nulls
    return _of_sorted(call, rows)


def _of_sorted(call: AggregateCall, rows: Sequence[tuple[Any, ...]]) -> Value:  # noqa: PLR0911 - one line for each kind
    values = [normalised(row[0]) for row in rows]
    if call.function is F.ARRAY_AGG:
        return tuple(values)
    if call.function in {F.FIRST_VALUE, F.LAST_VALUE}:
        return values[0 if call.function is F.FIRST_VALUE else -1]
    if call.function is F.MODE:
        counts = Counter(order_key(value) for value in values)
        best = min(counts, key=lambda key: (-counts[key], key))
        return next(value for value in values if order_key(value) == best)
    if call.function in _BITS:
        return reduce(_BITS[call.function], values)
    if call.function is F.PERCENTILE_DISC:
        wanted = Fraction(Decimal(str(call.parameter or 0.0)))
        return next(v for i, v in enumerate(values, 1) if Fraction(i, len(values)) >= wanted)
    if call.function is F.PERCENTILE_CONT:
        return _percentile(values, Fraction(Decimal(str(call.parameter or 0.0))))
    return _of_numbers(call.function, rows)


def _percentile(values: Sequence[Any], fraction: Fraction) -> float:
    index, rest = divmod(fraction * (len(values) - 1), 1)
    low = values[index]
    if not rest:
        return float(low)
    high = values[index + 1]
    if math.isfinite(low) and math.isfinite(high):
        return float(Fraction(low) + rest * (Fraction(high) - Fraction(low))) + 0.0
    return float(low) if low == high else low * float(1 - rest) + high * float(rest)


def _of_numbers(function: F, rows: Sequence[tuple[Any, ...]]) -> float | None:  # noqa: C901, PLR0911 - one line for each kind
    samples = function in {F.VAR_SAMP, F.STDDEV_SAMP, F.COVAR_SAMP}
    if len(rows) == 1 and samples:
        return None
    if not all(math.isfinite(value) for row in rows for value in row):
        return math.nan
    y = [Fraction(row[0]) for row in rows]
    x = [Fraction(row[-1]) for row in rows]
    count = len(rows) - 1 if samples else len(rows)
    sxx = statistics.pvariance(x) * len(rows)
    syy = statistics.pvariance(y) * len(rows)
    means = statistics.mean(x), statistics.mean(y)
    sxy = sum((a * b for a, b in zip(x, y, strict=True)), Fraction(0)) - len(rows) * (
        means[0] * means[1]
    )
    if function in {F.VAR_POP, F.VAR_SAMP}:
        return _double(sxx / count)
    if function in {F.STDDEV_POP, F.STDDEV_SAMP}:
        return math.sqrt(_double(sxx / count))
    if function in {F.COVAR_POP, F.COVAR_SAMP}:
        return _double(sxy / count)
    plain = {
        F.REGR_AVGX: means[0],
        F.REGR_AVGY: means[1],
        F.REGR_SXX: sxx,
        F.REGR_SYY: syy,
        F.REGR_SXY: sxy,
    }
    if function in plain:
        return _double(plain[function])
    if not sxx or (function is F.CORR and not syy):
        return None
    if function is F.REGR_SLOPE:
        return _double(sxy / sxx)
    if function is F.REGR_INTERCEPT:
        return _double(means[1] - sxy / sxx * means[0])
    square = sxy * sxy / (sxx * syy) if syy else Fraction(1)
    if function is F.REGR_R2:
        return _double(square)
    root = math.sqrt(_double(square))
    return -root if sxy < 0 else root


def _double(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
