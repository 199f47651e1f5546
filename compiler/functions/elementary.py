"""Elementary functions of numbers: logarithms, angles, signs, bits.

Those of DOUBLE are Python's, for a column as for a row; where they have no value, it is NaN.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler.functions.casts import NAN
from fsql.compiler.functions.mathematics import TRUNCATE_TO_PLACES
from fsql.compiler.functions.signature import Function, Signature
from fsql.compiler.sqltypes import BIGINT, DOUBLE, INT, UBIGINT

if TYPE_CHECKING:
    from collections.abc import Callable


def _double_function(name: str, compute: Callable[[float], float], *others: str) -> Function:
    def scalar(value: float) -> float:
        if math.isnan(value):
            return NAN
        try:
            return compute(value)
        except OverflowError:
            return math.inf
        except ValueError:
            return NAN

    return Function(name, (name.upper(), *others), (Signature((DOUBLE,), DOUBLE, scalar),))


def _log(compute: Callable[[float], float]) -> Callable[[float], float]:
    return lambda value: compute(value) if value else -math.inf


def _log_to_base(base: float, value: float) -> float:
    """Return the logarithm of `value` to `base`; NaN if there is none."""
    if not (base > 0.0 and value > 0.0 and base not in {1.0, math.inf}):
        return NAN
    return math.log(value) / math.log(base)


def _sign(value: float) -> float:
    return 0.0 if value == 0 else math.copysign(1.0, value)


def _sign_of_integer(value: int) -> int:
    return (value > 0) - (value < 0)


def _truncate(value: float) -> float:
    return math.copysign(float(math.trunc(value)), value) if math.isfinite(value) else value


def _bits(name: str, compute: Callable[[int, int], int]) -> Function:
    signatures = tuple(Signature((each, each), each, compute) for each in (BIGINT, UBIGINT))
    return Function(name, (name.upper(),), signatures)


ELEMENTARY = (
    _double_function("exp", math.exp),
    _double_function("ln", _log(math.log)),
    _double_function("log2", _log(math.log2)),
    _double_function("log10", _log(math.log10)),
    _double_function("sin", math.sin),
    _double_function("cos", math.cos),
    _double_function("tan", math.tan),
    _double_function("asin", math.asin),
    _double_function("acos", math.acos),
    _double_function("atan", math.atan),
    _double_function("degrees", math.degrees),
    _double_function("radians", math.radians),
    replace(
        _double_function("truncate", _truncate, "TRUNC"),
        signatures=(
            *_double_function("truncate", _truncate).signatures,
            TRUNCATE_TO_PLACES,
        ),
    ),
    Function("log", ("LOG",), (Signature((DOUBLE, DOUBLE), DOUBLE, _log_to_base),)),
    Function(
        "sign",
        ("SIGN",),
        (
            Signature((INT,), INT, _sign_of_integer),
            Signature((BIGINT,), BIGINT, _sign_of_integer),
            Signature((UBIGINT,), INT, _sign_of_integer),
            Signature((DOUBLE,), DOUBLE, lambda value: NAN if math.isnan(value) else _sign(value)),
        ),
    ),
    Function("pi", ("PI",), (Signature((), DOUBLE, lambda: math.pi),)),
    _bits("bitand", lambda a, b: a & b),
    _bits("bitor", lambda a, b: a | b),
    _bits("bitxor", lambda a, b: a ^ b),
)
