"""Types and values as PostgreSQL has them, as text and binary.

| SQL | PostgreSQL |
|---|---|
| TINYINT, SMALLINT, UTINYINT | int2 |
| INT, USMALLINT | int4 |
| BIGINT, UINT | int8 |
| UBIGINT, DECIMAL | numeric |
| FLOAT, DOUBLE | float4, float8 |
| STRING, BYTES | text, bytea |
| DATE, TIME, TIMESTAMP | date, time, timestamptz |
| INTERVAL | interval |
| ARRAY of these | arrays |
| ROW, MAP, ARRAY of them | json |
"""

from __future__ import annotations

import datetime as dt
import json
import math
import struct
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from fsql.compiler.functions.floats import shortest_double
from fsql.compiler.sqltypes import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.compiler.sqltypes import SqlType


class PgType(NamedTuple):
    """A type of PostgreSQL; `element` is that of an array."""

    oid: int
    name: str
    length: int
    array: int
    """The OID of the type of arrays of it, 0 if it is one."""
    element: int = 0


BOOL: Final = PgType(16, "bool", 1, 1000)
BYTEA: Final = PgType(17, "bytea", -1, 1001)
INT8: Final = PgType(20, "int8", 8, 1016)
INT2: Final = PgType(21, "int2", 2, 1005)
INT4: Final = PgType(23, "int4", 4, 1007)
TEXT: Final = PgType(25, "text", -1, 1009)
JSON: Final = PgType(114, "json", -1, 199)
FLOAT4: Final = PgType(700, "float4", 4, 1021)
FLOAT8: Final = PgType(701, "float8", 8, 1022)
DATE: Final = PgType(1082, "date", 4, 1182)
TIME: Final = PgType(1083, "time", 8, 1183)
TIMESTAMP: Final = PgType(1114, "timestamp", 8, 1115)
TIMESTAMPTZ: Final = PgType(1184, "timestamptz", 8, 1185)
INTERVAL: Final = PgType(1186, "interval", 16, 1187)
NUMERIC: Final = PgType(1700, "numeric", -1, 1231)
NAME: Final = PgType(19, "name", 64, 1003)
OID: Final = PgType(26, "oid", 4, 1028)
CHAR: Final = PgType(18, "char", 1, 1002)
VARCHAR: Final = PgType(1043, "varchar", -1, 1015)
UNKNOWN: Final = PgType(705, "unknown", -2, 0)

SCALARS: Final = (
    BOOL, BYTEA, CHAR, NAME, INT8, INT2, INT4, TEXT, OID, JSON, FLOAT4, FLOAT8, VARCHAR, DATE, TIME,
    TIMESTAMP, TIMESTAMPTZ, INTERVAL, NUMERIC,
)  # fmt: skip
TYPES: Final = {
    each.oid: each
    for each in (
        *SCALARS,
        *(PgType(each.array, f"_{each.name}", -1, 0, each.oid) for each in SCALARS),
        UNKNOWN,
    )
}
_KINDS: Final = {
    Kind.BOOLEAN: BOOL,
    Kind.TINYINT: INT2,
    Kind.SMALLINT: INT2,
    Kind.UTINYINT: INT2,
    Kind.INT: INT4,
    Kind.USMALLINT: INT4,
    Kind.BIGINT: INT8,
    Kind.UINT: INT8,
    Kind.MONTHS: INTERVAL,
    Kind.UBIGINT: NUMERIC,
    Kind.FLOAT: FLOAT4,
    Kind.DOUBLE: FLOAT8,
    Kind.STRING: TEXT,
    Kind.BYTES: BYTEA,
    Kind.DATE: DATE,
    Kind.TIME: TIME,
    Kind.TIMESTAMP: TIMESTAMPTZ,
    Kind.INTERVAL: INTERVAL,
    Kind.NULL: TEXT,
}
_EPOCH: Final = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)
_DAY: Final = dt.date(2000, 1, 1)
_MICROSECOND: Final = dt.timedelta(microseconds=1)


def pg_type(sql_type: SqlType) -> PgType:
    """Return the type of PostgreSQL for a SQL type."""
    if sql_type.kind is Kind.ARRAY and sql_type.element is not None:
        element = pg_type(sql_type.element)
        return TYPES[element.array] if element.array and element is not JSON else JSON
    if sql_type.fields or sql_type.kind is Kind.MAP:
        return JSON
    return _KINDS.get(sql_type.kind, NUMERIC)


