"""Navigations: values of the rows of a match, kept up to date row by row.

The registers of a match have an entry for each navigation; they are immutable, because several candidates
share entries.  Two candidates with equal registers have the same values from then on.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Final

from fsql.compiler.functions.decimals import round_quotient
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.functions.ordering import compare
from fsql.compiler.row_pattern import NavigationKind
from fsql.compiler.sqltypes import BIGINT_MAX, BIGINT_MIN, Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.expression import Value
    from fsql.compiler.row_pattern import Navigation

Registers = tuple[Any, ...]
Fields = tuple["Value", ...]

_EDGES: Final = frozenset({NavigationKind.FIRST, NavigationKind.LAST})
_NOT_KEPT: Final = frozenset(
    {NavigationKind.PREV, NavigationKind.CLASSIFIER, NavigationKind.MATCH_NUMBER}
)
_NO_SUM: Final = (0, 0, 0, 0, 0)


class MatchSumOutOfRangeFailure(RowFailure):
    """E505: a sum over the rows of a match that does not fit its type."""

    code: ClassVar[int] = 505

    def __init__(self) -> None:
        super().__init__("SUM out of range")


def empty_registers(navigations: Sequence[Navigation]) -> Registers:
    """Return the registers of a match without rows."""
    return tuple(map(_empty, navigations))


def _empty(navigation: Navigation) -> object:
    if navigation.kind in _EDGES:
        return ()
    if navigation.kind is NavigationKind.COUNT:
        return 0
    if navigation.kind in {NavigationKind.SUM, NavigationKind.AVG}:
        return _NO_SUM
    return None


def with_row(
    navigations: Sequence[Navigation], registers: Registers, variable: int, row: Fields
) -> Registers:
    """Return the registers of a match to which `row` is added as `variable`."""
    return tuple(
        register
        if navigation.kind in _NOT_KEPT
        or (navigation.variables and variable not in navigation.variables)
        else _add(navigation, register, row)
        for navigation, register in zip(navigations, registers, strict=True)
    )


def _add(navigation: Navigation, register: Any, row: Fields) -> object:  # noqa: ANN401 - one line for each kind
    value = True if navigation.field is None else row[navigation.field]
    match navigation.kind:
        case NavigationKind.FIRST:
            full = len(register) > navigation.offset
            return register if full else (*register, value)
        case NavigationKind.LAST:
            return (*register, value)[-navigation.offset - 1 :]
        case _ if value is None:
            return register
        case NavigationKind.COUNT:
            return register + 1
        case NavigationKind.SUM | NavigationKind.AVG:
            return _sum_with(register, value)
        case NavigationKind.MIN | NavigationKind.MAX:
            return _extreme(navigation, register, value)
        case _:
            raise AssertionError(navigation)


def _extreme(navigation: Navigation, register: Value, value: Value) -> Value:
    if isinstance(value, float):
        value += 0.0  # -0.0 becomes 0.0.
    if register is None:
        return value
    order = compare(value, register)
    better = order < 0 if navigation.kind is NavigationKind.MIN else order > 0
    return value if better else register


def _sum_with(register: tuple[Any, ...], value: Value) -> tuple[Any, ...]:
    """Return the count, the exact sum of finite values, and the counts of NaN and the infinities."""
    count, exact, nan, infinite, negative = register
    assert isinstance(value, int | float)
    if isinstance(value, int):
        return count + 1, exact + value, nan, infinite, negative
    if math.isnan(value):
        return count + 1, exact, nan + 1, infinite, negative
    if math.isinf(value):
        return count + 1, exact, nan, infinite + (value > 0), negative + (value < 0)
    return count + 1, exact + Fraction(value), nan, infinite, negative


def value_of(navigation: Navigation, register: Any) -> Value:  # noqa: ANN401 - each kind has its own
    """Return the value of a navigation.

    Raises:
        MatchSumOutOfRangeFailure: for SUM and AVG.
    """
    match navigation.kind:
        case NavigationKind.FIRST | NavigationKind.LAST:
            first = navigation.kind is NavigationKind.FIRST
            there = len(register) > navigation.offset
            return register[-1 if first else 0] if there else None
        case NavigationKind.SUM | NavigationKind.AVG:
            return _sum_of(navigation, register)
        case _:
            value: Value = register
            return value


def _sum_of(navigation: Navigation, register: tuple[Any, ...]) -> Value:
    count, exact, nan, infinite, negative = register
    if not count:
        return None
    average = navigation.kind is NavigationKind.AVG
    if navigation.argument_type.kind is Kind.DOUBLE:
        total = _round(exact, nan, infinite, negative)
        return (total / count if average else total) + 0.0
    if navigation.argument_type.kind is Kind.DECIMAL:
        unit = 10 ** (navigation.type.scale - navigation.argument_type.scale)
        result: int = round_quotient(exact * unit, count) if average else exact
        if abs(result) >= 10**navigation.type.precision:
            raise MatchSumOutOfRangeFailure
        return result
    if average:
        return float(Fraction(exact, count))
    if not BIGINT_MIN <= exact <= BIGINT_MAX:
        raise MatchSumOutOfRangeFailure
    whole: int = exact
    return whole


def _round(exact: Fraction | int, nan: int, infinite: int, negative: int) -> float:
    if nan or (infinite and negative):
        return math.nan
    if infinite or negative:
        return math.inf if infinite else -math.inf
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
