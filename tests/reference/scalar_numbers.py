"""Elementary functions of numbers, and the fields of a timestamp in the calendar."""

from __future__ import annotations

import cmath
import math
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from fsql.tests.reference.failure import DIVISION_BY_ZERO, FailureError

if TYPE_CHECKING:
    from collections.abc import Callable

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
INFINITE: Final = {math.inf, -math.inf}


def logarithm(compute: Callable[[float], float]) -> Callable[[float], float]:
    """Return the logarithm, with a value for each number."""

    def of(value: float) -> float:
        if value == 0.0:
            return -math.inf
        return math.nan if math.isnan(value) or value < 0.0 else compute(value)

    return of


def angle(compute: Callable[[float], float]) -> Callable[[float], float]:
    """Return a function that has no value for what is infinite."""
    return lambda value: math.nan if value in INFINITE else compute(value)


def inverse(compute: Callable[[float], float]) -> Callable[[float], float]:
    """Return a function that has values for -1 to 1."""
    return lambda value: compute(value) if -1.0 <= value <= 1.0 else math.nan


def exponential(value: float) -> float:
    """Return e to a power, infinite where it is too large."""
    return math.inf if value > 709.7827128933841 else math.exp(value)


def log(base: float, value: float) -> float:
    """Return the logarithm to a base."""
    if math.isnan(base) or math.isnan(value) or base <= 0.0 or value <= 0.0:
        return math.nan
    if base == 1.0 or math.isinf(base):
        return math.nan
    return math.log(value) / math.log(base)


def sign(value: float) -> float:
    """Return -1, 0 or 1 of the type of the value."""
    if value != value:  # noqa: PLR0124 - NaN
        return value
    return type(value)(1 if value > 0 else -1 if value < 0 else 0)


def truncate(value: float) -> float:
    """Return the whole part, with the sign of the value."""
    return value if not cmath.isfinite(value) else value - math.fmod(value, 1.0) or value * 0.0


def to_places(value: float, rounding: Callable[[Fraction], int], places: int) -> float:
    """Round a number, as it is written, to places behind the point."""
    if not cmath.isfinite(value):
        return value
    unit = Fraction(10) ** -max(min(places, 400), -400)
    return math.copysign(float(rounding(Fraction(repr(value)) / unit) * unit), value)


def at(time: int) -> datetime:
    """Return a timestamp by its fields."""
    return EPOCH + timedelta(microseconds=time)


def week(moment: datetime) -> int:
    """Return the week of ISO 8601: that of the Thursday in the same week."""
    day = int(moment.strftime("%j"))
    weekday = moment.weekday()
    number = (day - 1 - weekday + 10) // 7
    if number < 1:
        return weeks(moment.year - 1)
    return 1 if number > weeks(moment.year) else number


def weeks(year: int) -> int:
    """Return how many weeks of ISO 8601 a year has."""
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    days = year - 1 + (year - 1) // 4 - (year - 1) // 100 + (year - 1) // 400
    first = days % 7
    return 53 if first == 3 or (first == 2 and leap) else 52


def pmod(a: int, b: int) -> int:
    """Return the remainder that is not negative.

    Raises:
        FailureError: it is zero.
    """
    if b == 0:
        raise FailureError(DIVISION_BY_ZERO)
    return a % abs(b)


NUMBER_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "pmod": pmod,
    "to_hex": lambda a: f"{a % 2**64:x}",
    "exp": exponential,
    "ln": logarithm(math.log),
    "log2": logarithm(math.log2),
    "log10": logarithm(math.log10),
    "log": log,
    "sin": angle(math.sin),
    "cos": angle(math.cos),
    "tan": angle(math.tan),
    "asin": inverse(math.asin),
    "acos": inverse(math.acos),
    "atan": math.atan,
    "degrees": math.degrees,
    "radians": math.radians,
    "sign": sign,
    "truncate": lambda a, *n: to_places(a, math.trunc, *n) if n else truncate(a),
    "pi": lambda: math.acos(-1.0),
    "bitand": lambda a, b: a + b - (a | b),
    "bitor": lambda a, b: a + b - (a & b),
    "bitxor": lambda a, b: (a | b) - (a & b),
    "bitnot": lambda a: -a - 1,
    "shiftleft": lambda a, n: (a * 2 ** (n % 64) + 2**63) % 2**64 - 2**63,
    "shiftright": lambda a, n: math.floor(Fraction(a, 2 ** (n % 64))),
    "year": lambda a: int(f"{at(a):%Y}"),
    "isoyear": lambda a: int(f"{at(a):%G}"),
    "millennium": lambda a: (int(f"{at(a):%Y}") - 1) // 1000 + 1,
    "century": lambda a: (int(f"{at(a):%Y}") - 1) // 100 + 1,
    "decade": lambda a: int(f"{at(a):%Y}") // 10,
    "quarter": lambda a: {1: 1, 4: 2, 7: 3, 10: 4}[3 * ((at(a).month - 1) // 3) + 1],
    "month": lambda a: int(f"{at(a):%m}"),
    "week": lambda a: week(at(a)),
    "dayofmonth": lambda a: int(f"{at(a):%d}"),
    "dayofyear": lambda a: int(f"{at(a):%j}"),
    "isodow": lambda a: (a // 86_400_000_000 + 3) % 7 + 1,
    "dayofweek": lambda a: (a // 86_400_000_000 + 4) % 7 + 1,
    "hour": lambda a: a // 3_600_000_000 % 24,
    "minute": lambda a: a // 60_000_000 % 60,
    "second": lambda a: a // 1_000_000 % 60,
}
"""The functions of numbers and timestamps, by name."""
