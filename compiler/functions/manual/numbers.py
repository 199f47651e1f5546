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
    "truncate": entry(
        "Rounded towards zero, to a whole number or to n places behind the point.",
        "TRUNCATE(-1.9) = -1",
        "TRUNCATE(1.29, 1) = 1.2",
    ),
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
    "cbrt": entry("The cube root.", "CBRT(27) = 3"),
    "geo_distance": entry(
        "The length of the great circle between two places, each of latitude and longitude in degrees, on a ball of 6371 km or 3959 miles radius; in kilometres, or in the unit of the last argument, a literal: `'KM'` or `'MI'`.",
        "ROUND(GEO_DISTANCE(52.52, 13.405, 48.8566, 2.3522)) = 877",
        "ROUND(GEO_DISTANCE(52.52, 13.405, 48.8566, 2.3522, 'MI')) = 545",
    ),
    "hypot": entry("The length of the hypotenuse.", "HYPOT(3, 4) = 5"),
    "sinh": entry("The hyperbolic sine.", "SINH(0) = 0"),
    "cosh": entry("The hyperbolic cosine.", "COSH(0) = 1"),
    "tanh": entry("The hyperbolic tangent.", "TANH(0) = 0"),
    "asinh": entry("The inverse hyperbolic sine.", "ASINH(0) = 0"),
    "acosh": entry("The inverse hyperbolic cosine.", "ACOSH(1) = 0"),
    "atanh": entry("The inverse hyperbolic tangent.", "ATANH(0) = 0"),
    "atan2": entry("The angle of the point (x, y): `ATAN2(y, x)`.", "ATAN2(0, 1) = 0"),
    "cot": entry("The cotangent.", "ROUND(COT(PI() / 4)) = 1"),
    "log1p": entry("The natural logarithm of 1 + x, exact near 0.", "LOG1P(0) = 0"),
    "expm1": entry("e raised to a power, less 1, exact near 0.", "EXPM1(0) = 0"),
    "gamma": entry("The gamma function.", "GAMMA(5) = 24"),
    "lgamma": entry(
        "The natural logarithm of the absolute value of the gamma function.", "LGAMMA(1) = 0"
    ),
    "erf": entry("The error function.", "ERF(0) = 0"),
    "erfc": entry("1 less the error function.", "ERFC(0) = 1"),
    "nextafter": entry("The next DOUBLE from the first towards the second.", "NEXTAFTER(1, 2) > 1"),
    "rint": entry(
        "The nearest whole number, half to the even one.", "RINT(2.5) = 2", "RINT(3.5) = 4"
    ),
    "even": entry("The next even number, away from zero.", "EVEN(2.1) = 4", "EVEN(-1) = -2"),
    "e": entry("The base of the natural logarithm.", "LN(E()) = 1"),
    "isnan": entry("Whether a DOUBLE is NaN.", "ISNAN(CAST('NaN' AS DOUBLE))"),
    "isinf": entry("Whether a DOUBLE is infinite.", "ISINF(CAST('-Infinity' AS DOUBLE))"),
    "isfinite": entry("Whether a DOUBLE is neither NaN nor infinite.", "ISFINITE(1.5)"),
    "gcd": entry("The greatest common divisor.", "GCD(12, -18) = 6", fails=RANGE),
    "lcm": entry("The least common multiple.", "LCM(4, 6) = 12", fails=RANGE),
    "factorial": entry(
        "The product of the whole numbers from 1 to n; n is from 0 to 20.",
        "FACTORIAL(5) = 120",
        fails=RANGE,
    ),
    "div": entry(
        "The quotient of whole numbers, rounded towards zero.",
        "DIV(-7, 2) = -3",
        fails=f"FSQL-E501 if the divisor is 0; {RANGE}",
    ),
    "pmod": entry(
        "What a division leaves, never negative.",
        "PMOD(-7, 3) = 2",
        fails="FSQL-E501 if the divisor is 0",
    ),
    "try_add": entry(
        "The sum; NULL where `+` fails.",
        "TRY_ADD(9223372036854775807, 1) IS NULL",
        "TRY_ADD(1, 2) = 3",
    ),
    "try_subtract": entry("The difference; NULL where `-` fails.", "TRY_SUBTRACT(1, 2) = -1"),
    "try_multiply": entry(
        "The product; NULL where `*` fails.", "TRY_MULTIPLY(9223372036854775807, 2) IS NULL"
    ),
    "try_divide": entry(
        "The quotient as of `/`, which truncates that of whole numbers; NULL where it fails.",
        "TRY_DIVIDE(1, 0) IS NULL",
        "TRY_DIVIDE(7, 2) = 3",
    ),
    "try_mod": entry("What a division leaves; NULL where `%` fails.", "TRY_MOD(1, 0) IS NULL"),
    "bitnot": entry("The bits turned round.", "BITNOT(0) = -1"),
    "bit_count": entry("How many of the 64 bits are 1.", "BIT_COUNT(7) = 3"),
    "shiftleft": entry("The bits moved to the left, by a count modulo 64.", "SHIFTLEFT(1, 4) = 16"),
    "shiftright": entry(
        "The bits moved to the right, by a count modulo 64; the sign is kept.",
        "SHIFTRIGHT(-16, 2) = -4",
    ),
    "shiftrightunsigned": entry(
        "The bits moved to the right, by a count modulo 64, with zeros behind them.",
        "SHIFTRIGHTUNSIGNED(-1, 63) = 1",
    ),
    "getbit": entry(
        "A bit by its place, from 0 for the lowest; NULL out of 0 to 63.", "GETBIT(5, 2) = 1"
    ),
    "width_bucket": entry(
        "The number of the bucket that a number is in, of n buckets of equal width between two bounds; 0 below and n + 1 above them. NULL of no buckets, of no width and of NaN.",
        "WIDTH_BUCKET(3.5, 0, 10, 5) = 2",
        "WIDTH_BUCKET(10, 0, 10, 5) = 6",
        fails="FSQL-E502 of 2,147,483,648 buckets and more",
    ),
    "to_base": entry(
        "A whole number in a base from 2 to 36; NULL of another base.", "TO_BASE(255, 16) = 'FF'"
    ),
    "from_base": entry(
        "The whole number that a text has in a base from 2 to 36; NULL if it has none.",
        "FROM_BASE('ff', 16) = 255",
    ),
    "bin": entry("The 64 bits, without leading zeros.", "BIN(5) = '101'"),
    "to_oct": entry("The 64 bits in octal digits.", "TO_OCT(8) = '10'"),
    "to_hex": entry("The 64 bits in hexadecimal digits. `HEX` is of a text.", "TO_HEX(255) = 'ff'"),
}
