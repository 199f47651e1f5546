"""The text of values, and the JSON lines that a sink writes."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from fsql.compiler.logical import Changes, SinkTable
from fsql.compiler.sqltypes import STRING, Kind, SqlType
from fsql.tests.reference.octets import base64_of, bytes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.expression import Value

ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
}


def text(value: Value, type_: SqlType) -> str:  # noqa: PLR0911 - one a kind
    """Return a value that is neither NULL nor an array as JSON output has it, without quotes."""
    match value:
        case bool():
            return "true" if value else "false"
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case float() if type_.kind is Kind.FLOAT:
            return repr(float(str(np.float32(value))))
        case float():
            return repr(value)
        case int() if type_.kind is Kind.DECIMAL:
            digits = str(abs(value)).rjust(type_.scale + 1, "0")
            point = len(digits) - type_.scale
            number = f"{digits[:point]}.{digits[point:]}" if type_.scale else digits
            return number if value >= 0 else f"-{number}"
        case int() if type_.kind is Kind.TIMESTAMP:
            return timestamp_text(value, type_.fraction)
        case int() if type_.kind is Kind.TIME:
            return timestamp_text(value, type_.fraction)[11:-1]
        case int() if type_.kind is Kind.DATE:
            return timestamp_text(value * 86_400_000_000)[:10]
        case _:
            assert isinstance(value, int | str)
            return str(value)


def timestamp_text(value: int, declared: int | None = None) -> str:
    """Return a TIMESTAMP in ISO 8601 with the declared digits, or none, 3 or 6, as few as keep the value."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=value)
    fraction = moment.microsecond
    digits = "" if fraction == 0 else f".{fraction:06d}"
    if fraction % 1000 == 0:
        digits = digits[:4]
    if declared is not None:
        digits = f".{fraction:06d}"[: declared + 1] if declared else ""
    seconds = (
        f"{moment.year:04d}-{moment.month:02d}-{moment.day:02d}"
        f"T{moment.hour:02d}:{moment.minute:02d}:{moment.second:02d}"
    )
    return f"{seconds}{digits}Z"


def quoted(value: str) -> str:
    """Return a JSON string."""
    characters = (
        ESCAPES.get(character) or (f"\\u{ord(character):04x}" if character < " " else character)
        for character in value
    )
    return f'"{"".join(characters)}"'


def map_text(entries: tuple[Any, ...], type_: SqlType) -> str:
    """Return a map in JSON; the key of an object is a text, whatever the key would be as a value."""
    parts = []
    for key, item in entries:
        name = json_text(key, type_.key)
        name = name if name.startswith('"') else f'"{name}"'
        parts.append(f"{name}:{json_text(item, type_.value)}")
    return "{" + ",".join(parts) + "}"


def json_text(value: Value, type_: SqlType) -> str:  # noqa: PLR0911 - one a kind
    """Return a value in JSON."""
    if value is None:
        return "null"
    if isinstance(value, tuple) and type_.fields:
        pairs = zip(type_.fields, value, strict=True)
        fields = (f"{quoted(name)}:{json_text(item, field)}" for (name, field), item in pairs)
        return "{" + ",".join(fields) + "}"
    if isinstance(value, tuple) and type_.kind is Kind.MAP:
        return map_text(value, type_)
    if isinstance(value, tuple):
        element = type_.element
        assert element is not None
        return "[" + ",".join(json_text(item, element) for item in value) + "]"
    if type_.kind is Kind.BYTES and isinstance(value, str):
        return quoted(base64_of(bytes_of(value)))
    bare = text(value, type_)
    stringlike = type_.kind in {Kind.STRING, Kind.DATE, Kind.TIME, Kind.TIMESTAMP}
    if stringlike or (isinstance(value, float) and not math.isfinite(value)):
        return quoted(bare)
    return bare


def line(sink: SinkTable, operation: str, row: Sequence[Value]) -> str:
    """Return the line that a sink writes for one change, without the line's end."""
    fields = [
        (column.name, json_text(value, column.type))
        for column, value in zip(sink.columns, row, strict=True)
    ]
    if sink.changes is not Changes.APPEND:
        fields.insert(0, (sink.operation_column, json_text(operation, STRING)))
    return "{" + ",".join(f"{quoted(name)}:{value}" for name, value in fields) + "}"
