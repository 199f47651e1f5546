"""DECIMAL: its values as integers of the smallest unit, as text, and in other types.

150 stands for 1.50 in DECIMAL(3, 2).  Digits beyond the scale are rounded, half away from zero; a value with
more digits than the type's precision fails.  Everything is exact; no value passes through a float.
"""

from __future__ import annotations

import math
import re
from decimal import Context, Decimal, Inexact, InvalidOperation, Overflow
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from fsql.compiler.functions.failure import OutOfRangeFailure, UnreadableTextFailure
from fsql.compiler.functions.floats import shortest_double, to_float
from fsql.compiler.sqltypes import (
    DECIMAL_DIGITS_MAX,
    FLOATING,
    INTEGER_RANGES,
    Kind,
    SqlType,
    decimal_type,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fsql.compiler.expression import Value

_NUMBER: Final = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]{1,9}))?")
_DIGITS_OF: Final[Mapping[Kind, int]] = {
    Kind.TINYINT: 3,
    Kind.SMALLINT: 5,
    Kind.INT: 10,
    Kind.BIGINT: 19,
    Kind.UTINYINT: 3,
    Kind.USMALLINT: 5,
    Kind.UINT: 10,
    Kind.UBIGINT: 20,
}
"""How many digits the integer types have."""
_FAR: Final = 2 * DECIMAL_DIGITS_MAX
"""A digit this far from the point does not matter, or is beyond every DECIMAL."""


def as_decimal(sql_type: SqlType) -> SqlType | None:
    """Return the DECIMAL that has the values of a type; None if there is none."""
    if sql_type.kind is Kind.DECIMAL:
        return sql_type
    digits = _DIGITS_OF.get(sql_type.kind)
    return None if digits is None else decimal_type(digits, 0)


def union_type(left: SqlType, right: SqlType) -> SqlType | None:
    """Return the least DECIMAL that has the values of both; None if it would have too many digits.

    >>> print(union_type(decimal_type(10, 2), decimal_type(5, 4)))
    DECIMAL(12, 4)
    """
    scale = max(left.scale, right.scale)
    precision = max(left.precision - left.scale, right.precision - right.scale) + scale
    return decimal_type(precision, scale) if precision <= DECIMAL_DIGITS_MAX else None


def common_decimal(left: SqlType, right: SqlType) -> SqlType:
    """Return the least DECIMAL that has the values of both, or the one of 38 digits with all their fractions.

    Values with more whole digits than the latter has fail where they are converted; no fraction is rounded.

    >>> print(common_decimal(decimal_type(38, 2), decimal_type(38, 6)))
    DECIMAL(38, 6)
    """
    whole = union_type(left, right)
    return whole or decimal_type(DECIMAL_DIGITS_MAX, max(left.scale, right.scale))


def alike(left: SqlType, right: SqlType) -> tuple[int, int]:
    """Return the factors that give numbers of two types of DECIMAL the same unit."""
    scale = max(left.scale, right.scale)
    return 10 ** (scale - left.scale), 10 ** (scale - right.scale)


def round_quotient(numerator: int, denominator: int) -> int:
    """Return the quotient, rounded half away from zero.

    >>> round_quotient(5, 10), round_quotient(-5, 10), round_quotient(4, 10)
    (1, -1, 0)
    """
    quotient = (2 * abs(numerator) + abs(denominator)) // (2 * abs(denominator))
    return quotient if (numerator < 0) == (denominator < 0) else -quotient


def check_digits(value: int, target: SqlType) -> int:
    """Return `value`, which is to be of type `target`.

    Raises:
        OutOfRangeFailure: E502, if it has more digits.
    """
    if abs(value) >= 10**target.precision:
        raise OutOfRangeFailure(target)
    return value


def rescale(value: int, scale: int, target: SqlType) -> int:
    """Return a number of `scale` digits after the point as a value of `target`.

    Raises:
        OutOfRangeFailure: E502.
    """
    if scale <= target.scale:
        return check_digits(value * 10 ** (target.scale - scale), target)
    return check_digits(round_quotient(value, 10 ** (scale - target.scale)), target)


def format_decimal(value: int, scale: int) -> str:
    """Return the number with all digits of its scale.

    >>> format_decimal(150, 2), format_decimal(-5, 3), format_decimal(7, 0)
    ('1.50', '-0.005', '7')
    """
    if scale == 0:
        return str(value)
    whole, fraction = divmod(abs(value), 10**scale)
    return f"{'-' if value < 0 else ''}{whole}.{fraction:0{scale}d}"


