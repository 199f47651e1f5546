"""DECIMAL by rational numbers: arithmetic and casts of values that are integers of the smallest unit."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from fsql.compiler.sqltypes import Kind, SqlType
from fsql.tests.reference.failure import (
    DIVISION_BY_ZERO,
    NOT_CASTABLE,
    OUT_OF_RANGE,
    FailureError,
)
from fsql.tests.reference.lines import text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.compiler.expression import Call, Value


def half_away_from_zero(value: Fraction) -> int:
    """Round to the nearest integer, halves away from zero."""
    return math.trunc(value + Fraction(1 if value > 0 else -1, 2))


def round_to_places(value: Any, places: Any = 0) -> Fraction:
    """Round to places behind the point, halves away from zero."""
    unit = Fraction(10) ** -max(min(int(places), 60), -60)
    return half_away_from_zero(Fraction(value) / unit) * unit


DECIMAL_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "modulo": lambda a, b: a - b * math.trunc(a / b),
    "negate": lambda a: -a,
    "abs": abs,
    "floor": math.floor,
    "ceil": math.ceil,
    "round": round_to_places,
}
"""The functions of DECIMAL, over rationals."""


COMPARISONS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
"""The comparisons of rationals, whatever the scales of their types."""


def rationals(expression: Call, values: Sequence[Any]) -> list[Fraction]:
    """Return the arguments of a call, which are DECIMAL, as the numbers that they stand for."""
    return [
        Fraction(value, 10**argument.type.scale)
        for value, argument in zip(values, expression.arguments, strict=True)
    ]


def decimal_result(expression: Call, values: Sequence[Any]) -> int:
    """Return a result of DECIMAL arithmetic: the exact rational, rounded to the type's scale.

    Raises:
        FailureError: it divides by zero, or has too many digits.
    """
    numbers = rationals(expression, values)
    if expression.function in {"divide", "modulo"} and numbers[1] == 0:
        raise FailureError(DIVISION_BY_ZERO)
    return as_decimal(DECIMAL_FUNCTIONS[expression.function](*numbers), expression.type)


def as_decimal(value: Fraction, type_: SqlType) -> int:
    """Return a number as a DECIMAL, half rounded away from zero.

    Raises:
        FailureError: it has too many digits.
    """
    digits = half_away_from_zero(value * 10**type_.scale)
    if abs(digits) >= 10**type_.precision:
        raise FailureError(OUT_OF_RANGE)
    return digits


def cast_of_decimal(value: Any, given: SqlType, wanted: SqlType) -> Value:
    """Return a number, or a text of one, as a DECIMAL; or a DECIMAL as another number.

    Raises:
        FailureError: the type has no such value.
    """
    if isinstance(value, str):
        value = value.strip(" ")
        if not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", value, re.ASCII):
            raise FailureError(NOT_CASTABLE)
        return as_decimal(Fraction(value), wanted)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise FailureError(OUT_OF_RANGE)
        return as_decimal(Fraction(text(value, given)), wanted)
    number = Fraction(value, 10**given.scale)
    if wanted.kind is Kind.DECIMAL:
        return as_decimal(number, wanted)
    return float(number) if wanted.kind in {Kind.FLOAT, Kind.DOUBLE} else math.trunc(number)
