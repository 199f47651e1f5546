"""Literals: the texts of numbers, timestamps and intervals to constants."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final
from typing import cast as typed

from fsql.compiler import syntax
from fsql.compiler.binder.report import refusal
from fsql.compiler.expression import Literal
from fsql.compiler.functions.casts import cast_value
from fsql.compiler.functions.coercion import as_written
from fsql.compiler.functions.dates import parse_date
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.functions.times import parse_time
from fsql.compiler.sqltypes import (
    BIGINT,
    BIGINT_MAX,
    BIGINT_MIN,
    BOOLEAN,
    BYTES,
    DATE,
    DECIMAL_DIGITS_MAX,
    DOUBLE,
    INT,
    INT_MAX,
    INT_MIN,
    INTERVAL,
    MONTHS,
    NULL,
    STRING,
    TIME,
    TIMESTAMP,
    UBIGINT,
    UBIGINT_MAX,
    instants,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
_UNIT_MONTHS: Final[Mapping[str, int]] = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_ABBREVIATED: Final[Mapping[str, str]] = {
    **dict.fromkeys(("S", "SEC", "SECS"), "SECOND"),
    **dict.fromkeys(("M", "MIN", "MINS"), "MINUTE"),
    **dict.fromkeys(("H", "HR", "HRS"), "HOUR"),
    "D": "DAY",
    "W": "WEEK",
    "MS": "MILLISECOND",
    "US": "MICROSECOND",
    **dict.fromkeys(("MON", "MONS"), "MONTH"),
    **dict.fromkeys(("Y", "YR", "YRS"), "YEAR"),
}
"""Abbreviations of units in the text of an interval: `1h 30m`."""
_GREATEST: Final = {"MONTH": 11, "HOUR": 23, "MINUTE": 59, "SECOND": 59}
"""The maximum number of a unit after a longer one."""
_QUANTITY: Final = re.compile(r"([+-]?)([0-9]{1,19})(?:\.([0-9]{1,6}))?")
_PART: Final = re.compile(r"([+-]?[0-9.]+) *([A-Za-z]+)")
_PARTS: Final = re.compile(rf" *(?:{_PART.pattern} *)+")
"""Quantities with units, in the form of a time of day after days."""
_CLOCK: Final = re.compile(
    r"(?:^| )([+-]?)([0-9]{1,9}):([0-5]?[0-9])(?::([0-5]?[0-9])(?:\.([0-9]{1,6}))?)?$"
)
"""A time at the end of an interval, which may have more than 24 hours."""
_ISO: Final = re.compile(
    r"P(?:(-?[0-9]+)Y)?(?:(-?[0-9]+)M)?(?:(-?[0-9]+)W)?(?:(-?[0-9]+)D)?"
    r"(?:T(?:(-?[0-9]+)H)?(?:(-?[0-9]+)M)?(?:(-?[0-9.]+)S)?)?",
    re.IGNORECASE,
)
_HEX: Final = re.compile(r"[0-9A-Fa-f]*")
_INTEGER_DIGITS_MAX: Final = 21


def bind_literal(  # noqa: PLR0911 - one a kind
    literal: syntax.Literal, zone: str
) -> Literal:
    """Return the value of `literal` in a script with a time zone.

    Raises:
        Refusal: E215 for invalid text.
    """
    match literal:
        case syntax.NumberLiteral():
            return bind_number(literal)
        case syntax.StringLiteral(value=text):
            return Literal(STRING, nullable=False, value=text)
        case syntax.BytesLiteral():
            return _octets(literal)
        case syntax.BooleanLiteral(value=truth):
            return Literal(BOOLEAN, nullable=False, value=truth)
        case syntax.NullLiteral():
            return Literal(NULL, nullable=True, value=None)
        case syntax.TimeLiteral():
            return _timestamp(literal, zone)
        case syntax.IntervalLiteral():
            return _interval(literal)


def bind_number(number: syntax.NumberLiteral, *, negative: bool = False) -> Literal:
    """Return the number: the first of INT, BIGINT and UBIGINT that has it; DOUBLE with a point or exponent.

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
    if BIGINT_MAX < value <= UBIGINT_MAX:
        return Literal(UBIGINT, nullable=False, value=value)
    raise _out_of_range(text, number.span)


def number_text(written: syntax.Expression) -> str | None:
    """Return the text of a number with its sign; None for any other expression."""
    if isinstance(written, syntax.Unary) and written.operator in {"-", "+"}:
        text = number_text(written.operand)
        return None if text is None or text[0] in "-+" else f"{written.operator}{text}"
    return written.text if isinstance(written, syntax.NumberLiteral) else None


