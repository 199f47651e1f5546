"""Values of events that carry their schema: what a number or a text of a named type stands for.

Kafka Connect writes a value as JSON by the plain type of its field; the name of the type says what it means.
A value of a known name becomes the JSON that format `json` reads for the type of the column: the text of a
time, the number of a decimal.  A column of whole numbers gets the number as it is, and a STRING column the
value in the form in which fsql writes it.
"""

from __future__ import annotations

import base64
import binascii
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from fsql.compiler.functions.dates import format_date
from fsql.compiler.functions.times import format_time
from fsql.compiler.functions.timestamps import format_timestamp
from fsql.compiler.sqltypes import (
    DATE_MAX,
    DATE_MIN,
    DAY_US,
    TIMESTAMP_MAX,
    TIMESTAMP_MIN,
    Kind,
)
from fsql.formats.json.decoder import keys_differ
from fsql.formats.json.strict import parse_object
from fsql.formats.malformed import INVALID_TIMESTAMP, WRONG_TYPE, MalformedError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from fsql.compiler.schema import Schema
    from fsql.compiler.sqltypes import SqlType

    Convert: TypeAlias = Callable[[msgspec.Raw, str], msgspec.Raw]
    """From a value, and the path of its field, to the JSON of the column's type."""

_DEBEZIUM, _CONNECT = "io.debezium.time.", "org.apache.kafka.connect.data."
_DATES: Final = {_DEBEZIUM + "Date", _CONNECT + "Date"}
_TIMES_NS: Final = {
    _DEBEZIUM + "Time": 1_000_000,
    _DEBEZIUM + "MicroTime": 1_000,
    _DEBEZIUM + "NanoTime": 1,
    _CONNECT + "Time": 1_000_000,
}
_TIMESTAMPS_NS: Final = {
    _DEBEZIUM + "Timestamp": 1_000_000,
    _DEBEZIUM + "MicroTimestamp": 1_000,
    _DEBEZIUM + "NanoTimestamp": 1,
    _CONNECT + "Timestamp": 1_000_000,
}
_TEXTS: Final = {
    _DEBEZIUM + "IsoDate": Kind.DATE,
    _DEBEZIUM + "IsoTime": Kind.TIME,
    _DEBEZIUM + "ZonedTime": Kind.TIME,
    _DEBEZIUM + "IsoTimestamp": Kind.TIMESTAMP,
    _DEBEZIUM + "ZonedTimestamp": Kind.TIMESTAMP,
}
_OTHER_TIMES: Final = ("Year", "Interval", "MicroDuration", "NanoDuration")
_KINDS_OF_TIME: Final = {
    **dict.fromkeys(_DATES, Kind.DATE),
    **dict.fromkeys(_TIMES_NS, Kind.TIME),
    **dict.fromkeys(_TIMESTAMPS_NS, Kind.TIMESTAMP),
    **_TEXTS,
    **{_DEBEZIUM + name: Kind.INTERVAL for name in _OTHER_TIMES},
}
"""What named types are: those of INTERVAL are years and durations, which no column of a time can have."""
_DECIMAL: Final = _CONNECT + "Decimal"
_VARIABLE: Final = "io.debezium.data.VariableScaleDecimal"
_BITS: Final = "io.debezium.data.Bits"
_JSON: Final = "io.debezium.data.Json"
_TEMPORAL: Final = (Kind.DATE, Kind.TIME, Kind.TIMESTAMP)
_PARAMETER: Final = re.compile(r"-?[0-9]{1,9}")
_WHOLE: Final = re.compile(rb"-?[0-9]+")
_ZONED_TIME: Final = re.compile(
    r"(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|[+-]\d\d:\d\d)", re.ASCII
)
_SCALE_MAX: Final = 1_000
_NULL: Final = msgspec.Raw(b"null")
_ENCODE: Final = msgspec.json.Encoder().encode
_FIELDS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_ELEMENTS: Final = msgspec.json.Decoder(list[msgspec.Raw]).decode
_DOCUMENT: Final = msgspec.json.Decoder(msgspec.Raw).decode
_TEXT: Final = msgspec.json.Decoder(str).decode
_SCHEMAS_MAX: Final = 64


