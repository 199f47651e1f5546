"""Ranges of numbers: which values an expression may have, and so which arithmetic cannot fail.

`x % 9` cannot divide by zero, and lies between -8 and 8; so `x % 9 + 1` is no overflow, and its cast to
TINYINT holds.  A range is a proof: of the rows on which the expression does not fail, none has a value
outside, except NULL.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final, NamedTuple

from fsql.compiler.expression import Call, Case, Cast, Literal
from fsql.compiler.functions.texts import CHARACTERS_MAX
from fsql.compiler.sqltypes import (
    BIGINT_MAX,
    BIGINT_MIN,
    INTEGER_RANGES,
    TIMESTAMP_MAX,
    TIMESTAMP_MIN,
    Kind,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fsql.compiler.expression import Expression
    from fsql.compiler.sqltypes import SqlType


class Range(NamedTuple):
    """The least and the greatest value that an expression may have; of a DECIMAL in units of 1."""

    low: Fraction
    high: Fraction

    def within(self, other: Range) -> bool:
        """Return whether all values of this range are in `other`."""
        return other.low <= self.low and self.high <= other.high


Ranges = dict["Expression", Range | None]
"""The range of each part of an expression; None for what is no number with a range."""

_KINDS: Final[Mapping[Kind, tuple[int, int]]] = {
    **INTEGER_RANGES,
    Kind.INTERVAL: (BIGINT_MIN, BIGINT_MAX),
    Kind.MONTHS: (BIGINT_MIN, BIGINT_MAX),
    Kind.TIMESTAMP: (TIMESTAMP_MIN, TIMESTAMP_MAX),
}
_SCALARS: Final = {
    "quarter": (1, 4),
    "month": (1, 12),
    "week": (1, 53),
    "dayofmonth": (1, 31),
    "dayofyear": (1, 366),
    "isodow": (1, 7),
    "dayofweek": (1, 7),
    "hour": (0, 23),
    "minute": (0, 59),
    "second": (0, 59),
    "year": (1, 9999),
    "sign": (-1, 1),
    # No text, and no array, has as many parts as an INT has values.
    "char_length": (0, 2**31),
    "octet_length": (0, 2**31),
    "cardinality": (0, 2**31),
}
"""The ranges of functions whose values are few."""
_CHOICES: Final = {"coalesce", "greatest", "least"}
_PADDED: Final = {"lpad", "rpad", "space"}


def _of_type(kind: SqlType) -> Range | None:
    if kind.kind is Kind.DECIMAL:
        most = Fraction(10**kind.precision - 1, 10**kind.scale)
        return Range(-most, most)
    bounds = _KINDS.get(kind.kind)
    return None if bounds is None else Range(Fraction(bounds[0]), Fraction(bounds[1]))


def add_range(node: Expression, ranges: Ranges) -> None:
    """Put the range of `node` into `ranges`, which have those of its operands."""
    whole = _of_type(node.type)
    exact = None if whole is None else _exact(node, ranges)
    ranges[node] = whole if whole is None or exact is None else _clip(exact, whole, node.type)


def cannot_fail(node: Call | Cast, ranges: Ranges) -> bool:
    """Return whether the ranges of the operands prove that `node` itself fails on no row."""
    if isinstance(node, Call) and node.function in _PADDED:
        length = ranges.get(node.arguments[min(1, len(node.arguments) - 1)])
        return length is not None and length.high <= CHARACTERS_MAX
    if isinstance(node, Call) and node.function not in _ARITHMETIC:
        return False
    whole = _of_type(node.type)
    exact = None if whole is None else _exact(node, ranges)
    if whole is None or exact is None:
        return False
    return _rounded(exact, node.type).within(whole)


def _exact(  # noqa: PLR0911 - one a form
    node: Expression, ranges: Ranges
) -> Range | None:
    """Return the range of the exact result of an operation, which may be beyond its type; None if unknown.

    That of a quotient or a remainder is unknown where the divisor may be zero.
    """
    match node:
        case Literal(value=value) if isinstance(value, int) and not isinstance(value, bool):
            number = Fraction(value, 10**node.type.scale if node.type.kind is Kind.DECIMAL else 1)
            return Range(number, number)
        case Cast(argument=argument):
            return _of_cast(argument, node.type, ranges)
        case Case(branches=branches, otherwise=otherwise):
            return _hull([*(result for _, result in branches), otherwise], ranges)
        case Call(function=function, arguments=arguments) if function in _CHOICES:
            return _hull(arguments, ranges)
        case Call(function=function) if function in _SCALARS:
            low, high = _SCALARS[function]
            return Range(Fraction(low), Fraction(high))
        case Call(function=function, arguments=arguments) if function in _ARITHMETIC:
            operands = [ranges[argument] for argument in arguments]
            known = [operand for operand in operands if operand is not None]
            exact = _ARITHMETIC[function](*known) if len(known) == len(operands) else None
            if exact is None or function != "modulo" or node.type.kind is Kind.DECIMAL:
                return exact
            # Of integers, a remainder is at least one less than the divisor.
            most = max(map(abs, known[1])) - 1
            return Range(max(exact.low, -most), min(exact.high, most))
        case _:
            return None


def _of_cast(argument: Expression, target: SqlType, ranges: Ranges) -> Range | None:
    if argument.type.kind is Kind.BOOLEAN:
        return Range(Fraction(0), Fraction(1))
    numbers = {*INTEGER_RANGES, Kind.DECIMAL}
    return ranges[argument] if {argument.type.kind, target.kind} <= numbers else None


def _hull(choices: Sequence[Expression], ranges: Ranges) -> Range | None:
    """Return the range that has the values of all expressions; NULL is no value."""
    values = [each for each in choices if not (isinstance(each, Literal) and each.value is None)]
    known = [found for each in values if (found := ranges[each]) is not None]
    if not known or len(known) < len(values):
        return None
    return Range(min(each.low for each in known), max(each.high for each in known))


def _rounded(exact: Range, kind: SqlType) -> Range:
    """Return the range of the values rounded, away from zero, to the last digit of the type."""
    unit = 10**kind.scale if kind.kind is Kind.DECIMAL else 1
    return Range(
        Fraction((exact.low * unit).__floor__(), unit),
        Fraction((exact.high * unit).__ceil__(), unit),
    )


def _clip(exact: Range, whole: Range, kind: SqlType) -> Range:
    """Return the part of a range that its type has: on other rows, the operation fails."""
    rounded = _rounded(exact, kind)
    low, high = max(rounded.low, whole.low), min(rounded.high, whole.high)
    return Range(low, high) if low <= high else whole


def _add(left: Range, right: Range) -> Range:
    return Range(left.low + right.low, left.high + right.high)


def _subtract(left: Range, right: Range) -> Range:
    return Range(left.low - right.high, left.high - right.low)


def _multiply(left: Range, right: Range) -> Range:
    corners = [x * y for x in left for y in right]
    return Range(min(corners), max(corners))


def _divide(left: Range, right: Range) -> Range | None:
    if right.low <= 0 <= right.high:
        return None
    corners = [x / y for x in left for y in right]
    return Range(min(corners), max(corners))


def _modulo(left: Range, right: Range) -> Range | None:
    """Return the range of a remainder, which has the sign of the dividend and is no greater."""
    if right.low <= 0 <= right.high:
        return None
    most = max(abs(right.low), abs(right.high))
    return Range(max(min(left.low, Fraction(0)), -most), min(max(left.high, Fraction(0)), most))


def _positive_modulo(_left: Range, right: Range) -> Range | None:
    if right.low <= 0 <= right.high:
        return None
    return Range(Fraction(0), max(abs(right.low), abs(right.high)) - 1)


def _negate(value: Range) -> Range:
    return Range(-value.high, -value.low)


def _absolute(value: Range) -> Range:
    ends = abs(value.low), abs(value.high)
    return Range(Fraction(0) if value.low <= 0 <= value.high else min(ends), max(ends))


_ARITHMETIC: Final[Mapping[str, Callable[..., Range | None]]] = {
    "add": _add,
    "subtract": _subtract,
    "multiply": _multiply,
    "divide": _divide,
    "div": _divide,
    "modulo": _modulo,
    "pmod": _positive_modulo,
    "negate": _negate,
    "abs": _absolute,
}
