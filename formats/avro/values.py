"""Rows of Avro files as Arrow columns.

Rows are decoded with a schema that has the same encoding but avoids costly Python objects for each value:
texts are bytes, enums are numbers, maps are arrays of their entries, and logical types are left out.  Whole
columns are converted afterwards.
"""

from __future__ import annotations

import itertools
import uuid
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from fsql.formats.avro.damage import DamagedError
from fsql.runtime.arrow_types import map_array

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fsql.formats.avro.schema import AvroType

_ARROW: Final = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
    "fixed": pa.binary(),
    "enum": pa.dictionary(pa.int32(), pa.string()),
}
_LOGICAL: Final = {
    "date": pa.date32(),
    "time-millis": pa.time32("ms"),
    "time-micros": pa.time64("us"),
    "uuid": pa.string(),
    **{
        f"{local}timestamp-{unit}": pa.timestamp(short, None if local else "UTC")
        for local in ("", "local-")
        for unit, short in (("millis", "ms"), ("micros", "us"), ("nanos", "ns"))
    },
}
_DECIMAL_DIGITS_MAX: Final = 38
_DECIMAL_BYTES: Final = 16


def arrow_type_of(avro: AvroType) -> pa.DataType | None:
    """Return the Arrow type for the values of a type; None if no SQL type has these values."""
    avro = avro.value
    if avro.logical == "decimal":
        digits = avro.precision
        return pa.decimal128(digits, avro.scale) if digits <= _DECIMAL_DIGITS_MAX else None
    if avro.kind in {"array", "map", "record"}:
        parts = [arrow_type_of(part) for part in avro.parts]
        if not parts or None in parts:
            return None
        if avro.kind == "record":
            return pa.struct(list(zip(avro.names, parts, strict=True)))
        return pa.list_(parts[0]) if avro.kind == "array" else pa.map_(pa.string(), parts[0])
    return _LOGICAL.get(avro.logical) or _ARROW.get(avro.kind)


def name_of(avro: AvroType) -> str:
    """Return the name of a type in messages."""
    avro = avro.value
    if avro.kind == "union":
        return f"a union of {', '.join(map(name_of, avro.parts))}"
    if avro.logical == "decimal":
        return f"decimal({avro.precision}, {avro.scale})"
    if avro.kind in {"array", "map"}:
        return f"{avro.kind}<{name_of(avro.parts[0])}>"
    return avro.logical or avro.kind


def encoded_type(  # noqa: PLR0911 - one for each kind
    avro: AvroType, names: Iterator[int] | None = None
) -> Any:  # noqa: ANN401 - JSON
    """Return the schema for decoding values of a type; fields of records are named `f0`, `f1` and so on."""
    names = itertools.count() if names is None else names
    match avro.kind:
        case "union":
            return [encoded_type(part, names) for part in avro.parts]
        case "string":
            return "bytes"
        case "enum":
            return "int"
        case "fixed":
            return {"type": "fixed", "name": f"t{next(names)}", "size": avro.size}
        case "array":
            return {"type": "array", "items": encoded_type(avro.parts[0], names)}
        case "map":
            entry = _record(["bytes", encoded_type(avro.parts[0], names)], names)
            return {"type": "array", "items": entry}
        case "record":
            return _record([encoded_type(part, names) for part in avro.parts], names)
        case _:
            return avro.kind


def _record(parts: Sequence[Any], names: Iterator[int]) -> dict[str, Any]:
    fields = [{"name": f"f{at}", "type": part} for at, part in enumerate(parts)]
    return {"type": "record", "name": f"t{next(names)}", "fields": fields}


def column_of(values: Sequence[Any], avro: AvroType) -> pa.Array:
    """Return decoded values, some of which may be None, as an Arrow column.

    Raises:
        DamagedError: if a value is not valid for the type.
    """
    avro = avro.value
    if avro.kind in {"array", "map", "record"}:
        return _nested_column(values, avro)
    if avro.logical == "decimal":
        return _decimals(values, avro)
    if avro.kind == "enum":
        return _enums(values, avro)
    if avro.kind == "string":
        return _texts(values)
    if avro.logical == "uuid":
        texts = [None if value is None else str(uuid.UUID(bytes=value)) for value in values]
        return pa.array(texts, pa.string())
    try:
        plain = pa.array(values, _ARROW[avro.kind])
    except (OverflowError, pa.ArrowException):
        raise DamagedError(f"has a number that is not of type {avro.kind}") from None
    return plain.view(_LOGICAL[avro.logical]) if avro.logical else plain


def _nested_column(values: Sequence[Any], avro: AvroType) -> pa.Array:
    if avro.kind == "record":
        parts = [
            column_of([None if row is None else row[f"f{at}"] for row in values], part)
            for at, part in enumerate(avro.parts)
        ]
        fields = [pa.field(name, part.type) for name, part in zip(avro.names, parts, strict=True)]
        return pa.StructArray.from_arrays(parts, fields=fields, mask=_mask(values))
    offsets, items = _flatten(values)
    if avro.kind == "array":
        column = column_of(items, avro.parts[0])
        return pa.ListArray.from_arrays(offsets, column, mask=_mask(values))
    keys = _texts([entry["f0"] for entry in items])
    column = column_of([entry["f1"] for entry in items], avro.parts[0])
    return map_array(offsets, keys, column, _mask(values))


def _mask(values: Sequence[Any]) -> pa.BooleanArray | None:
    return pa.array([value is None for value in values], pa.bool_()) if None in values else None


def _flatten(values: Sequence[Any]) -> tuple[pa.Int32Array, list[Any]]:
    lengths = [0 if value is None else len(value) for value in values]
    offsets = pa.array(np.append(0, np.cumsum(lengths, dtype=np.int64)), pa.int32())
    return offsets, [item for value in values if value is not None for item in value]


def _texts(values: Sequence[bytes | None]) -> pa.StringArray:
    """Return bytes as texts, without checking that they are valid UTF-8."""
    column = pa.array(values, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(column), column.buffers())


def _enums(values: Sequence[int | None], avro: AvroType) -> pa.DictionaryArray:
    count = len(avro.names)
    if any(value is not None and not 0 <= value < count for value in values):
        raise DamagedError("has a value that is not of its enum")
    return pa.DictionaryArray.from_arrays(
        pa.array(values, pa.int32()), pa.array(avro.names, pa.string())
    )


def _decimals(values: Sequence[bytes | None], avro: AvroType) -> pa.Array:
    limit = 10**avro.precision
    data = bytearray()
    for value in values:
        number = 0 if value is None else int.from_bytes(value, "big", signed=True)
        if not -limit < number < limit:
            raise DamagedError(f"has a number with more than {avro.precision} digits")
        data += number.to_bytes(_DECIMAL_BYTES, "little", signed=True)
    valid = pa.array([value is not None for value in values], pa.bool_()).buffers()[1]
    kind = pa.decimal128(avro.precision, avro.scale)
    return pa.Array.from_buffers(kind, len(values), [valid, pa.py_buffer(bytes(data))])
