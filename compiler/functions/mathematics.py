"""More functions of numbers: hyperbolic ones, rounding to places, divisors, bits, arithmetic that gives NULL.

Those of DOUBLE are Python's, for a column as for a row; where they have no value, it is NaN.
"""

from __future__ import annotations

import decimal
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.arithmetic import (
    divide_doubles,
    divide_integers,
    modulo_integers,
)
from fsql.compiler.functions.casts import NAN, integer_in_range
from fsql.compiler.functions.failure import DivisionByZeroFailure, OutOfRangeFailure, RowFailure
from fsql.compiler.functions.signature import Function, Nullability, Signature
from fsql.compiler.sqltypes import BIGINT, BOOLEAN, DOUBLE, INT, STRING, UBIGINT, SqlType

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.compiler.expression import Value

_BITS: Final = 64
_DIGITS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_PLACES_MAX: Final = 400
"""Rounding to more digits than this changes no DOUBLE, or makes it zero."""
_EXACT: Final = decimal.Context(prec=2_000)


def _guard(compute: Callable[..., float]) -> Callable[..., float]:
    """Return a function of DOUBLE that is infinite where it is too large, and NaN where it has no value."""

    def scalar(*values: float) -> float:
        if any(map(math.isnan, values)):
            return NAN
        try:
            result = compute(*values)
        except OverflowError:
            return math.inf
        except ValueError:
            return NAN
        return NAN if math.isnan(result) else result

    return scalar


def _double_function(name: str, compute: Callable[..., float], *, count: int = 1) -> Function:
    signature = Signature((DOUBLE,) * count, DOUBLE, _guard(compute))
    return Function(name, (name.upper(),), (signature,))


def _cbrt(value: float) -> float:
    """Return the cube root, correctly rounded, independent of the machine's library."""
    if value == 0.0 or not math.isfinite(value):
        return value
    root, exact = math.cbrt(value), Fraction(value)
    for towards, sign in ((math.inf, 1), (-math.inf, -1)):
        while (following := math.nextafter(root, towards)) and _between(
            root, following, exact, sign
        ):
            root = following
    return root


def _between(root: float, following: float, exact: Fraction, sign: int) -> bool:
    """Return whether the cube root of `exact` is nearer to `following` than to `root`."""
    middle = (Fraction(root) + Fraction(following)) / 2
    return sign * (exact - middle**3) > 0


