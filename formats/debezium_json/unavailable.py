"""Values that an event leaves out: Debezium writes a placeholder for a value that it does not know.

PostgreSQL stores long values apart from the row (TOAST), and does not log them again when the row changes
but they do not.  The placeholder is a text, or that text as a value of the column's type: bytes in Base64 or
hexadecimal digits, an array of it or of its bytes as numbers, a map with it as a key.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from fsql.compiler.logical import VALUE_MARKS, mark_count
from fsql.compiler.sqltypes import Kind
from fsql.formats.json.strict import parse_object
from fsql.formats.malformed import UNAVAILABLE, MalformedError

if TYPE_CHECKING:
    from collections.abc import Collection

    from fsql.compiler.schema import Schema
    from fsql.compiler.sqltypes import SqlType

_HAVE, _LACK = VALUE_MARKS
_FIELDS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_ANY: Final = msgspec.json.Decoder().decode
_ENCODE: Final = msgspec.json.Encoder().encode
_NULL: Final = msgspec.Raw(b"null")
_NOT_NULL: Final[dict[Kind, object]] = {
    Kind.BOOLEAN: False,
    Kind.STRING: "",
    Kind.BYTES: "",
    Kind.DATE: "1970-01-01",
    Kind.TIME: "00:00:00",
    Kind.ARRAY: [],
    Kind.MAP: {},
    Kind.ROW: {},
}
"""What stands for a value that is not available in a NOT NULL column; of kinds of numbers and times, 0."""


class Partial(NamedTuple):
    """A row with NULL, or any value of its type, where values are not available; `marks` says where."""

    row: bytes
    marks: str


class Placeholder:
    """The forms of a placeholder."""

    def __init__(self, text: str) -> None:
        octets = text.encode()
        coded = (base64.b64encode(octets), base64.urlsafe_b64encode(octets), octets.hex().encode())
        self._texts = {text, *(each.decode() for each in coded)}
        self._texts |= {each.rstrip(b"=").decode() for each in coded}
        self._numbers = list(octets)
        self._signs = {
            *(json.dumps(each)[1:-1].encode() for each in self._texts),
            *(each.encode() for each in self._texts),
            ",".join(map(str, self._numbers)).encode(),
            ", ".join(map(str, self._numbers)).encode(),
        }

    def may_be_in(self, record: bytes) -> bool:
        """Return whether a form of the placeholder is in the text of a record."""
        return any(sign in record for sign in self._signs)

    def is_(self, value: object) -> bool:
        """Return whether a value is the placeholder as a whole."""
        if isinstance(value, str):
            return value in self._texts
        if isinstance(value, list):
            return bool(value) and (value == self._numbers or all(map(self.is_, value)))
        if isinstance(value, dict):
            return not self._texts.isdisjoint(value)
        return False

    def is_inside(self, value: object) -> bool:
        """Return whether a value, or one inside of it, is the placeholder."""
        if self.is_(value):
            return True
        if isinstance(value, dict):
            return any(map(self.is_inside, value.values()))
        return isinstance(value, list) and any(map(self.is_inside, value))


def partial_row(
    row: bytes, other: bytes | None, columns: Schema, needed: Collection[str], text: Placeholder
) -> Partial | None:
    """Return a row whose values are not all there, None if they are.

    A value that is missing is taken from the `other` row of the event where that has it.  Those of the
    columns `needed` have to be there.

    Raises:
        MalformedError: E512, E519, E527.
    """
    if not text.may_be_in(row):
        return None
    parse_object(row)  # raises the error for a duplicate key
    values = _FIELDS(row)
    others = {} if other is None or not other.startswith(b"{") else _FIELDS(other)
    marks = []
    for column in columns:
        raw = values.get(column.name, _NULL)
        value, mark = _marked(raw, column.type, column.name, text)
        known = others.get(column.name, _NULL)
        if _LACK not in mark:
            pass
        elif known != _NULL and not text.is_inside(_ANY(known)):
            values[column.name], mark = known, _HAVE * len(mark)
        elif column.name in needed:
            reason = "the value is left out of the event"
            raise MalformedError(UNAVAILABLE, reason, column.name)
        elif value == _NULL and not column.nullable:
            values[column.name] = msgspec.Raw(_ENCODE(_NOT_NULL.get(column.type.kind, 0)))
        else:
            values[column.name] = value
        marks.append(mark)
    all_marks = "".join(marks)
    return Partial(_ENCODE(values), all_marks if _LACK in all_marks else "")


def _marked(
    raw: msgspec.Raw, sql_type: SqlType, field: str, text: Placeholder
) -> tuple[msgspec.Raw, str]:
    """Return a value with NULL for what is not available, and its marks.

    Raises:
        MalformedError: E527, if an element of an array or a map is not available.
    """
    marks = [_HAVE] * mark_count(sql_type)
    value = _ANY(raw) if text.may_be_in(bytes(raw)) else None
    if text.is_(value):
        return _NULL, "".join([_LACK, *marks[1:]])
    if not text.is_inside(value):
        return raw, "".join(marks)
    if sql_type.kind is not Kind.ROW or not isinstance(value, dict):
        reason = "a value inside is left out of the event, and cannot be found in the earlier row"
        raise MalformedError(UNAVAILABLE, reason, field)
    fields, marks = _FIELDS(raw), [_HAVE]
    for name, child in sql_type.fields:
        inner, mark = _marked(fields.get(name, _NULL), child, f"{field}.{name}", text)
        marks.append(mark)
        if name in fields:
            fields[name] = inner
    return msgspec.Raw(_ENCODE(fields)), "".join(marks)
