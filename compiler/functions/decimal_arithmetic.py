"""Arithmetic of DECIMAL: the precision and scale of results, and the results.

Of operands DECIMAL(p1, s1) and DECIMAL(p2, s2), with INT as
DECIMAL(10, 0) and BIGINT as DECIMAL(19, 0):

| operation | digits | scale |
|---|---|---|
| `+`, `-` | max(p1 - s1, p2 - s2) + scale + 1 | max(s1, s2) |
| `*` | p1 + p2 | s1 + s2 |
| `/` | p1 - s1 + s2 + scale | max(6, s1 + p2 + 1) |
| `%` | min(p1 - s1, p2 - s2) + scale | max(s1, s2) |

Where that is more than 38 digits, the scale is reduced by the excess, but not below 6 (or itself, where it is
less), and the result is rounded.  A result that has more digits than its type fails the row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.decimals import as_decimal, check_digits, round_quotient
from fsql.compiler.functions.failure import DivisionByZeroFailure, OutOfRangeFailure
from fsql.compiler.functions.signature import Match, Signature
from fsql.compiler.sqltypes import BIGINT, DECIMAL_DIGITS_MAX, Kind, SqlType, decimal_type

if TYPE_CHECKING:
    from collections.abc import Callable

    Types = tuple[SqlType, ...]

_SCALE_KEPT: Final = 6
"""The scale of a result is not reduced below this."""


def _limit_digits(precision: int, scale: int) -> SqlType:
    """Return the type of a result with this many digits."""
    if precision <= DECIMAL_DIGITS_MAX:
        return decimal_type(precision, scale)
    whole = precision - scale
    kept = max(DECIMAL_DIGITS_MAX - whole, min(scale, _SCALE_KEPT))
    return decimal_type(DECIMAL_DIGITS_MAX, kept)


def _sum_type(left: SqlType, right: SqlType) -> SqlType:
    scale = max(left.scale, right.scale)
    whole = max(left.precision - left.scale, right.precision - right.scale)
    return _limit_digits(whole + scale + 1, scale)


def _product_type(left: SqlType, right: SqlType) -> SqlType:
    return _limit_digits(left.precision + right.precision, left.scale + right.scale)


def _quotient_type(left: SqlType, right: SqlType) -> SqlType:
    scale = max(_SCALE_KEPT, left.scale + right.precision + 1)
    return _limit_digits(left.precision - left.scale + right.scale + scale, scale)


def _remainder_type(left: SqlType, right: SqlType) -> SqlType:
    scale = max(left.scale, right.scale)
    whole = min(left.precision - left.scale, right.precision - right.scale)
    return decimal_type(max(whole + scale, 1), scale)


def _sum(sign: int) -> Callable[[SqlType, SqlType, SqlType], Callable[[int, int], int]]:
    def make(left: SqlType, right: SqlType, result: SqlType) -> Callable[[int, int], int]:
        scale = max(left.scale, right.scale)
        of_left, of_right = 10 ** (scale - left.scale), sign * 10 ** (scale - right.scale)
        excess = 10 ** (scale - result.scale)
        return lambda a, b: check_digits(round_quotient(a * of_left + b * of_right, excess), result)

    return make


def _product(left: SqlType, right: SqlType, result: SqlType) -> Callable[[int, int], int]:
    excess = 10 ** (left.scale + right.scale - result.scale)
    return lambda a, b: check_digits(round_quotient(a * b, excess), result)


def _quotient(left: SqlType, right: SqlType, result: SqlType) -> Callable[[int, int], int]:
    factor = 10 ** (result.scale - left.scale + right.scale)

    def divide(a: int, b: int) -> int:
        if b == 0:
            raise DivisionByZeroFailure
        return check_digits(round_quotient(a * factor, b), result)

    return divide


def _remainder(left: SqlType, right: SqlType, result: SqlType) -> Callable[[int, int], int]:
    of_left, of_right = (10 ** (result.scale - each.scale) for each in (left, right))

    def modulo(a: int, b: int) -> int:
        if b == 0:
            raise DivisionByZeroFailure
        left_over = abs(a * of_left) % abs(b * of_right)
        return -left_over if a < 0 else left_over

    return modulo


def _binary(
    result_type: Callable[[SqlType, SqlType], SqlType],
    make: Callable[[SqlType, SqlType, SqlType], Callable[[int, int], int]],
    *,
    fallible: bool = True,
) -> Callable[[Types], Match | None]:
    def derive(arguments: Types) -> Match | None:
        left, right = (as_decimal(argument) for argument in arguments)
        if left is None or right is None:
            return None
        result = result_type(left, right)
        signature = Signature((left, right), result, make(left, right, result), fallible=fallible)
        return Match(signature, (left, right), result)

    return derive


def _unary(
    result_type: Callable[[SqlType], SqlType], make: Callable[[SqlType], Callable[[int], int]]
) -> Callable[[Types], Match | None]:
    def derive(arguments: Types) -> Match | None:
        if len(arguments) != 1:
            return None
        (argument,) = arguments
        result = result_type(argument)
        return Match(Signature((argument,), result, make(argument)), (argument,), result)

    return derive


def _whole_type(argument: SqlType) -> SqlType:
    """Return the type of a number rounded to a whole one, which may have one digit more."""
    if argument.scale == 0:
        return argument
    return decimal_type(argument.precision - argument.scale + 1, 0)


def _floor(argument: SqlType) -> Callable[[int], int]:
    unit = 10**argument.scale
    return lambda value: value // unit


def _ceil(argument: SqlType) -> Callable[[int], int]:
    unit = 10**argument.scale
    return lambda value: -(-value // unit)


def _round(argument: SqlType) -> Callable[[int], int]:
    unit = 10**argument.scale
    return lambda value: round_quotient(value, unit)


def _round_to_places(arguments: Types) -> Match | None:
    """Return the signature of ROUND(x) and ROUND(x, places); the latter keeps the scale."""
    if len(arguments) != 2:
        return _unary(_whole_type, _round)(arguments)
    given, places = arguments
    if given.kind is not Kind.DECIMAL or places.kind not in {Kind.INT, Kind.BIGINT}:
        return None
    result = decimal_type(min(given.precision + 1, DECIMAL_DIGITS_MAX), given.scale)

    def scalar(value: int, count: int) -> int:
        if count >= given.scale:
            return value
        unit = 10 ** min(given.scale - count, DECIMAL_DIGITS_MAX + 2)
        nearest = round_quotient(value, unit) * unit
        if abs(nearest) >= 10**result.precision:
            raise OutOfRangeFailure(result)
        return nearest

    # Rounding takes at most one digit more, which the result has unless it has all digits before.
    full = given.precision == DECIMAL_DIGITS_MAX
    signature = Signature((given, BIGINT), result, scalar, fallible=full)
    return Match(signature, (given, BIGINT), result)


OF_DECIMALS: Final[dict[str, Callable[[Types], Match | None]]] = {
    "add": _binary(_sum_type, _sum(1)),
    "subtract": _binary(_sum_type, _sum(-1)),
    "multiply": _binary(_product_type, _product),
    "divide": _binary(_quotient_type, _quotient),
    "modulo": _binary(_remainder_type, _remainder),
    "negate": _unary(lambda argument: argument, lambda _: lambda value: -value),
    "abs": _unary(lambda argument: argument, lambda _: abs),
    "floor": _unary(_whole_type, _floor),
    "ceil": _unary(_whole_type, _ceil),
    "round": _round_to_places,
}
"""The signatures of functions of DECIMAL, by the names of the functions."""