class FieldSchema(msgspec.Struct):
    """The schema of a field, as the JSON converter of Kafka Connect writes it."""

    type: str | None = None
    name: str | None = None
    field: str | None = None
    fields: list[FieldSchema] | None = None
    items: FieldSchema | None = None
    values: FieldSchema | None = None
    parameters: dict[str, object] | None = None

    def number(self, name: str) -> int:
        """Return a parameter of the type that is a number, 0 if it has none."""
        text = str((self.parameters or {}).get(name, ""))
        return int(text) if _PARAMETER.fullmatch(text) else 0


class _ScaledValue(msgspec.Struct):
    scale: int
    value: str


_SCHEMA: Final = msgspec.json.Decoder(FieldSchema).decode
_SCALED: Final = msgspec.json.Decoder(_ScaledValue).decode


class EventSchemas:
    """Reads the rows of events by their schemas, which are the same for many events."""

    def __init__(self, columns: Schema, nulled: Collection[str] = ()) -> None:
        """Take the columns; a malformed value of one of `nulled` is NULL."""
        self._columns = columns
        self._nulled = nulled
        self._known: dict[bytes, Mapping[str, Mapping[str, Convert]]] = {}
        self.nulled_fields = 0

    def read(self, row: bytes, image: str, schema: bytes) -> bytes:
        """Return a row, which is the field `image` of an event with a schema, as format `json` reads it.

        Raises:
            MalformedError: E512, E513, E520.
        """
        converts = self._of(schema).get(image)
        if not converts or not row.startswith(b"{"):
            return row
        check_keys(row)
        values = _FIELDS(row)
        for name, convert in converts.items():
            raw = values.get(name)
            if raw is None or raw == _NULL:
                continue
            try:
                values[name] = convert(raw, name)
            except MalformedError:
                if name not in self._nulled:
                    raise
                self.nulled_fields += 1
                values[name] = _NULL
        return _ENCODE(values)

    def _of(self, schema: bytes) -> Mapping[str, Mapping[str, Convert]]:
        known = self._known.get(schema)
        if known is None:
            if len(self._known) == _SCHEMAS_MAX:
                self._known.clear()
            known = self._known[schema] = self._images(schema)
        return known

    def _images(self, schema: bytes) -> Mapping[str, Mapping[str, Convert]]:
        try:
            envelope = _SCHEMA(schema)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            reason = "the schema of the event is not one of Kafka Connect"
            raise MalformedError(WRONG_TYPE, reason, "schema") from error
        named = [(column.name, column.type) for column in self._columns]
        return {
            each.field: _of_fields(each.fields, named)
            for each in envelope.fields or ()
            if each.field is not None
        }


def check_keys(row: bytes) -> None:
    """Check that a row is an object in which no key is a duplicate.

    Raises:
        MalformedError: E511, E512, E516.
    """
    try:
        differ = keys_differ(row)
    except RecursionError:
        differ = False
    if not differ:
        parse_object(row)  # raises the error


def _of_fields(
    fields: Sequence[FieldSchema] | None, columns: Sequence[tuple[str, SqlType]]
) -> Mapping[str, Convert]:
    schemas = {each.field: each for each in fields or ()}
    found = {
        name: conversion(schemas[name], sql_type) for name, sql_type in columns if name in schemas
    }
    return {name: convert for name, convert in found.items() if convert is not None}


def conversion(schema: FieldSchema, sql_type: SqlType) -> Convert | None:
    """Return how values with a schema are read for a type, None if as they are."""
    if schema.name is not None:
        found = _named(schema, sql_type)
        if found is not None:
            return found
    if schema.type == "struct" and sql_type.kind is Kind.ROW:
        inner = _of_fields(schema.fields, sql_type.fields)
        return (lambda raw, path: _in_object(raw, path, inner)) if inner else None
    if schema.type == "map" and schema.values is not None and sql_type.kind is Kind.MAP:
        of_value = conversion(schema.values, sql_type.value)
        if of_value is not None:
            each = of_value
            return lambda raw, path: _in_map(raw, path, each)
    if schema.type == "array" and schema.items is not None and sql_type.kind is Kind.ARRAY:
        assert sql_type.element is not None
        of_element = conversion(schema.items, sql_type.element)
        if of_element is not None:
            every = of_element
            return lambda raw, path: _in_array(raw, path, every)
    return None