def escaped_octets(text: str, span: Span) -> Literal:
    r"""Return the octets of `'\x00ff'::bytea`, whose pairs of digits may have spaces between them.

    Raises:
        Refusal: E215 for other texts with a backslash, which would be octal numbers elsewhere.
    """
    if not text.startswith("\\x"):
        raise refusal(
            "E215",
            "octets with a backslash that is not followed by x at the beginning",
            span,
            help="write two hexadecimal digits for each byte: X'00ff'",
        )
    return _octets(syntax.BytesLiteral(span, re.sub(r"\s", "", text[2:])))


def _double(text: str, span: Span) -> Literal:
    value = float(text)
    if math.isinf(value):
        raise refusal("E215", f"{text} is out of the range of DOUBLE", span)
    return Literal(DOUBLE, nullable=False, value=value)


def _out_of_range(text: str, span: Span) -> Exception:
    shown = text if len(text) <= 24 else f"{text[:21]}…"
    help_ = "write a decimal point for a DOUBLE"
    if len(text.lstrip("-")) <= DECIMAL_DIGITS_MAX:
        help_ += f", or CAST('{text}' AS DECIMAL({DECIMAL_DIGITS_MAX}, 0)) for all digits"
    return refusal(
        "E215",
        f"{shown} is out of the range of {'BIGINT' if text[0] == '-' else 'UBIGINT'}",
        span,
        help=help_,
    )


def _octets(literal: syntax.BytesLiteral) -> Literal:
    digits = literal.digits
    if len(digits) % 2 or not _HEX.fullmatch(digits):
        raise refusal(
            "E215",
            "not pairs of hexadecimal digits",
            literal.span,
            help="write two digits for each byte: X'00ff'",
        )
    return Literal(BYTES, nullable=False, value=bytes.fromhex(digits).decode("latin-1"))


def _timestamp(literal: syntax.TimeLiteral, zone: str) -> Literal:
    if literal.type == "TIME":
        return _time(literal)
    if literal.type == "DATE":
        return _date(literal)
    type_ = TIMESTAMP if literal.type == "TIMESTAMP" else instants(zone)
    try:
        value_us = cast_value(as_written(literal.value.value, type_), STRING, type_)
    except RowFailure as failure:
        raise refusal(
            "E215",
            str(failure),
            literal.value.span,
            help="write it as '2024-01-31 23:59:59', with up to 6 digits of fraction",
        ) from None
    return Literal(type_, nullable=False, value=value_us)


def _time(literal: syntax.TimeLiteral) -> Literal:
    try:
        value_us = parse_time(literal.value.value.strip(" "))
    except RowFailure as failure:
        raise refusal(
            "E215", str(failure), literal.value.span, help="write it as '23:59:59'"
        ) from None
    return Literal(TIME, nullable=False, value=value_us)


def _date(literal: syntax.TimeLiteral) -> Literal:
    try:
        days = parse_date(literal.value.value.strip(" "))
    except RowFailure as failure:
        raise refusal(
            "E215", str(failure), literal.value.span, help="write it as '2024-01-31'"
        ) from None
    return Literal(DATE, nullable=False, value=days)


def interval_of_words(
    text: syntax.StringLiteral, words: Sequence[str], span: Span
) -> syntax.IntervalLiteral:
    """Return the literal of `CAST('1' AS INTERVAL DAY TO HOUR)`, given the words behind INTERVAL."""
    unit, to = words[0] if words else None, words[2] if len(words) > 1 else None
    return syntax.IntervalLiteral(
        span, text, typed("syntax.Unit | None", unit), typed("syntax.Unit | None", to)
    )


def _interval(literal: syntax.IntervalLiteral) -> Literal:
    if literal.unit is None:
        value, of_months = _with_units(literal.value)
    else:
        value, of_months = _interval_of_unit(literal, literal.unit), literal.unit in _UNIT_MONTHS
    if literal.negative:
        value = -value
    if not BIGINT_MIN <= value <= BIGINT_MAX:
        raise refusal("E215", "INTERVAL out of range", literal.value.span)
    return Literal(MONTHS if of_months else INTERVAL, nullable=False, value=value)


def _interval_of_unit(literal: syntax.IntervalLiteral, unit: syntax.Unit) -> int:
    """Return the months or microseconds of an interval with a unit after its text."""
    if literal.to is not None:
        return _range(literal, unit, literal.to)
    if unit in _UNIT_MONTHS:
        return _months(literal.value) * _UNIT_MONTHS[unit]
    return _quantity_us(literal.value, _UNIT_US[unit])


