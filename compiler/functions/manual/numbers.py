"""Numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.manual.entry import RANGE, Entry, entry

if TYPE_CHECKING:
    from collections.abc import Mapping

TITLE: Final = "Numbers"
INTRODUCTION: Final = """\
Functions of DOUBLE are NaN where they have no value, and infinite where it is too large; angles are in radians. Integers fail
a row where the result is out of range.
"""

ENTRIES: Final[Mapping[str, Entry]] = {
    "abs": entry("A number or INTERVAL without its sign.", "ABS(-5) = 5", fails=RANGE),
    "modulo": entry(
        "What a division leaves, `a % b`; it has the sign of the dividend.",
        "MOD(-7, 3) = -1",
        fails="FSQL-E501 if the divisor is 0",
    ),
    "floor": entry(
        "The greatest whole number that is not greater; DECIMAL of a DECIMAL.", "FLOOR(-1.5) = -2"
    ),
    "ceil": entry(
        "The least whole number that is not less; DECIMAL of a DECIMAL.", "CEIL(1.2) = 2"
    ),
    "round": entry(
        "The nearest whole number, half away from zero; DECIMAL of a DECIMAL.",
        "ROUND(2.5) = 3",
        "ROUND(-2.5) = -3",
    ),
    "truncate": entry("Rounded towards zero.", "TRUNCATE(-1.9) = -1"),
    "sign": entry("-1, 0 or 1, of the type of the number.", "SIGN(-5) = -1"),
    "sqrt": entry("The square root; of a negative NaN.", "SQRT(9) = 3"),
    "power": entry("A number raised to a power.", "POWER(2, 10) = 1024"),
    "exp": entry("e raised to a power.", "EXP(0) = 1"),
    "ln": entry("The natural logarithm.", "LN(EXP(0)) = 0"),
    "log2": entry("The logarithm to base 2.", "LOG2(8) = 3"),
    "log10": entry("The logarithm to base 10.", "LOG10(1000) = 3"),
    "log": entry(
        "`LOG(base, x)`. With one argument it is left out, because it has base e in some dialects and 10 in others.",
        "LOG(2, 8) = 3",
    ),
    "sin": entry("The sine.", "SIN(0) = 0"),
    "cos": entry("The cosine.", "COS(0) = 1"),
    "tan": entry("The tangent.", "TAN(0) = 0"),
    "asin": entry("The arc sine.", "ASIN(0) = 0"),
    "acos": entry("The arc cosine.", "ACOS(1) = 0"),
    "atan": entry("The arc tangent.", "ATAN(0) = 0"),
    "degrees": entry("Radians as degrees.", "DEGREES(PI()) = 180"),
    "radians": entry("Degrees as radians.", "RADIANS(180) = PI()"),
    "pi": entry(
        "The ratio of a circle's circumference to its diameter.", "ROUND(PI() * 100) = 314"
    ),
    "bitand": entry("The bits that both have.", "BITAND(6, 3) = 2"),
    "bitor": entry("The bits that either has.", "BITOR(6, 3) = 7"),
    "bitxor": entry("The bits that one of them has.", "BITXOR(6, 3) = 5"),
}