def parse_decimal(text: str, target: SqlType) -> int:
    """Return the number that a text writes, with or without an exponent, as a value of `target`.

    Raises:
        UnreadableTextFailure: E503.
        OutOfRangeFailure: E502.
    """
    match = _NUMBER.fullmatch(text.strip(" "))
    if match is None or not (match[2] or match[3]):
        raise UnreadableTextFailure(text, target)
    digits = (match[2] + (match[3] or "")).lstrip("0")
    scale = len(match[3] or "") - int(match[4] or 0)
    if len(digits) - scale > _FAR and digits:
        raise OutOfRangeFailure(target)
    kept = min(len(digits), max(0, len(digits) - scale + _FAR))
    value = int(digits[:kept] or "0")
    scale -= len(digits) - kept
    return rescale(-value if match[1] == "-" else value, scale if value else 0, target)


EXACT: Final = Context(prec=2 * DECIMAL_DIGITS_MAX, traps=[Inexact, Overflow, InvalidOperation])
"""Computes with numbers that are written out, and raises `ArithmeticError` rather than round."""


def decimal_of(value: Decimal) -> tuple[int, SqlType] | None:
    """Return a number as the DECIMAL with as few digits as it has; None if it has too many."""
    try:
        sign, digits, exponent = value.normalize(EXACT).as_tuple()
    except ArithmeticError:
        return None
    assert isinstance(exponent, int)
    unscaled = int("".join(map(str, digits))) * 10 ** max(exponent, 0)
    scale = max(-exponent, 0)
    precision = max(len(str(unscaled)), scale)
    if precision > DECIMAL_DIGITS_MAX:
        return None
    return -unscaled if sign else unscaled, decimal_type(precision, scale)


def double_to_decimal(value: float, target: SqlType) -> int:
    """Return the number that the shortest text of a DOUBLE writes, as a value of `target`.

    Raises:
        OutOfRangeFailure: E502.
    """
    if not math.isfinite(value):
        raise OutOfRangeFailure(target)
    return parse_decimal(repr(value), target)


def decimal_to_double(value: int, scale: int) -> float:
    """Return the nearest DOUBLE."""
    return float(Fraction(value, 10**scale))


def _to_integer(value: int, source: SqlType, target: SqlType) -> int:
    """Return the whole part."""
    whole = abs(value) // 10**source.scale
    whole = -whole if value < 0 else whole
    least, greatest = INTEGER_RANGES[target.kind]
    if not least <= whole <= greatest:
        raise OutOfRangeFailure(target)
    return whole


DECIMAL_CASTS: Final[dict[tuple[Kind, Kind], Callable[[Any, SqlType, SqlType], Value]]] = {
    (Kind.DECIMAL, Kind.DECIMAL): lambda value, source, target: rescale(
        value, source.scale, target
    ),
    **{
        (kind, Kind.DECIMAL): lambda value, _, target: rescale(value, 0, target)
        for kind in INTEGER_RANGES
    },
    **{(Kind.DECIMAL, kind): _to_integer for kind in INTEGER_RANGES},
    (Kind.DOUBLE, Kind.DECIMAL): lambda value, _, target: double_to_decimal(value, target),
    (Kind.FLOAT, Kind.DECIMAL): lambda value, _, target: double_to_decimal(
        shortest_double(value), target
    ),
    (Kind.DECIMAL, Kind.DOUBLE): lambda value, source, _: decimal_to_double(value, source.scale),
    (Kind.DECIMAL, Kind.FLOAT): lambda value, source, _: to_float(
        decimal_to_double(value, source.scale)
    ),
    (Kind.STRING, Kind.DECIMAL): lambda text, _, target: parse_decimal(text, target),
    (Kind.DECIMAL, Kind.STRING): lambda value, source, _: format_decimal(value, source.scale),
}
"""The casts from and to DECIMAL: functions of a value and both types."""


def decimal_cast_fallible(source: SqlType, target: SqlType) -> bool:
    """Return whether a cast from or to DECIMAL can fail a row."""
    if target.kind in {*FLOATING, Kind.STRING}:
        return False
    given = as_decimal(source)
    if given is None:
        return source.kind is not Kind.NULL
    digits = given.precision - given.scale
    if target.kind is Kind.DECIMAL:
        carried = 1 if target.scale < given.scale else 0
        return digits + carried > target.precision - target.scale
    unsigned = INTEGER_RANGES[target.kind][0] == 0
    return unsigned or digits >= _DIGITS_OF[target.kind]
