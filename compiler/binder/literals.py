"""Literals: the texts of numbers, timestamps and intervals to constants."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from fsql.compiler import syntax
from fsql.compiler.binder.report import not_implemented, refusal
from fsql.compiler.expression import Literal
from fsql.compiler.functions.dates import parse_date
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.functions.timestamps import parse_timestamp
from fsql.compiler.sqltypes import (
    BIGINT,
    BIGINT_MAX,
    BIGINT_MIN,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    INT_MAX,
    INT_MIN,
    INTERVAL,
    NULL,
    STRING,
    TIMESTAMP,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler.text.source import Span

_UNIT_US: Final[Mapping[str, int]] = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000,
    "WEEK": 604_800_000_000,
}
_QUANTITY: Final = re.compile(r"([+-]?)([0-9]{1,19})(?:\.([0-9]{1,6}))?")
_INTEGER_DIGITS_MAX: Final = 20


def bind_literal(literal: syntax.Literal) -> Literal:
    """Return the value of `literal`.

    Raises:
        Refusal: E215 for invalid text, E301 for kinds that are not implemented.
    """
    match literal:
        case syntax.NumberLiteral():
            return bind_number(literal)
        case syntax.StringLiteral(value=text):
            return Literal(STRING, nullable=False, value=text)
        case syntax.BooleanLiteral(value=truth):
            return Literal(BOOLEAN, nullable=False, value=truth)
        case syntax.NullLiteral():
            return Literal(NULL, nullable=True, value=None)
        case syntax.TimeLiteral():
            return _timestamp(literal)
        case syntax.IntervalLiteral():
            return _interval(literal)


def bind_number(number: syntax.NumberLiteral, *, negative: bool = False) -> Literal:
    """Return the number: INT or BIGINT for an integer, DOUBLE for a number with a fraction or exponent.

    The sign is part of the number, so that the least BIGINT can be written.
    """
    text = f"-{number.text}" if negative else number.text
    if not number.text.isdigit():
        return _double(text, number.span)
    if len(number.text.lstrip("0")) >= _INTEGER_DIGITS_MAX:
        raise _out_of_range(text, number.span)
    value = int(text)
    if INT_MIN <= value <= INT_MAX:
        return Literal(INT, nullable=False, value=value)
    if BIGINT_MIN <= value <= BIGINT_MAX:
        return Literal(BIGINT, nullable=False, value=value)
    raise _out_of_range(text, number.span)


def _double(text: str, span: Span) -> Literal:
    value = float(text)
    if math.isinf(value):
        raise refusal("E215", f"{text} is out of the range of DOUBLE", span)
    return Literal(DOUBLE, nullable=False, value=value)


def _out_of_range(text: str, span: Span) -> Exception:
    shown = text if len(text) <= 24 else f"{text[:21]}…"
    return refusal(
        "E215",
        f"{shown} is out of the range of BIGINT",
        span,
        help="write a decimal point for a DOUBLE",
    )


def _timestamp(literal: syntax.TimeLiteral) -> Literal:
    if literal.type == "TIME":
        raise not_implemented(f"the type {literal.type}", literal.span)
    if literal.type == "DATE":
        return _date(literal)
    try:
        value_us = parse_timestamp(literal.value.value.strip(" "))
    except RowFailure as failure:
        raise refusal(
            "E215",
            str(failure),
            literal.value.span,
            help="write it as '2024-01-31 23:59:59', with up to 6 digits of fraction",
        ) from None
    return Literal(TIMESTAMP, nullable=False, value=value_us)


def _date(literal: syntax.TimeLiteral) -> Literal:
    try:
        days = parse_date(literal.value.value.strip(" "))
    except RowFailure as failure:
        raise refusal(
            "E215", str(failure), literal.value.span, help="write it as '2024-01-31'"
        ) from None
    return Literal(DATE, nullable=False, value=days)


def _interval(literal: syntax.IntervalLiteral) -> Literal:
    if literal.to is not None:
        raise not_implemented(
            f"INTERVAL of {literal.unit} TO {literal.to}",
            literal.span,
            help="add intervals of one unit each: INTERVAL '1' HOUR + INTERVAL '30' MINUTE",
        )
    unit_us = _UNIT_US.get(literal.unit)
    if unit_us is None:
        raise not_implemented(
            f"INTERVAL of {literal.unit}, whose length depends on the calendar", literal.span
        )
    value_us = _quantity_us(literal.value, unit_us)
    if literal.negative:
        value_us = -value_us
    if not BIGINT_MIN <= value_us <= BIGINT_MAX:
        raise refusal("E215", "INTERVAL out of range", literal.value.span)
    return Literal(INTERVAL, nullable=False, value=value_us)


def _quantity_us(quantity: syntax.StringLiteral, unit_us: int) -> int:
    """Return a number of units in exact microseconds."""
    match = _QUANTITY.fullmatch(quantity.value.strip(" "))
    digits = "" if match is None else (match[3] or "")
    scale = 10 ** len(digits)
    if match is None or int(digits or 0) * unit_us % scale:
        raise refusal(
            "E215",
            "invalid quantity of an interval",
            quantity.span,
            help="write a number of whole microseconds: INTERVAL '1.5' SECOND",
        )
    value_us = int(match[2]) * unit_us + int(digits or 0) * unit_us // scale
    return -value_us if match[1] == "-" else value_us
