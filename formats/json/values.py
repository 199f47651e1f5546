"""Values of JSON by declared type: the exact rules, one value at a time.

This is the slow decoder: it defines which values are valid for a column, and the errors for all others.
A value is returned as the fast decoder would return it: a timestamp remains a string or a number of
milliseconds, a date a string; `timestamps` converts them to columns.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import Raw

from fsql.compiler.functions.dates import parse_date
from fsql.compiler.functions.decimals import parse_decimal
from fsql.compiler.functions.failure import OutOfRangeFailure, RowFailure
from fsql.compiler.functions.floats import to_float
from fsql.compiler.functions.map_entries import key_identity
from fsql.compiler.functions.octets import parse_base64
from fsql.compiler.functions.times import parse_time
from fsql.compiler.functions.timestamps import parse_timestamp
from fsql.compiler.sqltypes import (
    BIGINT_MAX,
    BIGINT_MIN,
    DATE_MAX,
    DATE_MIN,
    DAY_US,
    FLOATING,
    INTEGER_RANGES,
    TIMESTAMP_MAX,
    TIMESTAMP_MIN,
    Kind,
    SqlType,
)
from fsql.formats.json.keys import read_key
from fsql.formats.json.nested_texts import nested_text
from fsql.formats.json.strict import Json, Number, describe
from fsql.formats.json.time_units import TimeUnits
from fsql.formats.malformed import (
    DUPLICATE_KEY,
    INVALID_TIMESTAMP,
    NULL_NOT_ALLOWED,
    NUMBER_OUT_OF_RANGE,
    WRONG_TYPE,
    MalformedError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from fsql.compiler.schema import Schema

Decoded: TypeAlias = "bool | int | float | str | Raw | list[Decoded] | dict[str, Decoded] | None"

_TIMES: Final = frozenset({Kind.DATE, Kind.TIME, Kind.TIMESTAMP})
_UNITS: Final = TimeUnits()
_DIGITS_OF_TIMES_MAX: Final = 24
"""More than those of any time in nanoseconds."""
_RANGES: Final = {
    **INTEGER_RANGES,
    Kind.INTERVAL: (BIGINT_MIN, BIGINT_MAX),
}
_TEXTS: Final[Mapping[Kind, tuple[Callable[[str], object], int, str]]] = {
    Kind.TIMESTAMP: (
        parse_timestamp,
        INVALID_TIMESTAMP,
        "the string does not name a time of the years 1 to 9999",
    ),
    Kind.DATE: (
        parse_date,
        INVALID_TIMESTAMP,
        "the string does not name a day of the years 1 to 9999",
    ),
    Kind.TIME: (parse_time, INVALID_TIMESTAMP, "the string does not name a time of day"),
    Kind.BYTES: (parse_base64, WRONG_TYPE, "expected BYTES, found a string that is not Base64"),
}
"""Kinds whose values are texts: the function that parses them, and the error for other texts."""

_DIGITS_MAX: Final = 20
"""The longest integer of 64 bits; JSON allows no leading zeros."""


def column_values(
    columns: Schema,
    record: dict[str, Json],
    nulled: Collection[str] = (),
    units: TimeUnits = _UNITS,
) -> tuple[list[Decoded], int]:
    """Return the value of each column; a field that the record does not have is NULL.

    Malformed values of the columns `nulled` are NULL; their number is returned, too.

    Raises:
        MalformedError: E513, E514, E520 or E521, of the first other column that has no value.
    """
    values: list[Decoded] = []
    count = 0
    for column in columns:
        try:
            value = _value(
                record.get(column.name), column.type, column.name, units, nullable=column.nullable
            )
        except MalformedError:
            if column.name not in nulled:
                raise
            value, count = None, count + 1
        values.append(value)
    return values, count


def _value(  # noqa: C901, PLR0911 - one for each kind
    value: Json, sql_type: SqlType, field: str, units: TimeUnits, *, nullable: bool
) -> Decoded:
    if value is None:
        if not nullable:
            raise MalformedError(NULL_NOT_ALLOWED, "a value is required", field)
        return None
    kind = sql_type.kind
    if kind in _RANGES and isinstance(value, Number):
        return _integer(value.text, sql_type, field)
    if kind in FLOATING and isinstance(value, Number):
        return _double(value.text, sql_type, field)
    if kind is Kind.DECIMAL and isinstance(value, str | Number):
        return _decimal(value if isinstance(value, str) else value.text, sql_type, field)
    if kind in _TIMES and isinstance(value, Number):
        return _time_number(value.text, sql_type, field, units)
    if kind in _TEXTS and isinstance(value, str):
        return _text(value, kind, field)
    if kind is Kind.MAP and isinstance(value, dict):
        return _map(value, sql_type, field, units)
    if kind is Kind.ARRAY and sql_type.element is not None and isinstance(value, list):
        return [
            _value(element, sql_type.element, f"{field}[{index}]", units, nullable=True)
            for index, element in enumerate(value)
        ]
    if sql_type.fields and isinstance(value, dict):
        return {
            name: _value(value[name], each, f"{field}.{name}", units, nullable=True)
            for name, each in sql_type.fields
            if name in value
        }
    if kind is Kind.STRING:
        return value if isinstance(value, str) else nested_text(value)
    if kind is Kind.BOOLEAN and isinstance(value, bool):
        return value
    raise MalformedError(WRONG_TYPE, f"expected {sql_type}, found {describe(value)}", field)


def _map(
    entries: dict[str, Json], sql_type: SqlType, field: str, units: TimeUnits
) -> dict[str, Decoded]:
    """Return the entries of a map; keys are checked, and remain texts."""
    known: set[object] = set()
    for count, text in enumerate(entries, 1):
        try:
            known.add(key_identity(read_key(text, sql_type.key)))
        except RowFailure:
            reason = f"the key of the map is not of type {sql_type.key}"
            raise MalformedError(WRONG_TYPE, reason, f"{field}.{text}") from None
        if len(known) < count:
            reason = f'the key "{text}" occurs twice as {sql_type.key}'
            raise MalformedError(DUPLICATE_KEY, reason, f"{field}.{text}")
    return {
        text: _value(each, sql_type.value, f"{field}.{text}", units, nullable=True)
        for text, each in entries.items()
    }


def _read_integer(text: str, sql_type: SqlType, field: str) -> int | None:
    """Return the integer in a text, None if it is far out of range."""
    if not text.lstrip("-").isdigit():
        reason = f"expected {sql_type}, found a number with a fraction or an exponent"
        raise MalformedError(WRONG_TYPE, reason, field)
    return int(text) if len(text) <= _DIGITS_MAX else None


def _integer(text: str, sql_type: SqlType, field: str) -> int:
    low, high = _RANGES[sql_type.kind]
    value = _read_integer(text, sql_type, field)
    if value is None or not low <= value <= high:
        raise MalformedError(NUMBER_OUT_OF_RANGE, f"the number does not fit {sql_type}", field)
    return value


def _double(text: str, sql_type: SqlType, field: str) -> float:
    value = float(text)
    if math.isinf(to_float(value) if sql_type.kind is Kind.FLOAT else value):
        raise MalformedError(NUMBER_OUT_OF_RANGE, f"the number does not fit {sql_type}", field)
    return value


def _decimal(text: str, sql_type: SqlType, field: str) -> Raw:
    """Return the text of a number that, after rounding, is a value of the type."""
    try:
        parse_decimal(text, sql_type)
    except OutOfRangeFailure:
        reason = f"the number does not fit {sql_type}"
        raise MalformedError(NUMBER_OUT_OF_RANGE, reason, field) from None
    except RowFailure:
        reason = f"expected {sql_type}, found a string that is not a number"
        raise MalformedError(WRONG_TYPE, reason, field) from None
    return Raw(text.strip(" ").encode())


def _text(text: str, kind: Kind, field: str) -> str:
    """Return the text of a value of the kind."""
    read, code, reason = _TEXTS[kind]
    try:
        read(text)
    except RowFailure:
        raise MalformedError(code, reason, field) from None
    return text


def _time_number(text: str, sql_type: SqlType, field: str, units: TimeUnits) -> int:
    """Return a number of days, or of the unit of a TIMESTAMP or TIME."""
    _read_integer(text, sql_type, field)
    number = int(text) if len(text) <= _DIGITS_OF_TIMES_MAX else 10**_DIGITS_OF_TIMES_MAX
    if sql_type.kind is Kind.DATE:
        if DATE_MIN <= number <= DATE_MAX:
            return number
        reason, option, likely = "the days since 1970 are not of the years 1 to 9999", "", None
    elif sql_type.kind is Kind.TIME:
        if 0 <= units.time.micros(number) < DAY_US:
            return number
        reason = f"the {units.time.word} are not a time of day"
        option, likely = "time_unit", units.likely_time(number)
    else:
        if TIMESTAMP_MIN <= units.timestamp.micros(number) <= TIMESTAMP_MAX:
            return number
        reason = f"the {units.timestamp.word} are not of the years 1 to 9999"
        option, likely = "timestamp_unit", units.likely_timestamp(number)
    if likely is not None:
        reason += f"; if they are {likely.word}, set '{option}' = '{likely.name}'"
    raise MalformedError(INVALID_TIMESTAMP, reason, field)