def text_encoder(kind: PgType) -> Callable[[Any], bytes]:
    """Return the function that returns a value, which is not NULL, as text."""
    if kind.element:
        return lambda value: _array_text(value, TYPES[kind.element]).encode()
    if kind is INTERVAL:
        return lambda value: _interval_text(value).encode()
    return lambda value: _text(value, kind).encode()


def _text(value: Any, kind: PgType) -> str:  # noqa: ANN401, PLR0911 - values of all types
    match value:
        case bool():
            return "t" if value else "f"
        case str():
            return value if kind is not JSON else json.dumps(value)
        case bytes():
            return "\\x" + value.hex()
        case float():
            return _float_text(value, kind)
        case dt.datetime():
            text = value.astimezone(dt.UTC).strftime("%Y-%m-%d %H:%M:%S").rjust(19, "0")
            micro = f".{value.microsecond:06d}".rstrip("0").rstrip(".")
            return f"{text}{micro}+00"
        case dt.timedelta():
            return _interval_text(value)
        case list() | dict() | tuple():
            return json.dumps(_plain(value), ensure_ascii=False)
        case Decimal():
            return f"{value:f}"
        case _:
            return str(value)


def _float_text(value: float, kind: PgType) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(shortest_double(value) if kind is FLOAT4 else value)


def _plain(value: Any) -> Any:  # noqa: ANN401
    match value:
        case dict():
            return {str(key): _plain(part) for key, part in value.items()}
        case list():
            return [_plain(part) for part in value]
        case tuple():
            return [_plain(part) for part in value]
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case _:
            return _text(value, TEXT)


def _interval_text(value: Any) -> str:  # noqa: ANN401
    if isinstance(value, int):  # months
        return f"{value} mons"
    micros = value // _MICROSECOND
    sign, micros = ("-" if micros < 0 else ""), abs(micros)
    seconds, micros = divmod(micros, 1_000_000)
    text = f"{sign}{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{text}.{micros:06d}".rstrip("0").rstrip(".") if micros else text


def _array_text(values: list[Any], kind: PgType) -> str:
    parts = []
    for value in values:
        if value is None:
            parts.append("NULL")
            continue
        text = _text(value, kind)
        if not text or text.upper() == "NULL" or any(each in text for each in '{},"\\ \t\n\r\v\f'):
            text = '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
        parts.append(text)
    return "{" + ",".join(parts) + "}"


