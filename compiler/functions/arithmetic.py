"""Arithmetic: integers and DECIMAL fail if a result is out of range, FLOAT and DOUBLE follow IEEE 754."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.casts import NAN, integer_in_range
from fsql.compiler.functions.dates import add_interval
from fsql.compiler.functions.decimal_arithmetic import OF_DECIMALS
from fsql.compiler.functions.failure import DivisionByZeroFailure, OutOfRangeFailure
from fsql.compiler.functions.floats import to_float
from fsql.compiler.functions.months import date_months_later, months_later
from fsql.compiler.functions.signature import Function, Signature
from fsql.compiler.functions.times import add_to_time
from fsql.compiler.functions.timestamps import in_range
from fsql.compiler.sqltypes import (
    BIGINT,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER_RANGES,
    INTERVAL,
    MONTHS,
    TIME,
    TIMESTAMP,
    UBIGINT,
    SqlType,
    decimal_type,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.compiler.expression import Value


BEYOND_BIGINT: Final = 2.0**63
"""The least DOUBLE that is greater than every BIGINT."""


def _check_range(scalar: Callable[..., int], result: SqlType) -> Callable[..., Value]:
    """Return `scalar` with its result checked to be one of `result`."""
    return lambda *arguments: integer_in_range(scalar(*arguments), result)


def _canonical(scalar: Callable[..., float]) -> Callable[..., float]:
    """Return `scalar` with every NaN made the canonical one (the processor's may have a sign)."""

    def compute(*arguments: float) -> float:
        result = scalar(*arguments)
        return NAN if math.isnan(result) else result

    return compute


def divide_integers(left: int, right: int) -> int:
    """Return the quotient, truncated towards zero.

    Raises:
        DivisionByZeroFailure: E501.
    """
    if right == 0:
        raise DivisionByZeroFailure
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def modulo_integers(left: int, right: int) -> int:
    """Return the remainder of the truncated division: it has the sign of the dividend.

    Raises:
        DivisionByZeroFailure: E501.
    """
    return left - right * divide_integers(left, right)


def divide_doubles(left: float, right: float) -> float:
    """Return the IEEE quotient; division by zero is an infinity, or NaN."""
    if right != 0.0:
        return left / right
    if left == 0.0 or math.isnan(left):
        return NAN
    return math.inf if math.copysign(1.0, left) == math.copysign(1.0, right) else -math.inf


def modulo_doubles(left: float, right: float) -> float:
    """Return the remainder of IEEE's fmod, with the sign of the dividend; NaN of a division by zero."""
    if right == 0.0 or math.isinf(left):
        return NAN
    return math.fmod(left, right)


def _numeric(
    integer: Callable[..., int], double: Callable[..., float], *, count: int
) -> tuple[Signature, ...]:
    """Return the numeric signatures of a function of `count` arguments of one type.

    An operation on FLOAT is that on DOUBLE, rounded: of the four operations that is the nearest FLOAT.
    """
    of_doubles = _canonical(double)
    return (
        *_integers(integer, count=count),
        Signature((FLOAT,) * count, FLOAT, lambda *values: to_float(of_doubles(*values))),
        Signature((DOUBLE,) * count, DOUBLE, of_doubles),
    )


def _integers(integer: Callable[..., int], *, count: int) -> tuple[Signature, ...]:
    """Return a signature for each integer type."""
    return tuple(
        Signature((each,) * count, each, _check_range(integer, each), fallible=True)
        for each in map(SqlType, INTEGER_RANGES)
    )


def _of_signed(signatures: tuple[Signature, ...]) -> tuple[Signature, ...]:
    """Return signatures of one argument without those for unsigned types, whose values have no opposite.

    A value of these is one of a type with a sign, that of UBIGINT one of DECIMAL.
    """
    unsigned = {SqlType(kind) for kind, (least, _) in INTEGER_RANGES.items() if least == 0}
    signed = [each for each in signatures if each.parameters[0] not in unsigned]
    at = next(i for i, each in enumerate(signed) if each.parameters == (FLOAT,))
    signed.insert(at, Signature((UBIGINT,), decimal_type(20, 0), _negate))
    return tuple(signed)


def _months(scalar: Callable[..., int], *parameters: SqlType) -> Signature:
    return Signature(parameters, MONTHS, _check_range(scalar, MONTHS), fallible=True)


def _interval(scalar: Callable[..., int], *parameters: SqlType) -> Signature:
    return Signature(parameters, INTERVAL, _check_range(scalar, INTERVAL), fallible=True)


def _scale_interval(scalar: Callable[[float, float], float]) -> Callable[..., int]:
    """Return the function that scales an interval in DOUBLE, and rounds to the nearest microsecond.

    Of two that are as near it is the even one.
    """

    def compute(interval: int, factor: float) -> int:
        scaled = scalar(float(interval), factor)
        # NaN is not in the range either.
        if not -BEYOND_BIGINT <= scaled < BEYOND_BIGINT:
            raise OutOfRangeFailure(INTERVAL)
        return round(scaled)

    return compute


def _divide_interval(interval: float, divisor: float) -> float:
    if divisor == 0.0:
        raise DivisionByZeroFailure
    return interval / divisor


def _add(left: int, right: int) -> int:
    return left + right


def _subtract(left: int, right: int) -> int:
    return left - right


def _multiply(left: int, right: int) -> int:
    return left * right


def _negate(value: int) -> int:
    return -value


ARITHMETIC = (
    Function(
        "add",
        ("+",),
        (
            *_numeric(_add, lambda left, right: left + right, count=2),
            _interval(_add, INTERVAL, INTERVAL),
            _months(_add, MONTHS, MONTHS),
            Signature((DATE, MONTHS), DATE, date_months_later, fallible=True),
            Signature((TIMESTAMP, MONTHS), TIMESTAMP, months_later, fallible=True),
            Signature((DATE, INTERVAL), DATE, add_interval, fallible=True),
            Signature((TIME, INTERVAL), TIME, add_to_time),
            Signature(
                (TIMESTAMP, INTERVAL),
                TIMESTAMP,
                lambda at, delta: in_range(at + delta),
                fallible=True,
            ),
        ),
        of_decimals=OF_DECIMALS["add"],
        of_instants=True,
    ),
    Function(
        "subtract",
        ("-",),
        (
            *_numeric(_subtract, lambda left, right: left - right, count=2),
            _interval(_subtract, INTERVAL, INTERVAL),
            _months(_subtract, MONTHS, MONTHS),
            Signature(
                (DATE, MONTHS), DATE, lambda day, by: date_months_later(day, -by), fallible=True
            ),
            Signature(
                (TIMESTAMP, MONTHS), TIMESTAMP, lambda at, by: months_later(at, -by), fallible=True
            ),
            Signature(
                (DATE, INTERVAL), DATE, lambda day, by: add_interval(day, -by), fallible=True
            ),
            Signature((DATE, DATE), BIGINT, _subtract),
            Signature((TIME, INTERVAL), TIME, lambda at, delta: add_to_time(at, -delta)),
            Signature((TIME, TIME), INTERVAL, _subtract),
            Signature(
                (TIMESTAMP, INTERVAL),
                TIMESTAMP,
                lambda at, delta: in_range(at - delta),
                fallible=True,
            ),
            # Two timestamps are at most 9,999 years apart, which an INTERVAL holds.
            Signature((TIMESTAMP, TIMESTAMP), INTERVAL, _subtract),
        ),
        of_decimals=OF_DECIMALS["subtract"],
        of_instants=True,
    ),
    Function(
        "multiply",
        ("*",),
        (
            *_numeric(_multiply, lambda left, right: left * right, count=2),
            _interval(_multiply, INTERVAL, BIGINT),
            _months(_multiply, MONTHS, BIGINT),
        ),
        of_decimals=OF_DECIMALS["multiply"],
    ),
    Function(
        "divide",
        ("/",),
        _numeric(divide_integers, divide_doubles, count=2),
        of_decimals=OF_DECIMALS["divide"],
    ),
    Function(
        "multiply_interval",
        ("*",),
        (_interval(_scale_interval(lambda interval, factor: interval * factor), INTERVAL, DOUBLE),),
    ),
    Function(
        "divide_interval",
        ("/",),
        (_interval(_scale_interval(_divide_interval), INTERVAL, DOUBLE),),
    ),
    Function(
        "modulo",
        ("%", "MOD"),
        _numeric(modulo_integers, modulo_doubles, count=2),
        of_decimals=OF_DECIMALS["modulo"],
    ),
    Function(
        "negate",
        ("-",),
        (
            *_of_signed(_numeric(_negate, lambda value: -value, count=1)),
            _interval(_negate, INTERVAL),
            _months(_negate, MONTHS),
        ),
        of_decimals=OF_DECIMALS["negate"],
    ),
    Function(
        "abs",
        ("ABS",),
        (*_numeric(abs, abs, count=1), _interval(abs, INTERVAL), _months(abs, MONTHS)),
        of_decimals=OF_DECIMALS["abs"],
    ),
)
