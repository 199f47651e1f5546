"""Numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.manual.entry import RANGE, ManualEntry, entry

if TYPE_CHECKING:
    from collections.abc import Mapping

TITLE: Final = "Numbers"
INTRODUCTION: Final = """\
Functions of DOUBLE are NaN where they have no value, and infinite where it is too large; angles are in radians. Integers fail
a row where the result is out of range.
"""

ENTRIES: Final[Mapping[str, ManualEntry]] = {
    "abs": entry("The absolute value of a number or INTERVAL.", "ABS(-5) = 5", fails=RANGE),
    "modulo": entry(
        "The remainder of a division, `a % b`, with the sign of the dividend. Of DOUBLE it is that of the binary values, NaN if the divisor is 0.",
        "MOD(-7, 3) = -1",
        "MOD(-5.5, 2) = -1.5",
        "CAST(5.30 AS DECIMAL(3, 2)) % 1 = CAST(0.30 AS DECIMAL(3, 2))",
        fails="FSQL-E501 if the divisor is 0, of integers and DECIMAL",
    ),
    "floor": entry(
        "The greatest whole number that is not greater than the argument. DECIMAL for a DECIMAL.",
        "FLOOR(-1.5) = -2",
    ),
    "ceil": entry(
        "The least whole number that is not less than the argument. DECIMAL for a DECIMAL.",
        "CEIL(1.2) = 2",
    ),
    "round": entry(
        "The nearest whole number; halves are rounded away from zero. DECIMAL for a DECIMAL.",
        "ROUND(2.5) = 3",
        "ROUND(-2.5) = -3",
    ),
    "truncate": entry(
        "The number rounded towards zero, to a whole number or to n decimal places.",
        "TRUNCATE(-1.9) = -1",
        "TRUNCATE(1.29, 1) = 1.2",
    ),
    "sign": entry(
        "-1, 0 or 1 for a negative number, zero or a positive number, in the type of the number.",
        "SIGN(-5) = -1",
    ),
    "sqrt": entry("The square root; NaN for a negative number.", "SQRT(9) = 3"),
    "power": entry("A number raised to a power.", "POWER(2, 10) = 1024"),
    "exp": entry("e raised to a power.", "EXP(0) = 1"),
    "ln": entry("The natural logarithm.", "LN(EXP(0)) = 0"),
    "log2": entry("The logarithm to base 2.", "LOG2(8) = 3"),
    "log10": entry("The logarithm to base 10.", "LOG10(1000) = 3"),
    "log": entry(
        "The logarithm of x to a base: `LOG(base, x)`. There is no form with one argument, because its base is e in some dialects and 10 in others.",
        "LOG(2, 8) = 3",
    ),
    "sin": entry("The sine.", "SIN(0) = 0"),
    "cos": entry("The cosine.", "COS(0) = 1"),
    "tan": entry("The tangent.", "TAN(0) = 0"),
    "asin": entry("The arc sine.", "ASIN(0) = 0"),
    "acos": entry("The arc cosine.", "ACOS(1) = 0"),
    "atan": entry("The arc tangent.", "ATAN(0) = 0"),
    "degrees": entry("An angle in radians, converted to degrees.", "DEGREES(PI()) = 180"),
    "radians": entry("An angle in degrees, converted to radians.", "RADIANS(180) = PI()"),
    "pi": entry(
        "The ratio of a circle's circumference to its diameter.", "ROUND(PI() * 100) = 314"
    ),
    "bitand": entry("Bitwise AND.", "BITAND(6, 3) = 2"),
    "bitor": entry("Bitwise OR.", "BITOR(6, 3) = 7"),
    "bitxor": entry("Bitwise exclusive OR.", "BITXOR(6, 3) = 5"),
    "cbrt": entry("The cube root.", "CBRT(27) = 3"),
    "geo_distance": entry(
        "The great-circle distance between two points, each given by latitude and longitude in degrees, on a sphere with a radius of 6371 km or 3959 miles. It is in kilometres, or in the unit of the last argument, the literal `'KM'` or `'MI'`.",
        "ROUND(GEO_DISTANCE(52.52, 13.405, 48.8566, 2.3522)) = 877",
        "ROUND(GEO_DISTANCE(52.52, 13.405, 48.8566, 2.3522, 'MI')) = 545",
    ),
    "hypot": entry("The square root of the sum of the two squares.", "HYPOT(3, 4) = 5"),
    "sinh": entry("The hyperbolic sine.", "SINH(0) = 0"),
    "cosh": entry("The hyperbolic cosine.", "COSH(0) = 1"),
    "tanh": entry("The hyperbolic tangent.", "TANH(0) = 0"),
    "asinh": entry("The inverse hyperbolic sine.", "ASINH(0) = 0"),
    "acosh": entry("The inverse hyperbolic cosine.", "ACOSH(1) = 0"),
    "atanh": entry("The inverse hyperbolic tangent.", "ATANH(0) = 0"),
    "atan2": entry(
        "The angle between the positive x axis and the point (x, y): `ATAN2(y, x)`.",
        "ATAN2(0, 1) = 0",
    ),
    "cot": entry("The cotangent.", "ROUND(COT(PI() / 4)) = 1"),
    "log1p": entry("The natural logarithm of 1 + x, also accurate near 0.", "LOG1P(0) = 0"),
    "expm1": entry("e raised to a power, minus 1, also accurate near 0.", "EXPM1(0) = 0"),
    "gamma": entry("The gamma function.", "GAMMA(5) = 24"),
    "lgamma": entry(
        "The natural logarithm of the absolute value of the gamma function.", "LGAMMA(1) = 0"
    ),
    "erf": entry("The error function.", "ERF(0) = 0"),
    "erfc": entry("1 minus the error function.", "ERFC(0) = 1"),
    "nextafter": entry("The next DOUBLE from the first towards the second.", "NEXTAFTER(1, 2) > 1"),
    "rint": entry(
        "The nearest whole number; halves are rounded to the even one.",
        "RINT(2.5) = 2",
        "RINT(3.5) = 4",
    ),
    "even": entry(
        "The number rounded away from zero to an even whole number.",
        "EVEN(2.1) = 4",
        "EVEN(-1) = -2",
    ),
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
        "The remainder of a division, never negative.",
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
        "The quotient, as by `/`, which truncates the quotient of whole numbers; NULL where it fails.",
        "TRY_DIVIDE(1, 0) IS NULL",
        "TRY_DIVIDE(7, 2) = 3",
    ),
    "try_mod": entry("The remainder of a division; NULL where `%` fails.", "TRY_MOD(1, 0) IS NULL"),
    "bitnot": entry("Bitwise NOT.", "BITNOT(0) = -1"),
    "bit_count": entry("The number of 1 bits among the 64 bits.", "BIT_COUNT(7) = 3"),
    "shiftleft": entry(
        "The bits shifted to the left, by a count modulo 64.", "SHIFTLEFT(1, 4) = 16"
    ),
    "shiftright": entry(
        "The bits shifted to the right, by a count modulo 64; the sign is kept.",
        "SHIFTRIGHT(-16, 2) = -4",
    ),
    "shiftrightunsigned": entry(
        "The bits shifted to the right, by a count modulo 64, and filled with zeros from the left.",
        "SHIFTRIGHTUNSIGNED(-1, 63) = 1",
    ),
    "getbit": entry(
        "The bit at a position, 0 for the lowest bit; NULL for positions outside of 0 to 63.",
        "GETBIT(5, 2) = 1",
    ),
    "width_bucket": entry(
        "The number of the bucket that contains a number, for n buckets of equal width between two bounds; 0 below and n + 1 above them. NULL if there are no buckets, if they have no width, and for NaN.",
        "WIDTH_BUCKET(3.5, 0, 10, 5) = 2",
        "WIDTH_BUCKET(10, 0, 10, 5) = 6",
        fails="FSQL-E502 for 2,147,483,648 buckets and more",
    ),
    "to_base": entry(
        "The digits of a whole number in a base from 2 to 36; NULL for another base.",
        "TO_BASE(255, 16) = 'FF'",
    ),
    "from_base": entry(
        "The whole number that a text represents in a base from 2 to 36; NULL if it represents none.",
        "FROM_BASE('ff', 16) = 255",
    ),
    "bin": entry("The 64 bits in binary digits, without leading zeros.", "BIN(5) = '101'"),
    "to_oct": entry("The 64 bits in octal digits.", "TO_OCT(8) = '10'"),
    "to_hex": entry("The 64 bits in hexadecimal digits. `HEX` takes a text.", "TO_HEX(255) = 'ff'"),
}
