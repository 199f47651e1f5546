"""Functions between text and instants: the texts are local times in the zone of the script."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.binder.expressions.time_zone import constant_zone, in_zone, utc_to_instant
from fsql.compiler.binder.report import not_implemented, refusal
from fsql.compiler.expression import Call, Cast, Expression, Literal
from fsql.compiler.functions.calls import call
from fsql.compiler.functions.coercion import coerce
from fsql.compiler.functions.evaluate import constant_value
from fsql.compiler.functions.read_patterns import READ
from fsql.compiler.functions.table import FUNCTIONS
from fsql.compiler.functions.time_patterns import pattern_of
from fsql.compiler.functions.time_texts import FORMATTED, SECONDS_PATTERN
from fsql.compiler.sqltypes import INT, INTEGER_RANGES, STRING, TIMESTAMP, UBIGINT, Kind, instants

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.binder.expressions.clause import ClauseBinder
    from fsql.compiler.functions.time_patterns import Family
    from fsql.compiler.text.source import Span


_SECONDS: Final = Literal(STRING, nullable=False, value=SECONDS_PATTERN)
_CAST_TEXT: Final = Literal(
    STRING,
    nullable=False,
    value=r"^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)?$",
)
"""What a cast of a TIMESTAMP or TIMESTAMP_LTZ to STRING gives; also with a space in place of the T."""
_CAST_DAY_AND_TIME: Final = Literal(STRING, nullable=False, value="$1 $2")


def local_texts(made: Expression, zone: str, span: Span) -> Expression:
    """Return the call of a function between text and seconds since 1970, in the zone of the script.

    Raises:
        Refusal: E301 for a pattern that writes the zone.
    """
    if not isinstance(made, Call) or zone == "UTC":
        return made
    _check_pattern(made, span)
    match made.function, made.arguments:
        case "from_unixtime", (seconds, *pattern):
            at = coerce(utc_to_instant(call("timestamp_seconds", seconds), zone), TIMESTAMP)
            return call("date_format", at, *(pattern or [_SECONDS]))
        case "unix_timestamp", (text, *pattern) if text.type == STRING:
            if _pattern_has_zone(made):
                return made
            if not pattern:
                return call("unix_timestamp", Cast(instants(zone), text.nullable, text))
            local = call("to_timestamp", text, *pattern)
            return call("unix_timestamp", in_zone(local, zone, zone))
        case _:
            return made


def _check_pattern(made: Call, span: Span) -> None:
    """Refuse a pattern that writes the zone of a local time, which has none."""
    family = FORMATTED.get(made.function)
    if family is None:
        return
    at, pattern = made.arguments
    if isinstance(at, Cast) and at.argument.type.zone and _has_zone(family, pattern):
        raise not_implemented(
            "a pattern with the zone of TIMESTAMP_LTZ", span, help="use CAST(… AS STRING)"
        )


def _pattern_has_zone(made: Expression) -> bool:
    """Return whether the call of a function parses a text by a pattern that contains a zone."""
    return isinstance(made, Call) and len(made.arguments) > 1 and _has_zone(READ, made.arguments[1])


def _has_zone(family: Family, pattern: Expression) -> bool:
    assert isinstance(pattern, Literal)
    assert isinstance(pattern.value, str)
    return pattern_of(family, pattern.value).has_zone


def to_timestamp_ltz(binder: ClauseBinder, placed: Sequence[tuple[Expression, Span]]) -> Expression:
    """Return TO_TIMESTAMP_LTZ(n, 0 or 3): the instant of seconds or milliseconds since 1970; also for text.

    Raises:
        Refusal: E301, E401, E403, E405.
    """
    (value, span), *others = placed
    if value.type.kind in INTEGER_RANGES and value.type != UBIGINT:
        (digits, digits_span), *_ = others or [(Literal(INT, nullable=False, value=3), span)]
        precision = constant_value(digits)
        if precision not in {0, 3} or len(others) > 1:
            message = "precision of TO_TIMESTAMP_LTZ must be 0, for seconds, or 3, for milliseconds"
            raise refusal("E405", message, digits_span)
        unit = "timestamp_millis" if precision else "timestamp_seconds"
        return utc_to_instant(call(unit, value), binder.zone)
    if value.type.kind not in {Kind.STRING, Kind.NULL}:
        raise refusal(
            "E401",
            f"function TO_TIMESTAMP_LTZ does not take {value.type}",
            span,
            help="it takes TO_TIMESTAMP_LTZ(milliseconds, 3) or TO_TIMESTAMP_LTZ(text, pattern, zone)",
        )
    pattern, *zones = others or [(Literal(STRING, nullable=False, value=SECONDS_PATTERN), span)]
    zone = constant_zone(*zones[0], "TO_TIMESTAMP_LTZ") if zones else binder.zone
    local = _by_pattern("to_timestamp", value, pattern)
    return in_zone(local, "UTC" if _pattern_has_zone(local) else zone, binder.zone)


def convert_tz(binder: ClauseBinder, placed: Sequence[tuple[Expression, Span]]) -> Expression:
    """Return CONVERT_TZ(text, from, to): the local time in another zone as text, NULL if it is not a time.

    That of a TIMESTAMP is a TIMESTAMP.

    Raises:
        Refusal: E301, E401, E403, E405.
    """
    (value, span), *zones = placed
    if value.type.kind is Kind.TIMESTAMP and not value.type.zone:
        given, wanted = (constant_zone(*zone, "CONVERT_TZ") for zone in zones)
        return in_zone(in_zone(value, given, binder.zone), wanted, binder.zone)
    if value.type.kind not in {Kind.STRING, Kind.NULL}:
        raise refusal(
            "E401",
            f"function CONVERT_TZ does not take {value.type}",
            span,
            help="write … AT TIME ZONE '…'",
        )
    given, wanted = (constant_zone(*zone, "CONVERT_TZ") for zone in zones)
    text = call("regexp_replace", value, _CAST_TEXT, _CAST_DAY_AND_TIME)
    local = call("try_to_timestamp", text, _SECONDS)
    instant = in_zone(local, given, binder.zone)
    return call("date_format", in_zone(instant, wanted, binder.zone), _SECONDS)


def _by_pattern(name: str, value: Expression, pattern: tuple[Expression, Span]) -> Expression:
    """Return the call of a function that parses a text by a pattern.

    Raises:
        Refusal: E403, E405.
    """
    text, check = constant_value(pattern[0]), FUNCTIONS[name].literal_check
    if not isinstance(text, str) or check is None:
        raise refusal("E403", "pattern of TO_TIMESTAMP_LTZ is not constant", pattern[1])
    if wrong := check(text):
        raise refusal("E405", wrong, pattern[1])
    return call(name, value, Literal(STRING, nullable=False, value=text))
