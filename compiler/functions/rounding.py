"""Roots, powers and rounding of DOUBLE, after IEEE 754."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fsql.compiler.functions.casts import NAN
from fsql.compiler.functions.decimal_arithmetic import OF_DECIMALS
from fsql.compiler.functions.mathematics import ROUND_TO_PLACES
from fsql.compiler.functions.signature import Function, Signature
from fsql.compiler.sqltypes import DOUBLE

if TYPE_CHECKING:
    from collections.abc import Callable


def _to_integral(value: float, round_to: Callable[[float], int]) -> float:
    """Return `value` rounded by `round_to`; the sign survives, also of zero."""
    if not math.isfinite(value):
        return NAN if math.isnan(value) else value
    return math.copysign(float(round_to(value)), value)


def _half_away_from_zero(value: float) -> int:
    whole = math.trunc(value)
    # The fraction is exact; adding 0.5 before truncating would round 0.49999999999999994 up.
    if abs(value - whole) >= 0.5:
        return whole + (1 if value > 0 else -1)
    return whole


def _sqrt(value: float) -> float:
    return NAN if math.isnan(value) or value < 0.0 else math.sqrt(value)


def _power(base: float, exponent: float) -> float:
    """Return IEEE pow: `math.pow`, but with infinities and NaN instead of exceptions."""
    try:
        result = math.pow(base, exponent)
    except OverflowError:
        negative = base < 0.0 and exponent % 2.0 == 1.0
        return -math.inf if negative else math.inf
    except ValueError:
        if base != 0.0:
            return NAN
        odd = exponent % 2.0 == 1.0
        return math.copysign(math.inf, base) if odd else math.inf
    return NAN if math.isnan(result) else result


_DOUBLE = (DOUBLE,)

ROUNDING = (
    Function(
        "floor",
        ("FLOOR",),
        (Signature(_DOUBLE, DOUBLE, lambda value: _to_integral(value, math.floor)),),
        of_decimals=OF_DECIMALS["floor"],
    ),
    Function(
        "ceil",
        ("CEIL", "CEILING"),
        (Signature(_DOUBLE, DOUBLE, lambda value: _to_integral(value, math.ceil)),),
        of_decimals=OF_DECIMALS["ceil"],
    ),
    Function(
        "round",
        ("ROUND",),
        (
            Signature(_DOUBLE, DOUBLE, lambda value: _to_integral(value, _half_away_from_zero)),
            ROUND_TO_PLACES,
        ),
        of_decimals=OF_DECIMALS["round"],
    ),
    Function("sqrt", ("SQRT",), (Signature(_DOUBLE, DOUBLE, _sqrt),)),
    Function("power", ("POWER", "POW"), (Signature((DOUBLE, DOUBLE), DOUBLE, _power),)),
)
