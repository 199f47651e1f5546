"""Converts Arrow columns to Avro values, and their types to a schema."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from fsql.formats.avro.schema import AvroType

if TYPE_CHECKING:
    from collections.abc import Sequence

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_INTS: Final = (pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16())
_OF_UINT64: Final = pa.decimal128(20, 0)
_PRIMITIVE: Final = (
    (pa.types.is_boolean, AvroType("boolean", 1)),
    (lambda kind: kind in _INTS, AvroType("int", 1)),
    (lambda kind: kind in {pa.uint32(), pa.int64()}, AvroType("long", 1)),
    (lambda kind: kind == pa.float32(), AvroType("float", 4)),
    (lambda kind: kind == pa.float64(), AvroType("double", 8)),
    (pa.types.is_string, AvroType("string", 1)),
    (pa.types.is_binary, AvroType("bytes", 1)),
    (pa.types.is_date, AvroType("int", 1, "date")),
    (pa.types.is_time, AvroType("long", 1, "time-micros")),
    (pa.types.is_timestamp, AvroType("long", 1, "timestamp-micros")),
)


def type_of_arrow(kind: pa.DataType) -> AvroType:
    """Return the Avro type for columns of an Arrow type, without `null`."""
    if kind == pa.uint64():
        return type_of_arrow(_OF_UINT64)
    if pa.types.is_decimal(kind):
        return AvroType("bytes", 1, "decimal", precision=kind.precision, scale=kind.scale)
    if pa.types.is_map(kind):
        return AvroType("map", 1, parts=(nullable(kind.item_type),))
    if pa.types.is_list(kind):
        return AvroType("array", 1, parts=(nullable(kind.value_type),))
    if pa.types.is_struct(kind):
        parts = tuple(nullable(each.type) for each in kind)
        return AvroType("record", len(parts), parts=parts, names=tuple(each.name for each in kind))
    return next(avro for fits, avro in _PRIMITIVE if fits(kind))


def nullable(kind: pa.DataType) -> AvroType:
    """Return the union of `null` and the Avro type for an Arrow type."""
    return AvroType("union", 1, parts=(AvroType("null", 0), type_of_arrow(kind)))


def schema_of(row: AvroType, name: str) -> dict[str, Any]:
    """Return the schema of a file, as JSON; nested types are named by the path of their column."""
    own = name if _NAME.fullmatch(name) else "row"
    found: dict[str, Any] = _schema_json(row, own, {own})
    return found


def _schema_json(avro: AvroType, name: str, taken: set[str]) -> Any:  # noqa: ANN401 - JSON
    if avro.kind == "union":
        return [_schema_json(part, name, taken) for part in avro.parts]
    if avro.kind == "array":
        return {"type": "array", "items": _schema_json(avro.parts[0], name, taken)}
    if avro.kind == "map":
        return {"type": "map", "values": _schema_json(avro.parts[0], name, taken)}
    if avro.kind == "record":
        fields = []
        for field, part in zip(avro.names, avro.parts, strict=True):
            inside = _schema_json(part, _free(f"{name}_{field}", taken), taken)
            fields.append({"name": field, "type": inside, "default": None})
        return {"type": "record", "name": name, "fields": fields}
    if avro.logical == "decimal":
        digits = {"precision": avro.precision, "scale": avro.scale}
        return {"type": avro.kind, "logicalType": avro.logical, **digits}
    return {"type": avro.kind, "logicalType": avro.logical} if avro.logical else avro.kind


def _free(name: str, taken: set[str]) -> str:
    """Return a name that is not in `taken`, and add it."""
    free, number = name, 1
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    taken.add(free)
    return free


def values_of(array: pa.Array) -> list[Any]:  # noqa: PLR0911 - one for each kind
    """Return the values of a column in the form for encoding: see `fsql.formats.avro.values`."""
    kind = array.type
    if pa.types.is_struct(kind):
        fields = [values_of(array.field(at)) for at in range(kind.num_fields)]
        rows = zip(*fields, strict=True)
        valid = array.is_valid().to_pylist()
        return [_record(row) if there else None for row, there in zip(rows, valid, strict=True)]
    if pa.types.is_map(kind):
        keys, items = _inside(array, array.keys), _inside(array, array.items)
        return _lists(array, [*map(_record, zip(keys, items, strict=True))])
    if pa.types.is_list(kind):
        return _lists(array, _inside(array, array.values))
    if pa.types.is_string(kind):
        return array.cast(pa.binary()).to_pylist()
    if kind == pa.uint64():
        return values_of(array.cast(_OF_UINT64))
    if pa.types.is_decimal(kind):
        return [None if each is None else _unscaled(each, kind.scale) for each in array.to_pylist()]
    if pa.types.is_date(kind):
        return array.view(pa.int32()).to_pylist()
    if pa.types.is_time(kind) or pa.types.is_timestamp(kind):
        return array.view(pa.int64()).to_pylist()
    return array.to_pylist()


def _record(values: Sequence[Any]) -> dict[str, Any]:
    return {f"f{at}": value for at, value in enumerate(values)}


def _inside(array: pa.Array, items: pa.Array) -> list[Any]:
    """Return the values of the items of lists; the array may be a slice."""
    first, last = array.offsets[0].as_py(), array.offsets[-1].as_py()
    return values_of(items.slice(first, last - first))


def _lists(array: pa.Array, items: list[Any]) -> list[Any]:
    first = array.offsets[0].as_py()
    bounds = [bound - first for bound in array.offsets.to_pylist()]
    valid = array.is_valid().to_pylist()
    spans = zip(bounds[:-1], bounds[1:], valid, strict=True)
    return [items[start:end] if there else None for start, end, there in spans]


def _unscaled(value: Any, scale: int) -> bytes:  # noqa: ANN401 - a Decimal
    """Return the unscaled value of a decimal as a signed integer, in as few bytes as possible."""
    sign, digits, exponent = value.as_tuple()
    number = int("".join(map(str, digits))) * 10 ** (scale + exponent)
    number = -number if sign else number
    return number.to_bytes((number + (number < 0)).bit_length() // 8 + 1, "big", signed=True)