def _named(schema: FieldSchema, sql_type: SqlType) -> Convert | None:
    """Return how values of a named type are read for a type, None if as they are."""
    name, kind = schema.name or "", sql_type.kind
    if name in _KINDS_OF_TIME:
        return _of_time(name, kind)
    if name in {_DECIMAL, _VARIABLE} and kind not in {Kind.BYTES, Kind.ROW}:
        scale = schema.number("scale") if name == _DECIMAL else None
        return lambda raw, path: _decimal(raw, path, scale, kind)
    if name == _BITS and kind is not Kind.BYTES:
        bits = schema.number("length")
        return lambda raw, path: _bits(raw, path, bits, kind)
    if name == _JSON and kind in {Kind.ROW, Kind.MAP, Kind.ARRAY}:
        return _json
    return None


def _of_time(name: str, kind: Kind) -> Convert | None:  # noqa: PLR0911 - one for each kind
    """Return how times of a named type are read for a kind, None if as they are."""
    given = _KINDS_OF_TIME.get(name)
    if given is None:
        return None
    fits = kind is given or (given is Kind.DATE and kind is Kind.TIMESTAMP)
    if kind in _TEMPORAL and not fits:
        return lambda _raw, path: _mismatch(name, kind, path)
    if name in _TEXTS:
        return (lambda raw, path: _of_zoned(raw, path, given)) if kind is given else None
    if given is Kind.INTERVAL or kind not in {Kind.STRING, *_TEMPORAL}:
        return None
    if given is Kind.DATE:
        return _date
    unit = {**_TIMES_NS, **_TIMESTAMPS_NS}[name]
    if given is Kind.TIME:
        return lambda raw, path: _time(raw, path, unit, within_day=kind is Kind.TIME)
    return lambda raw, path: _timestamp(raw, path, unit)


def _mismatch(name: str, kind: Kind, path: str) -> msgspec.Raw:
    raise MalformedError(WRONG_TYPE, f"expected {kind.value}, the schema says {name}", path)


def _is_text(raw: msgspec.Raw) -> bool:
    return bytes(raw).startswith(b'"')


def _text(text: str) -> msgspec.Raw:
    return msgspec.Raw(_ENCODE(text))


def _date(raw: msgspec.Raw, path: str) -> msgspec.Raw:
    if not _WHOLE.fullmatch(raw):
        return raw
    days = _number(raw)
    if not DATE_MIN <= days <= DATE_MAX:
        raise MalformedError(
            INVALID_TIMESTAMP, "the days since 1970 are not of the years 1 to 9999", path
        )
    return _text(format_date(days))


def _time(raw: msgspec.Raw, path: str, unit_ns: int, *, within_day: bool) -> msgspec.Raw:
    """Return the text of a time, which may be a duration of more than a day for a STRING."""
    if not _WHOLE.fullmatch(raw):
        return raw
    micros = _number(raw) * unit_ns // 1_000
    if 0 <= micros < DAY_US:
        return _text(format_time(micros))
    if within_day:
        raise MalformedError(INVALID_TIMESTAMP, "the number is not a time of day", path)
    hours, rest = divmod(abs(micros), 3_600_000_000)
    sign = "-" if micros < 0 else ""
    return _text(f"{sign}{hours:02}{format_time(rest)[2:]}")


def _timestamp(raw: msgspec.Raw, path: str, unit_ns: int) -> msgspec.Raw:
    if not _WHOLE.fullmatch(raw):
        return raw
    micros = _number(raw) * unit_ns // 1_000
    if not TIMESTAMP_MIN <= micros <= TIMESTAMP_MAX:
        raise MalformedError(
            INVALID_TIMESTAMP, "the number is not a time of the years 1 to 9999", path
        )
    return _text(format_timestamp(micros))


def _number(raw: msgspec.Raw) -> int:
    """Return a whole number, or one that is out of every range if it has too many digits to be in one."""
    digits = bytes(raw)
    return int(digits) if len(digits) <= 40 else 10**40