def _with_units(written: syntax.StringLiteral) -> tuple[int, bool]:
    """Return the months or microseconds of a text such as `1 hour 30 minutes`, and which of them they are.

    The last part may be a time, `1 day 02:30:00`, and `ago` reverses the sign; the form of
    ISO 8601 is read, too: `P1DT2H30M`.
    """
    text = _plain_units(written.value.strip(" "))
    text, ago = (text[:-4], -1) if text.lower().endswith(" ago") else (text, 1)
    clock = _CLOCK.search(text)
    clock_us = 0
    if clock is not None:
        hours, minutes, seconds, fraction = (clock[group] or "0" for group in range(2, 6))
        clock_us = (int(hours) * 60 + int(minutes)) * 60 + int(seconds)
        clock_us = clock_us * 1_000_000 + int(fraction.ljust(6, "0"))
        clock_us = -clock_us if clock[1] == "-" else clock_us
        text = text[: clock.start()]
    parts = _PART.findall(text)
    words = [unit.upper() for _, unit in parts]
    units = [_ABBREVIATED.get(word, word.removesuffix("S")) for word in words]
    of_months = all(unit in _UNIT_MONTHS for unit in units)
    of_months = of_months and clock is None
    known = of_months or all(unit in _UNIT_US for unit in units)
    empty = clock is not None and not text.strip(" ")
    if not known or not (empty or _PARTS.fullmatch(text)):
        raise refusal(
            "E215",
            "invalid interval",
            written.span,
            help="write INTERVAL '1' HOUR or INTERVAL '1 hour 30 minutes'; months and years need an interval"
            " of their own",
        )
    value = clock_us
    for (number, _), unit in zip(parts, units, strict=True):
        quantity = syntax.StringLiteral(written.span, number)
        if of_months:
            value += _months(quantity) * _UNIT_MONTHS[unit]
        else:
            value += _quantity_us(quantity, _UNIT_US[unit])
    return value * ago, of_months


def _plain_units(text: str) -> str:
    """Return an interval of ISO 8601 with its units in words; any other text as it is."""
    found = _ISO.fullmatch(text)
    if found is None or not any(found.groups()) or text[-1] in "Tt":
        return text
    words = ("year", "month", "week", "day", "hour", "minute", "second")
    return " ".join(
        f"{number} {word}" for number, word in zip(found.groups(), words, strict=True) if number
    )


def _months(quantity: syntax.StringLiteral) -> int:
    """Return a number of units in whole months."""
    match = _QUANTITY.fullmatch(quantity.value.strip(" "))
    if match is None or match[3]:
        raise refusal(
            "E215",
            "invalid quantity of an interval",
            quantity.span,
            help="write a whole number: INTERVAL '3' MONTH",
        )
    return int(match[1] + match[2])


_RANGES: Final[tuple[tuple[str, ...], ...]] = (
    ("YEAR", "MONTH"),
    ("DAY", "HOUR", "MINUTE", "SECOND"),
)
_LEADS_TO: Final = {"MONTH": "-", "HOUR": " ", "MINUTE": ":", "SECOND": ":"}
"""The text before a unit in an interval of several units."""


def _range(literal: syntax.IntervalLiteral, unit: syntax.Unit, to: syntax.Unit) -> int:
    """Return the months or microseconds of an interval such as `'1 12:30' DAY TO MINUTE`."""
    units = next((each for each in _RANGES if {unit, to} <= {*each}), ())
    units = units[units.index(unit) : units.index(to) + 1] if units else ()
    if len(units) < 2:
        raise refusal(
            "E215",
            f"there is no INTERVAL of {unit} TO {to}",
            literal.span,
            help="write YEAR TO MONTH, or a range of DAY, HOUR, MINUTE and SECOND",
        )
    form = "([0-9]{1,9})" + "".join(f"{_LEADS_TO[unit]}([0-9]{{1,2}})" for unit in units[1:])
    fraction = r"(?:\.([0-9]{1,6}))?" if to == "SECOND" else "()"
    match = re.fullmatch(f"([+-]?){form}{fraction}", literal.value.value.strip(" "))
    parts = [] if match is None else [*map(int, match.groups()[1:-1])]
    if match is None or any(
        part > _GREATEST[unit] for unit, part in zip(units[1:], parts[1:], strict=True)
    ):
        shown = "".join(f"{_LEADS_TO[unit]}30" if unit != "MONTH" else "-6" for unit in units[1:])
        raise refusal(
            "E215",
            f"invalid INTERVAL of {unit} TO {to}",
            literal.value.span,
            help=f"write INTERVAL '1{shown.replace(' 30', ' 12')}' {unit} TO {to}",
        )
    sizes = _UNIT_MONTHS if to == "MONTH" else _UNIT_US
    value = sum(part * sizes[unit] for unit, part in zip(units, parts, strict=True))
    value += int((match[match.lastindex or 1] or "").ljust(6, "0")) if to == "SECOND" else 0
    return -value if match[1] == "-" else value


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