def binary_encoder(kind: PgType) -> Callable[[Any], bytes]:
    """Return the function that returns a value, which is not NULL, in binary."""
    if kind.element:
        element = TYPES[kind.element]
        return lambda value: _binary_array(value, element)
    packing = {INT2: "!h", INT4: "!i", INT8: "!q", FLOAT4: "!f", FLOAT8: "!d", OID: "!I"}.get(kind)
    if packing is not None:
        return struct.Struct(packing).pack
    special: dict[PgType, Callable[[Any], bytes]] = {
        BOOL: lambda value: b"\x01" if value else b"\x00",
        BYTEA: bytes,
        DATE: lambda value: struct.pack("!i", (value - _DAY).days),
        TIME: lambda value: struct.pack("!q", _micros_of_day(value)),
        TIMESTAMPTZ: lambda value: struct.pack("!q", (value - _EPOCH) // _MICROSECOND),
        TIMESTAMP: lambda value: struct.pack("!q", (_aware(value) - _EPOCH) // _MICROSECOND),
        INTERVAL: _binary_interval,
        NUMERIC: lambda value: _binary_numeric(Decimal(value)),
    }
    return special.get(kind, text_encoder(kind))


def _aware(value: dt.datetime) -> dt.datetime:
    return value if value.tzinfo is not None else value.replace(tzinfo=dt.UTC)


def _micros_of_day(value: dt.time) -> int:
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond


def _binary_interval(value: Any) -> bytes:  # noqa: ANN401
    if isinstance(value, int):
        return struct.pack("!qii", 0, 0, value)
    return struct.pack("!qii", value // _MICROSECOND, 0, 0)


def _binary_array(values: list[Any], kind: PgType) -> bytes:
    encode = binary_encoder(kind)
    if not values:
        return struct.pack("!iii", 0, 0, kind.oid)
    has_null = any(value is None for value in values)
    parts = [struct.pack("!iiiii", 1, has_null, kind.oid, len(values), 1)]
    for value in values:
        data = None if value is None else encode(value)
        parts.append(b"\xff\xff\xff\xff" if data is None else struct.pack("!i", len(data)) + data)
    return b"".join(parts)


def _binary_numeric(value: Decimal) -> bytes:
    """Return digits to the base of 10,000, with the weight of the first, the sign and the scale."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    scale = max(-exponent, 0)
    text = "".join(map(str, digits)) + "0" * max(exponent, 0)
    whole, part = (text[: len(text) - scale], text[len(text) - scale :]) if scale else (text, "")
    if scale > len(text):
        whole, part = "", text.rjust(scale, "0")
    whole = whole.rjust(-(-len(whole) // 4) * 4, "0")
    part = part.ljust(-(-len(part) // 4) * 4, "0")
    groups = [int((whole + part)[at : at + 4]) for at in range(0, len(whole + part), 4)]
    weight = len(whole) // 4 - 1
    while groups and groups[0] == 0:
        groups.pop(0)
        weight -= 1
    while groups and groups[-1] == 0:
        groups.pop()
    head = struct.pack("!hhHh", len(groups), weight if groups else 0, 0x4000 if sign else 0, scale)
    return head + struct.pack(f"!{len(groups)}h", *groups)


class ParameterError(Exception):
    """A parameter has no value that can stand in a query."""


_READ_BINARY: Final[dict[int, Callable[[bytes], Any]]] = {
    INT2.oid: lambda data: int.from_bytes(data, "big", signed=True),
    INT4.oid: lambda data: int.from_bytes(data, "big", signed=True),
    INT8.oid: lambda data: int.from_bytes(data, "big", signed=True),
    OID.oid: lambda data: int.from_bytes(data, "big"),
    FLOAT4.oid: lambda data: struct.unpack("!f", data)[0],
    FLOAT8.oid: lambda data: struct.unpack("!d", data)[0],
    BOOL.oid: lambda data: data != b"\0",
    DATE.oid: lambda data: _DAY + dt.timedelta(struct.unpack("!i", data)[0]),
    TIMESTAMP.oid: lambda data: _EPOCH + dt.timedelta(microseconds=struct.unpack("!q", data)[0]),
    TIMESTAMPTZ.oid: lambda data: _EPOCH + dt.timedelta(microseconds=struct.unpack("!q", data)[0]),
}
_NUMBERS: Final = frozenset({INT2.oid, INT4.oid, INT8.oid, OID.oid, NUMERIC.oid})
_FLOATS: Final = frozenset({FLOAT4.oid, FLOAT8.oid})


def literal(data: bytes | None, oid: int, form: int) -> str:
    """Return the value of a parameter as a literal of a query.

    Raises:
        ParameterError: if it is not valid.
    """
    if data is None:
        return "NULL"
    try:
        if form == 1 and oid in _READ_BINARY:
            value = _READ_BINARY[oid](data)
            text = _text(value, TYPES[oid])
        elif form == 1 and oid not in {TEXT.oid, VARCHAR.oid, NAME.oid, UNKNOWN.oid, JSON.oid, 0}:
            raise ParameterError(f"binary parameters of type {oid} are not supported")
        else:
            text = data.decode()
    except (ValueError, struct.error, OverflowError):
        raise ParameterError("a parameter is not a value of its type") from None
    return literal_of(text, oid)


def literal_of(text: str, oid: int) -> str:
    """Return the text of a value as a literal of a query.

    Raises:
        ParameterError: if it is not valid.
    """
    if oid in _NUMBERS or oid in _FLOATS:
        try:
            number = Decimal(text)
        except ArithmeticError:
            raise ParameterError(f"{text[:40]!r} is not a number") from None
        if not number.is_finite():
            return f"CAST('{text}' AS DOUBLE)"
        plain = f"{number:f}"
        return f"CAST('{text}' AS DOUBLE)" if oid in _FLOATS else f"{plain}"
    if oid == BOOL.oid:
        return "TRUE" if text.lower() in {"t", "true", "1", "on", "yes"} else "FALSE"
    quoted = "'" + text.replace("'", "''") + "'"
    kinds = {DATE.oid: "DATE", TIMESTAMP.oid: "TIMESTAMP", TIMESTAMPTZ.oid: "TIMESTAMP"}
    if oid in kinds:
        return f"{kinds[oid]} '" + text.removesuffix("+00").replace("'", "''") + "'"
    return quoted
