"""Casts: which types convert to which, which of those conversions can fail a row, and their results.

Implicit coercions (`fsql.compiler.functions.coercion`) are those of these casts that keep the value; they
never fail.
"""

from __future__ import annotations

import math
import re
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.dates import date_of, date_of_text, format_date, midnight
from fsql.compiler.functions.decimals import DECIMAL_CASTS, decimal_cast_fallible
from fsql.compiler.functions.failure import (
    OutOfRangeFailure,
    RowFailure,
    UnreadableTextFailure,
)
from fsql.compiler.functions.floats import integer_to_float, shortest_double, to_float
from fsql.compiler.functions.map_entries import map_of_entries
from fsql.compiler.functions.octets import octets_of_text, text_of_octets
from fsql.compiler.functions.structured_texts import read_structured, write_structured
from fsql.compiler.functions.time_zones import format_instant, instant_of, local_of
from fsql.compiler.functions.times import format_time, parse_time, time_of
from fsql.compiler.functions.timestamps import format_timestamp, has_offset, parse_timestamp
from fsql.compiler.sqltypes import (
    BIGINT_MAX,
    BIGINT_MIN,
    BOOLEAN,
    CLOCK_TIMES,
    DOUBLE,
    FLOATING,
    INTEGER_RANGES,
    STRUCTURED,
    TIMESTAMP,
    Kind,
    SqlType,
    has_range_of,
    moves_fields,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.compiler.expression import Value

NAN: Final = math.nan
"""The canonical NaN: the only one that an expression has."""

_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_NUMBER: Final = re.compile(
    r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|nan|[+-]?inf(inity)?", re.ASCII | re.IGNORECASE
)
"""What is read as a number, and so what Python does."""
TRUE_WORDS: Final = ("true", "t", "yes", "y", "on", "1")
FALSE_WORDS: Final = ("false", "f", "no", "n", "off", "0")
_INTEGER_DIGITS_MAX: Final = 20
"""More digits than this, leading zeros apart, are out of the range of every integer type."""


def integer_in_range(value: int, target: SqlType) -> int:
    """Return `value`, which is to be of type `target`, an integer type or INTERVAL.

    Raises:
        OutOfRangeFailure: E502, if the type does not hold it.
    """
    least, greatest = INTEGER_RANGES.get(target.kind, (BIGINT_MIN, BIGINT_MAX))
    if not least <= value <= greatest:
        raise OutOfRangeFailure(target)
    return value


def format_double(value: float) -> str:
    """Return the shortest decimal that reads back the same, or `NaN`, `Infinity`, `-Infinity`."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)


def _double_to_integer(value: float, target: SqlType) -> int:
    if not math.isfinite(value):
        raise OutOfRangeFailure(target)
    return integer_in_range(math.trunc(value), target)


def _text_to_boolean(text: str) -> bool:
    word = text.strip(" ").lower()
    if word not in TRUE_WORDS and word not in FALSE_WORDS:
        raise UnreadableTextFailure(text, BOOLEAN)
    return word in TRUE_WORDS


def _text_to_integer(text: str, target: SqlType) -> int:
    digits = text.strip(" ")
    if not _INTEGER.fullmatch(digits):
        raise UnreadableTextFailure(text, target)
    if len(digits.lstrip("+-").lstrip("0")) > _INTEGER_DIGITS_MAX:
        raise OutOfRangeFailure(target)
    return integer_in_range(int(digits), target)


def _text_to_double(text: str) -> float:
    number = text.strip(" ")
    if not _NUMBER.fullmatch(number):
        raise UnreadableTextFailure(text, DOUBLE)
    return NAN if number.lower() == "nan" else float(number)


# The scalar of each cast, by (from, to).  A cast of a kind to itself is not one, and is not listed.
_CASTS: Final[dict[tuple[Kind, Kind], Callable[..., Value]]] = {
    **{
        (source, target): partial(integer_in_range, target=SqlType(target))
        for source, target in product(INTEGER_RANGES, repeat=2)
        if source is not target
    },
    **dict.fromkeys(product(INTEGER_RANGES, [Kind.DOUBLE]), float),
    **dict.fromkeys(product(INTEGER_RANGES, [Kind.FLOAT]), integer_to_float),
    **{
        (source, target): partial(_double_to_integer, target=SqlType(target))
        for source, target in product(FLOATING, INTEGER_RANGES)
    },
    (Kind.FLOAT, Kind.DOUBLE): float,
    (Kind.DOUBLE, Kind.FLOAT): to_float,
    **dict.fromkeys(product([Kind.BOOLEAN], INTEGER_RANGES), int),
    **dict.fromkeys(product(INTEGER_RANGES, [Kind.BOOLEAN]), bool),
    (Kind.BOOLEAN, Kind.STRING): lambda value: "true" if value else "false",
    **dict.fromkeys(product(INTEGER_RANGES, [Kind.STRING]), str),
    (Kind.FLOAT, Kind.STRING): lambda value: format_double(shortest_double(value)),
    (Kind.DOUBLE, Kind.STRING): format_double,
    (Kind.DATE, Kind.STRING): format_date,
    (Kind.TIME, Kind.TIMESTAMP): int,
    (Kind.TIMESTAMP, Kind.TIME): time_of,
    (Kind.DATE, Kind.TIMESTAMP): midnight,
    (Kind.TIMESTAMP, Kind.DATE): date_of,
    (Kind.INTERVAL, Kind.STRING): str,
    (Kind.MONTHS, Kind.STRING): str,
    (Kind.STRING, Kind.BOOLEAN): _text_to_boolean,
    **{
        (Kind.STRING, target): partial(_text_to_integer, target=SqlType(target))
        for target in INTEGER_RANGES
    },
    (Kind.STRING, Kind.FLOAT): lambda text: to_float(_text_to_double(text)),
    (Kind.STRING, Kind.DOUBLE): _text_to_double,
    (Kind.STRING, Kind.BYTES): octets_of_text,
    (Kind.BYTES, Kind.STRING): text_of_octets,
    (Kind.STRING, Kind.DATE): lambda text: date_of_text(text.strip(" ")),
    (Kind.STRING, Kind.TIME): lambda text: parse_time(text.strip(" ")),
    (Kind.STRING, Kind.TIMESTAMP): lambda text: parse_timestamp(text.strip(" ")),
}

_TIME_TEXTS: Final[dict[Kind, Callable[..., str]]] = {
    Kind.TIME: format_time,
    Kind.TIMESTAMP: format_timestamp,
}

_FALLIBLE: Final = {
    *(
        (source, target)
        for source, target in product(INTEGER_RANGES, repeat=2)
        if not has_range_of(target, source)
    ),
    *product(FLOATING, INTEGER_RANGES),
    *(pair for pair in _CASTS if pair[0] is Kind.STRING and pair[1] is not Kind.BYTES),
    (Kind.BYTES, Kind.STRING),
}


def castable(source: SqlType, target: SqlType) -> bool:
    """Return whether `CAST(source AS target)` exists; ARRAY, ROW and MAP are cast part by part."""
    if source.kind is target.kind and source.kind in STRUCTURED:
        pairs = zip(source.parts, target.parts, strict=False)
        alike = len(source.parts) == len(target.parts) and not moves_fields(source, target)
        return alike and all(castable(*pair) for pair in pairs)
    if Kind.STRING in {source.kind, target.kind}:
        # The parts are texts in the text of the whole.
        if source.kind in STRUCTURED:
            return all(castable(part, target) for part in _leaves(source))
        if target.kind in STRUCTURED:
            return all(castable(source, part) for part in _leaves(target))
    pair = source.kind, target.kind
    of_times = source.kind in CLOCK_TIMES and target.kind in {source.kind, Kind.STRING}
    same = source == target or source.kind is Kind.NULL or of_times
    return same or pair in _CASTS or pair in DECIMAL_CASTS


def _leaves(type_: SqlType) -> tuple[SqlType, ...]:
    """Return the types of the parts; of a MAP those of its keys and values."""
    return (type_.key, type_.value) if type_.kind is Kind.MAP else type_.parts


def cast_fallible(source: SqlType, target: SqlType) -> bool:
    """Return whether the cast can fail a row."""
    if source.kind is target.kind and source.kind in STRUCTURED:
        return any(map(cast_fallible, source.parts, target.parts))
    if source.kind in STRUCTURED or target.kind in STRUCTURED:
        return target.kind is not Kind.STRING or any(
            cast_fallible(part, target) for part in _leaves(source)
        )
    if Kind.DECIMAL in {source.kind, target.kind}:
        return decimal_cast_fallible(source, target)
    if source.zone or target.zone:
        return cast_in_zone_fallible(source, target)
    return (source.kind, target.kind) in _FALLIBLE


def cast_value(  # noqa: PLR0911 - one a kind
    value: Value, source: SqlType, target: SqlType
) -> Value:
    """Return `value`, of type `source`, as a value of type `target`.

    Raises:
        RowFailure: E502 to E504 or E510, where `target` has no such value.
    """
    if value is None or source == target:
        return value
    if isinstance(value, tuple) and target.kind is Kind.STRING:
        return write_structured(value, source, cast_value)
    if isinstance(value, str) and target.kind in STRUCTURED:
        return read_structured(value, target, cast_value)
    if isinstance(value, tuple):
        count = len(value)
        if source.element is None:
            givens, wanteds = source.field_types, target.field_types
        else:
            givens, wanteds = source.parts * count, target.parts * count
        parts = tuple(map(cast_value, value, givens, wanteds))
        return map_of_entries(parts) if target.kind is Kind.MAP else parts
    pair = source.kind, target.kind
    if pair in DECIMAL_CASTS:
        return DECIMAL_CASTS[pair](value, source, target)
    if source.kind in CLOCK_TIMES or target.kind in CLOCK_TIMES:
        return _time_cast(value, source, target)
    return _CASTS[pair](value)


def _time_cast(value: Value, source: SqlType, target: SqlType) -> Value:
    """Return the value of a cast from or to TIME or TIMESTAMP, whose digits beyond those declared are cut."""
    if target.fraction is not None:
        whole = cast_value(value, source, target.without_fraction)
        assert isinstance(whole, int)
        return whole - whole % target.unit_us
    if source.zone or target.zone:
        return _cast_in_zone(value, source, target)
    if source.kind is target.kind:
        return value
    if target.kind is Kind.STRING:
        return _TIME_TEXTS[source.kind](value, source.fraction)
    return _CASTS[source.kind, target.kind](value)


def cast_in_zone_fallible(source: SqlType, target: SqlType) -> bool:
    """Return whether a cast from or to TIMESTAMP_LTZ can fail: with an offset a time can leave the range."""
    if source.zone and (target.zone or target.kind is Kind.STRING):
        return False
    return source.kind is Kind.STRING or (source.zone or target.zone) != "UTC"


def _cast_in_zone(value: Value, source: SqlType, target: SqlType) -> Value:
    """Return the value of a cast from or to TIMESTAMP_LTZ: all but texts are converted by the local time."""
    if source.zone:
        assert isinstance(value, int)
        if target.zone:
            return value
        if target.kind is Kind.STRING:
            return format_instant(value, source.zone, source.fraction)
        return cast_value(local_of(value, source.zone), TIMESTAMP, target)
    local = cast_value(value, source, TIMESTAMP)
    assert isinstance(local, int)
    if isinstance(value, str) and has_offset(value):
        return local
    return instant_of(local, target.zone)


def try_cast_value(value: Value, source: SqlType, target: SqlType) -> Value:
    """Return the value of the cast, None if it fails."""
    try:
        return cast_value(value, source, target)
    except RowFailure:
        return None
