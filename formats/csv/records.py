"""CSV records by the exact rules, one at a time: fields of a record, and values of fields.

This is the slow decoder.  It defines which records and values are valid, and the errors of all others; the
fast decoder accepts a subset of the valid ones, with the same values.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

from fsql.compiler.functions.casts import cast_value
from fsql.compiler.functions.failure import OutOfRangeFailure, RowFailure
from fsql.compiler.functions.octets import parse_base64
from fsql.compiler.sqltypes import BIGINT, STRING, Kind
from fsql.formats.malformed import (
    INVALID_TIMESTAMP,
    NOT_CSV,
    NULL_NOT_ALLOWED,
    NUMBER_OUT_OF_RANGE,
    WRONG_TYPE,
    MalformedError,
)

if TYPE_CHECKING:
    from fsql.compiler.expression import Value
    from fsql.compiler.schema import Column
    from fsql.formats.settings import Settings

_SHOWN_CHARACTERS: Final = 40


class Dialect(NamedTuple):
    """How fields are separated and quoted, and the text of NULL; doubled quotes have `escape == quote`."""

    delimiter: str
    quote: str
    escape: str
    null: str

    @classmethod
    def of(cls, settings: Settings) -> Dialect:
        """Return the dialect of a table's options, which the compiler has checked."""
        return cls(*(settings.text(key) for key in ("delimiter", "quote", "escape", "null")))


class Field(NamedTuple):
    """A field of a record, and whether it was quoted."""

    text: str
    quoted: bool


def split_record(record: str, dialect: Dialect) -> list[Field]:
    """Return the fields of a record.

    Raises:
        MalformedError: E523, if a quote is not closed, or text follows a closing quote.
    """
    fields: list[Field] = []
    start = 0
    while True:
        if record.startswith(dialect.quote, start):
            text, end = _read_quoted(record, start + 1, dialect)
            if end < len(record) and record[end] != dialect.delimiter:
                reason = f"text follows the closing quote of field {len(fields) + 1}"
                raise MalformedError(NOT_CSV, reason)
            fields.append(Field(text, quoted=True))
        else:
            end = record.find(dialect.delimiter, start)
            end = len(record) if end < 0 else end
            fields.append(Field(record[start:end], quoted=False))
        if end == len(record):
            return fields
        start = end + 1


def _read_quoted(record: str, start: int, dialect: Dialect) -> tuple[str, int]:
    """Return the text of a quoted field that begins at `start`, and the offset after its closing quote."""
    pieces: list[str] = []
    offset = start
    while offset < len(record):
        character = record[offset]
        following = record[offset + 1 : offset + 2]
        if character == dialect.escape and (
            dialect.escape != dialect.quote or following == character
        ):
            if not following:
                break
            pieces += (record[start:offset], following)
            start = offset = offset + 2
        elif character == dialect.quote:
            return "".join((*pieces, record[start:offset])), offset + 1
        else:
            offset += 1
    raise MalformedError(NOT_CSV, "a quoted field is not closed")


def field_value(field: Field, column: Column, dialect: Dialect) -> Value:
    """Return the value of a field in a column.

    Raises:
        MalformedError: E513, E514, E520 or E521, if it has no valid value.
    """
    if not field.quoted and field.text == dialect.null:
        if not column.nullable:
            raise MalformedError(NULL_NOT_ALLOWED, "a value is required", column.name)
        return None
    target = BIGINT if column.type.kind is Kind.INTERVAL else column.type
    try:
        if target.kind is Kind.BYTES:
            return parse_base64(field.text)
        value = cast_value(field.text, STRING, target)
    except OutOfRangeFailure:
        reason = f"the number does not fit {column.type}"
        raise MalformedError(NUMBER_OUT_OF_RANGE, reason, column.name) from None
    except RowFailure:
        of_time = column.type.kind in {Kind.DATE, Kind.TIME, Kind.TIMESTAMP}
        code = INVALID_TIMESTAMP if of_time else WRONG_TYPE
        reason = f"expected {column.type}, found {_quote(field.text)}"
        raise MalformedError(code, reason, column.name) from None
    if isinstance(value, float) and math.isinf(value) and "inf" not in field.text.lower():
        raise MalformedError(
            NUMBER_OUT_OF_RANGE, f"the number does not fit {column.type}", column.name
        )
    return value


def _quote(text: str) -> str:
    cut = text if len(text) <= _SHOWN_CHARACTERS else f"{text[: _SHOWN_CHARACTERS - 1]}…"
    return ascii(cut) if not cut.isprintable() else f'"{cut}"'