def _of_zoned(raw: msgspec.Raw, path: str, kind: Kind) -> msgspec.Raw:
    """Return a day or a time in UTC from a text with a zone; a TIMESTAMP may have one."""
    if kind is Kind.TIMESTAMP or not _is_text(raw):
        return raw
    text = _TEXT(raw)
    if kind is Kind.DATE:
        return _text(text.removesuffix("Z"))
    match = _ZONED_TIME.fullmatch(text)
    if match is None:
        return raw
    hour, minute, second = (int(match[part] or 0) for part in (1, 2, 3))
    micros = ((hour * 60 + minute) * 60 + second) * 1_000_000
    micros += int((match[4] or "").ljust(6, "0")[:6])
    if micros >= DAY_US:
        raise MalformedError(INVALID_TIMESTAMP, "the string does not name a time of day", path)
    if match[5] != "Z":
        offset = (int(match[5][1:3]) * 60 + int(match[5][4:])) * 60_000_000
        micros -= offset if match[5][0] == "+" else -offset
    return _text(format_time(micros % DAY_US))


def _octets(text: str, path: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise MalformedError(WRONG_TYPE, "expected a decimal in Base64", path) from None


def _decimal(raw: msgspec.Raw, path: str, scale: int | None, kind: Kind) -> msgspec.Raw:
    """Return the number with an unscaled value in Base64, big-endian, and a scale.

    Without a scale the value is an object that has one.
    """
    if scale is None:
        if not bytes(raw).startswith(b"{"):
            return raw
        try:
            scaled = _SCALED(raw)
        except msgspec.ValidationError:
            reason = "expected a decimal: an object with the fields scale and value"
            raise MalformedError(WRONG_TYPE, reason, path) from None
        scale, text = scaled.scale, scaled.value
    elif _is_text(raw):
        text = _TEXT(raw)
    else:
        return raw
    octets = _octets(text, path)
    if not octets:
        return raw
    if abs(scale) > _SCALE_MAX or len(octets) > _SCALE_MAX:
        raise MalformedError(WRONG_TYPE, "the decimal has too many digits", path)
    unscaled = int.from_bytes(octets, "big", signed=True)
    digits = Decimal(unscaled).as_tuple()
    number = f"{Decimal((digits.sign, digits.digits, -scale)):f}"
    return _text(number) if kind is Kind.STRING else msgspec.Raw(number.encode())


def _bits(raw: msgspec.Raw, path: str, length: int, kind: Kind) -> msgspec.Raw:
    """Return bits, which are in octets from the least significant on, as text or as a number."""
    if not _is_text(raw):
        return raw
    octets = _octets(_TEXT(raw), path)
    if not octets:
        return raw
    number = int.from_bytes(octets, "little")
    if kind is Kind.STRING:
        width = min(length, 8 * len(octets)) or 8 * len(octets)
        return _text(f"{number:0{width}b}")
    if kind is Kind.BOOLEAN:
        return msgspec.Raw(b"true" if number else b"false")
    return msgspec.Raw(str(number).encode())


def _json(raw: msgspec.Raw, path: str) -> msgspec.Raw:
    """Return the document that a text has."""
    if not _is_text(raw):
        return raw
    document = _TEXT(raw).encode()
    try:
        return _DOCUMENT(document)
    except (msgspec.DecodeError, RecursionError):
        raise MalformedError(WRONG_TYPE, "the text is not a JSON document", path) from None


def _in_object(raw: msgspec.Raw, path: str, converts: Mapping[str, Convert]) -> msgspec.Raw:
    if not bytes(raw).startswith(b"{"):
        return raw
    fields = _FIELDS(raw)
    for name, convert in converts.items():
        if fields.get(name, _NULL) != _NULL:
            fields[name] = convert(fields[name], f"{path}.{name}")
    return msgspec.Raw(_ENCODE(fields))


def _in_map(raw: msgspec.Raw, path: str, convert: Convert) -> msgspec.Raw:
    if not bytes(raw).startswith(b"{"):
        return raw
    fields = _FIELDS(raw)
    for name, value in fields.items():
        if value != _NULL:
            fields[name] = convert(value, f"{path}.{name}")
    return msgspec.Raw(_ENCODE(fields))


def _in_array(raw: msgspec.Raw, path: str, convert: Convert) -> msgspec.Raw:
    if not bytes(raw).startswith(b"["):
        return raw
    elements = [
        value if value == _NULL else convert(value, f"{path}[{index}]")
        for index, value in enumerate(_ELEMENTS(raw))
    ]
    return msgspec.Raw(_ENCODE(elements))
