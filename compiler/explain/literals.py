"""Constants and names in the form of SQL."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from fsql.compiler.functions.casts import format_double
from fsql.compiler.functions.dates import format_date
from fsql.compiler.functions.decimals import format_decimal
from fsql.compiler.functions.octets import hex_of
from fsql.compiler.functions.times import format_time
from fsql.compiler.functions.timestamps import format_timestamp
from fsql.compiler.sqltypes import Kind

if TYPE_CHECKING:
    from fsql.compiler.expression import Value
    from fsql.compiler.sqltypes import SqlType

_PLAIN_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_UNITS_US: Final = (
    ("DAY", 86_400_000_000),
    ("HOUR", 3_600_000_000),
    ("MINUTE", 60_000_000),
    ("SECOND", 1_000_000),
    ("MILLISECOND", 1_000),
    ("MICROSECOND", 1),
)


def literal_text(value: Value, kind: SqlType) -> str:  # noqa: PLR0911 - one a kind
    """Return the constant `value` of type `kind` as SQL writes it.

    >>> from fsql.compiler.sqltypes import DOUBLE, STRING
    >>> print(literal_text("it's", STRING), literal_text(2.0, DOUBLE), literal_text(None, STRING))
    'it''s' 2.0 NULL
    """
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return _whole_text(value, kind)
        case float():
            return _double_text(value)
        case str() if kind.kind is Kind.BYTES:
            return f"X'{hex_of(value)}'"
        case str():
            return string_text(value)
        case tuple() if kind.fields:
            items = zip(value, kind.field_types, strict=True)
            texts = ", ".join(literal_text(item, field) for item, field in items)
            return f"CAST(ROW({texts}) AS {kind})"
        case tuple() if kind.kind is Kind.MAP:
            return _map_text(value, kind)
        case tuple():
            assert kind.element is not None
            element = kind.element
            return f"ARRAY[{', '.join(literal_text(item, element) for item in value)}]"


def _map_text(entries: tuple[Any, ...], kind: SqlType) -> str:
    parts = []
    for key, value in entries:
        parts += [literal_text(key, kind.key), literal_text(value, kind.value)]
    return f"CAST(MAP[{', '.join(parts)}] AS {kind})"


def string_text(value: str) -> str:
    """Return `value` in single quotes, with single quotes inside doubled."""
    return "'" + value.replace("'", "''") + "'"


def interval_text(duration_us: int) -> str:
    """Return an interval as a whole number of the largest possible unit.

    >>> print(interval_text(90_000_000), interval_text(-3_600_000_000), sep="; ")
    INTERVAL '90' SECOND; INTERVAL '-1' HOUR
    """
    if duration_us == 0:
        return "INTERVAL '0' SECOND"
    unit, size = next((name, size) for name, size in _UNITS_US if duration_us % size == 0)
    return f"INTERVAL '{duration_us // size}' {unit}"


def name_text(name: str) -> str:
    """Return `name`, in double quotes if it is not a plain identifier."""
    return name if _PLAIN_NAME.fullmatch(name) else '"' + name.replace('"', '""') + '"'


def _whole_text(value: int, kind: SqlType) -> str:
    if kind.kind is Kind.DECIMAL:
        return format_decimal(value, kind.scale)
    if kind.kind is Kind.DATE:
        return f"DATE '{format_date(value)}'"
    if kind.kind is Kind.TIME:
        return f"TIME '{format_time(value)}'"
    if kind.kind is Kind.TIMESTAMP:
        text = format_timestamp(value).replace("T", " ")
        return f"TIMESTAMP_LTZ '{text}'" if kind.zone else f"TIMESTAMP '{text.removesuffix('Z')}'"
    if kind.kind is Kind.MONTHS:
        return f"INTERVAL '{value}' MONTH"
    return interval_text(value) if kind.kind is Kind.INTERVAL else str(value)


def _double_text(value: float) -> str:
    text = format_double(value)
    return text if text[-1].isdigit() else f"CAST('{text}' AS DOUBLE)"
