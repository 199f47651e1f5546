"""Aggregates over all the values of a group, anew each time."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from fsql.compiler.expression import AggregateFunction
from fsql.compiler.functions.python_aggregates import registered_aggregate
from fsql.compiler.sqltypes import BIGINT_MAX, BIGINT_MIN, Kind
from fsql.tests.reference.aggregates_of_rows import OF_ROWS, aggregate_rows, in_order
from fsql.tests.reference.decimals import half_away_from_zero
from fsql.tests.reference.failure import SUM_OUT_OF_RANGE, FailureError
from fsql.tests.reference.order import normalised, order_key
from fsql.tests.reference.programs import value_of_event
from fsql.tests.reference.row_patterns import decided_matches

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.compiler.expression import AggregateCall, Value


def aggregate(call: AggregateCall, values: Sequence[Value]) -> Value:
    """Return the aggregate of the argument's `values`, one for each row, in order.

    For COUNT(*), which has no argument, the values are anything that is not NULL.

    Raises:
        FailureError: a SUM of integers is out of range.
    """
    if call.pattern is not None:
        rows = [value for value in values if isinstance(value, tuple)]
        return decided_matches(call.pattern, rows, aggregate)
    if call.python is not None:
        return _accumulated(call, call.python, [value for value in values if value is not None])
    if in_order(call) or call.others or call.function in OF_ROWS:
        return aggregate_rows(call, values)
    if call.function is AggregateFunction.ARRAY_AGG:
        kept = [value for value in values if value is not None or not call.ignore_nulls]
        return tuple(kept) if kept else None
    present: list[Any] = [value for value in values if value is not None]
    if call.distinct:
        present = list({order_key(value): normalised(value) for value in present}.values())
    if call.function is AggregateFunction.COUNT:
        return len(present)
    return OF_PRESENT[call.function](call, present) if present else None


def _accumulated(call: AggregateCall, name: str, values: Sequence[Any]) -> Value:
    """Return the accumulator of a function in Python, whose arguments are the same in SQL and in Python."""
    if not values:
        return None
    if call.function is AggregateFunction.PROGRAM:
        return value_of_event(name, values)
    if call.in_value_order:
        values = sorted((normalised(value) for value in values), key=order_key)
    function = registered_aggregate(name).loaded
    state: Any = function.methods["create_accumulator"]()
    for value in values:
        given = value if isinstance(value, tuple) else (value,)
        made = function.methods["accumulate"](state, *given)
        state = state if made is None else made
    # A row is a dict in Python.
    return tuple(state.values()) if isinstance(state, dict) else state, None


def total(call: AggregateCall, present: Sequence[Any]) -> Value:
    """Return the sum of integers in BIGINT, or of DOUBLE values."""
    if call.type.kind is Kind.DOUBLE:
        return exact_sum(present)
    result: int = sum(present)
    if call.type.kind is Kind.DECIMAL:
        if abs(result) >= 10**call.type.precision:
            raise FailureError(SUM_OUT_OF_RANGE)
        return result
    if not BIGINT_MIN <= result <= BIGINT_MAX:
        raise FailureError(SUM_OUT_OF_RANGE)
    return result


def mean(call: AggregateCall, present: Sequence[Any]) -> int | float:
    """Return the mean: of integers rounded once, of DOUBLE values the rounded sum by the count."""
    assert call.argument is not None
    if call.argument.type.kind is Kind.DECIMAL:
        unit = 10 ** (call.type.scale - call.argument.type.scale)
        return half_away_from_zero(Fraction(sum(present) * unit, len(present)))
    if call.argument.type.kind is Kind.DOUBLE:
        return exact_sum(present) / len(present) + 0.0
    return float(Fraction(sum(present), len(present)))


def exact_sum(values: Sequence[float]) -> float:
    """Return the correctly rounded sum of DOUBLE values; where it is zero, 0.0."""
    if not all(math.isfinite(value) for value in values):
        return sum((value for value in values if not math.isfinite(value)), 0.0)
    exact = sum((Fraction(value) for value in values), Fraction(0))
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


OF_PRESENT: Final[dict[AggregateFunction, Callable[[AggregateCall, Sequence[Any]], Value]]] = {
    AggregateFunction.MIN: lambda _, present: normalised(min(present, key=order_key)),
    AggregateFunction.MAX: lambda _, present: normalised(max(present, key=order_key)),
    AggregateFunction.SUM: total,
    AggregateFunction.AVG: mean,
}
"""The aggregates over at least one value, none of them NULL; a zero comes out as 0.0."""
