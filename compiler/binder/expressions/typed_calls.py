"""Calls whose meaning depends on the types of their arguments.

TO_TIMESTAMP(seconds)           →   the instant of seconds since 1970
DATE_TRUNC('day', at, zone)     →   DATE_TRUNC('day', at AT TIME ZONE zone) AT TIME ZONE zone
ENCODE(octets, 'hex')           →   LOWER(HEX(octets)); 'base64' is TO_BASE64(octets)
DECODE(text, 'hex')             →   the octets
REGEXP_MATCH(text, pattern)     →   the groups of the first match
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.binder.expressions.literals import escaped_octets
from fsql.compiler.binder.expressions.time_zone import constant_zone, in_zone, utc_to_instant
from fsql.compiler.binder.report import refusal
from fsql.compiler.expression import Call, Case, Cast, Expression, Literal
from fsql.compiler.functions.calls import call
from fsql.compiler.functions.evaluate import constant_value
from fsql.compiler.functions.regular_expressions import group_count, regexp_error
from fsql.compiler.functions.truncation import unit_error
from fsql.compiler.sqltypes import (
    BIGINT,
    BYTES,
    DOUBLE,
    INT,
    INTEGER_RANGES,
    NUMERIC,
    STRING,
    Kind,
    array_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.binder.expressions.clause import ClauseBinder
    from fsql.compiler.sqltypes import SqlType
    from fsql.compiler.text.source import Span


_MICROSECONDS: Final = Literal(DOUBLE, nullable=False, value=1e6)
_HASHES: Final = frozenset({"sha1", "sha224", "sha256", "sha384", "sha512", "sha2"})
_FLAGS: Final = frozenset("ic")


def typed_call(
    name: str, arguments: Sequence[Expression], spans: Sequence[Span], zone: str
) -> Expression | None:
    """Return what a call with such arguments means; None for any other.

    Raises:
        Refusal: E301, E405.
    """
    match name, arguments:
        case "TO_TIMESTAMP", [seconds] if seconds.type.kind in NUMERIC:
            return utc_to_instant(_of_seconds(seconds), zone)
        case "DATE_TRUNC", [unit, at, _] if at.type.zone and _is_unit(unit):
            within = constant_zone(arguments[2], spans[2], "DATE_TRUNC")
            return in_zone(call("date_trunc", unit, in_zone(at, within, zone)), within, zone)
        case (("ENCODE" | "DECODE"), [value, form]):
            text = constant_value(form)
            return _with_form(name, value, spans[0], text) if isinstance(text, str) else None
        case _:
            return None


def _of_seconds(seconds: Expression) -> Expression:
    """Return the TIMESTAMP of seconds since 1970, to the nearest microsecond."""
    if seconds.type.kind in INTEGER_RANGES:
        return call("timestamp_seconds", seconds)
    micros = call("round", call("multiply", _cast(seconds, DOUBLE), _MICROSECONDS))
    return call("timestamp_micros", Cast(BIGINT, micros.nullable, micros))


def _cast(operand: Expression, target: SqlType) -> Expression:
    return operand if operand.type == target else Cast(target, operand.nullable, operand)


def _is_unit(unit: Expression) -> bool:
    text = constant_value(unit)
    return isinstance(text, str) and unit_error(text) is None


def _with_form(name: str, value: Expression, span: Span, written: str) -> Expression | None:
    """Return ENCODE or DECODE with the name of a form instead of a character set; None if it is none.

    A hash is text in hexadecimal digits, whose octets are meant.

    Raises:
        Refusal: E401 for a text, of which it is not known whether it writes octets; E215 for a
            literal with a backslash that does not write octets.
    """
    form = written.lower()
    if form not in {"hex", "base64"}:
        return None
    if name == "DECODE":
        return call(f"octets_of_{form}", value) if value.type == STRING else None
    if isinstance(value, Call) and value.function in _HASHES:
        return value if form == "hex" else call("to_base64", call("octets_of_hex", value))
    if value.type == STRING and not isinstance(value, Literal):
        raise refusal(
            "E401",
            f"ENCODE takes BYTES for '{form}'",
            span,
            "this is STRING",
            help=f"cast the text: ENCODE(CAST(… AS BYTES), '{form}')",
        )
    if isinstance(value, Literal) and isinstance(value.value, str) and value.type == STRING:
        value = escaped_octets(value.value, span) if "\\" in value.value else value
    if value.type not in {BYTES, STRING}:
        return None
    return call("lower", call("hex", value)) if form == "hex" else call("to_base64", value)


def regexp_match(_binder: ClauseBinder, placed: Sequence[tuple[Expression, Span]]) -> Expression:
    """Return the groups of the first match, or the match if the pattern has no groups; NULL without a match.

    Raises:
        Refusal: E401, E403, E405.
    """
    (text, text_span), (pattern, pattern_span), *flags = placed
    if text.type.kind not in {Kind.STRING, Kind.NULL}:
        raise refusal("E401", f"function REGEXP_MATCH does not take {text.type}", text_span)
    written = constant_value(pattern)
    if pattern.type.kind is Kind.NULL:
        return Literal(array_of(STRING), nullable=True, value=None)
    if not isinstance(written, str):
        raise refusal("E403", "pattern of REGEXP_MATCH is not constant", pattern_span)
    if flags:
        given = constant_value(flags[0][0])
        if not isinstance(given, str) or not set(given) <= _FLAGS:
            message = "the flags of REGEXP_MATCH are a constant text of i (ignore case) and c"
            raise refusal("E405", message, flags[0][1])
        if given.rfind("i") > given.rfind("c"):
            written = f"(?i:{written})"
    if wrong := regexp_error(written):
        raise refusal("E405", wrong, pattern_span)
    regular = Literal(STRING, nullable=False, value=written)
    count = group_count(written)
    numbers = range(1, count + 1) if count else [0]
    groups = call(
        "array",
        *(
            call("regexp_extract", text, regular, Literal(INT, nullable=False, value=number))
            for number in numbers
        ),
    )
    matches = call("regexp_like", text, regular)
    nothing = Literal(groups.type, nullable=True, value=None)
    return Case(groups.type, nullable=True, branches=((matches, groups),), otherwise=nothing)