def _sinh(value: float) -> float:
    try:
        return math.sinh(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def _atanh(value: float) -> float:
    return math.copysign(math.inf, value) if abs(value) == 1.0 else math.atanh(value)


def _cot(value: float) -> float:
    return math.copysign(math.inf, value) if value == 0.0 else 1.0 / math.tan(value)


def _log1p(value: float) -> float:
    return -math.inf if value == -1.0 else math.log1p(value)


def _gamma(value: float) -> float:
    return math.copysign(math.inf, value) if value == 0.0 else math.gamma(value)


def _lgamma(value: float) -> float:
    whole = value <= 0.0 and value == math.floor(value)
    return math.inf if whole else math.lgamma(value)


def _to_places(rounding: str) -> Callable[[float, int], float]:
    """Return the function that rounds a DOUBLE, as it is written in decimal, to digits after the point."""

    def scalar(value: float, places: int) -> float:
        if not math.isfinite(value) or places > _PLACES_MAX:
            return NAN if math.isnan(value) else value
        unit = decimal.Decimal(1).scaleb(-max(places, -_PLACES_MAX))
        exact = decimal.Decimal(repr(value)).quantize(unit, rounding, _EXACT)
        return math.copysign(float(exact), value)

    return scalar


def _rint(value: float) -> float:
    return math.copysign(float(round(value)), value) if math.isfinite(value) else value


def _even(value: float) -> float:
    """Return the next even number away from zero."""
    if not math.isfinite(value):
        return value
    whole = math.ceil(abs(value))
    return math.copysign(float(whole + whole % 2), value)


def _factorial(value: int) -> int:
    if not 0 <= value <= 20:
        raise OutOfRangeFailure(BIGINT)
    return math.factorial(value)


def _check_range(compute: Callable[..., int]) -> Callable[..., int]:
    return lambda *values: integer_in_range(compute(*values), BIGINT)


def _positive_modulo(left: int, right: int) -> int:
    if right == 0:
        raise DivisionByZeroFailure
    return left % abs(right)


def _to_signed(bits: int) -> int:
    """Return the BIGINT that the last 64 bits are."""
    bits &= 2**_BITS - 1
    return bits - 2**_BITS if bits >> (_BITS - 1) else bits


def _shift_left(value: int, count: int) -> int:
    return _to_signed(value << count % _BITS)


def _shift_right(value: int, count: int) -> int:
    return value >> count % _BITS


def _shift_right_unsigned(value: int, count: int) -> int:
    return _to_signed((value & 2**_BITS - 1) >> count % _BITS)


def _bit_count(value: int) -> int:
    return (value & 2**_BITS - 1).bit_count()


def _get_bit(value: int, position: int) -> int | None:
    return value >> position & 1 if 0 <= position < _BITS else None


def _width_bucket(value: float, low: float, high: float, count: int) -> int | None:
    """Return the number of the bucket of equal width, 0 below and `count` + 1 above; NULL without buckets."""
    if count <= 0 or not math.isfinite(low) or not math.isfinite(high) or low == high:
        return None
    if math.isnan(value):
        return None
    if count >= 2**31:
        raise OutOfRangeFailure(BIGINT)
    if low > high:
        value, low, high = -value, -low, -high
    if value < low:
        return 0
    if value >= high:
        return count + 1
    return math.floor(count * ((value - low) / (high - low))) + 1


def _to_base(value: int, base: int) -> str | None:
    if not 2 <= base <= 36:
        return None
    digits = ""
    rest = abs(value)
    while rest:
        digits = _DIGITS[rest % base] + digits
        rest //= base
    return f"{'-' * (value < 0)}{digits or '0'}"


def _from_base(text: str, base: int) -> int | None:
    if not 2 <= base <= 36 or not text.isascii() or not text.removeprefix("-").isalnum():
        return None
    try:
        value = int(text[:80], base)
    except ValueError:
        return None
    return value if len(text) <= 80 and -(2**63) <= value < 2**63 else None


def _unsigned_text(form: str) -> Callable[[int], str]:
    return lambda value: format(value & 2**_BITS - 1, form)


def _of_bits(compute: Callable[[int], Value], result: SqlType) -> tuple[Signature, ...]:
    """Return the signatures of a function of the 64 bits of an integer."""
    return tuple(Signature((each,), result, compute) for each in (BIGINT, UBIGINT))


def _or_null(compute: Callable[..., Value]) -> Callable[..., Value]:
    def scalar(*values: Value) -> Value:
        try:
            return compute(*values)
        except RowFailure:
            return None

    return scalar


def _in_range(compute: Callable[[int, int], int], type_: SqlType) -> Callable[..., Value]:
    return _or_null(lambda a, b: integer_in_range(compute(a, b), type_))


def _try(
    name: str, of_integers: Callable[[int, int], int], of_doubles: Callable[[float, float], float]
) -> Function:
    """Return arithmetic that is NULL where the operator fails."""
    return Function(
        name,
        (name.upper(),),
        (
            Signature((INT, INT), INT, _in_range(of_integers, INT)),
            Signature((BIGINT, BIGINT), BIGINT, _in_range(of_integers, BIGINT)),
            Signature((UBIGINT, UBIGINT), UBIGINT, _in_range(of_integers, UBIGINT)),
            Signature((DOUBLE, DOUBLE), DOUBLE, _guard(of_doubles)),
        ),
        Nullability.ALWAYS,
    )


def _integer_function(
    name: str, compute: Callable[..., Value], count: int = 2, *others: str, fallible: bool = False
) -> Function:
    signature = Signature((BIGINT,) * count, BIGINT, compute, fallible=fallible)
    return Function(name, (name.upper(), *others), (signature,))


def _test(name: str, holds: Callable[[float], bool], *others: str) -> Function:
    return Function(name, (name.upper(), *others), (Signature((DOUBLE,), BOOLEAN, holds),))


def _nullable(name: str, signature: Signature, *others: str) -> Function:
    return Function(name, (name.upper(), *others), (signature,), Nullability.ALWAYS)


_PLACES: Final = (DOUBLE, BIGINT)

ROUND_TO_PLACES: Final = Signature(_PLACES, DOUBLE, _to_places(decimal.ROUND_HALF_UP))
TRUNCATE_TO_PLACES: Final = Signature(_PLACES, DOUBLE, _to_places(decimal.ROUND_DOWN))

_EARTH: Final = {"KM": 6371.0, "MI": 3959.0}
"""The radius of the earth by units of length."""


def _distance(
    latitude: float, longitude: float, to_latitude: float, to_longitude: float, unit: str = "KM"
) -> float:
    """Return the length of the great circle between two points, by the haversine formula."""
    try:
        one, two = math.radians(latitude), math.radians(to_latitude)
        across = math.sin(math.radians(to_longitude - longitude) / 2) ** 2
        part = math.sin((two - one) / 2) ** 2 + math.cos(one) * math.cos(two) * across
        return 2 * _EARTH[unit.upper()] * math.asin(math.sqrt(min(part, 1.0)))
    except ValueError:  # of an infinite angle
        return math.nan


def _length_error(unit: str) -> str | None:
    return None if unit.upper() in _EARTH else "a unit of GEO_DISTANCE is KM or MI"


MATHEMATICS: Final = (
    Function(
        "geo_distance",
        ("GEO_DISTANCE",),
        (
            Signature((DOUBLE,) * 4, DOUBLE, _distance),
            Signature((*(DOUBLE,) * 4, STRING), DOUBLE, _distance),
        ),
        literal_check=_length_error,
        literal_index=4,
        literal_word="unit",
    ),
    _double_function("cbrt", _cbrt),
    _double_function("sinh", _sinh),
    _double_function("cosh", math.cosh),
    _double_function("tanh", math.tanh),
    _double_function("asinh", math.asinh),
    _double_function("acosh", math.acosh),
    _double_function("atanh", _atanh),
    _double_function("atan2", math.atan2, count=2),
    _double_function("cot", _cot),
    _double_function("hypot", math.hypot, count=2),
    _double_function("log1p", _log1p),
    _double_function("expm1", math.expm1),
    _double_function("gamma", _gamma),
    _double_function("lgamma", _lgamma),
    _double_function("erf", math.erf),
    _double_function("erfc", math.erfc),
    _double_function("nextafter", math.nextafter, count=2),
    _double_function("rint", _rint),
    _double_function("even", _even),
    Function("e", ("E",), (Signature((), DOUBLE, lambda: math.e),)),
    _test("isnan", math.isnan, "IS_NAN"),
    _test("isinf", math.isinf, "IS_INF"),
    _test("isfinite", math.isfinite),
    _integer_function("gcd", _check_range(math.gcd), fallible=True),
    _integer_function("lcm", _check_range(math.lcm), fallible=True),
    _integer_function("factorial", _factorial, 1, fallible=True),
    _integer_function("div", _check_range(divide_integers), fallible=True),
    _integer_function("pmod", _positive_modulo, fallible=True),
    _integer_function("bitnot", lambda value: ~value, 1),
    Function("bit_count", ("BIT_COUNT",), _of_bits(_bit_count, BIGINT)),
    _integer_function("shiftleft", _shift_left),
    _integer_function("shiftright", _shift_right),
    _integer_function("shiftrightunsigned", _shift_right_unsigned),
    _nullable("getbit", Signature((BIGINT, BIGINT), BIGINT, _get_bit), "BIT_GET"),
    _nullable(
        "width_bucket",
        Signature((DOUBLE, DOUBLE, DOUBLE, BIGINT), BIGINT, _width_bucket, fallible=True),
    ),
    _nullable("to_base", Signature((BIGINT, BIGINT), STRING, _to_base)),
    _nullable("from_base", Signature((STRING, BIGINT), BIGINT, _from_base)),
    Function("bin", ("BIN", "TO_BIN"), _of_bits(_unsigned_text("b"), STRING)),
    Function("to_oct", ("TO_OCT",), _of_bits(_unsigned_text("o"), STRING)),
    Function("to_hex", ("TO_HEX",), _of_bits(_unsigned_text("x"), STRING)),
    _try("try_add", lambda a, b: a + b, lambda a, b: a + b),
    _try("try_subtract", lambda a, b: a - b, lambda a, b: a - b),
    _try("try_multiply", lambda a, b: a * b, lambda a, b: a * b),
    _try("try_divide", divide_integers, divide_doubles),
    _try("try_mod", modulo_integers, math.fmod),
)
