"""Parses schemas of Avro files from JSON: resolves named types, and checks limits."""

from __future__ import annotations

import json
from dataclasses import field
from typing import Any, Final

from fsql.compiler.records import dataclass

DEPTH_MAX: Final = 64
TYPES_MAX: Final = 10_000
"""The maximum number of types in a schema, in which a named type counts wherever it is used."""
_PRIMITIVE_BYTES: Final = {
    "null": 0,
    "boolean": 1,
    "int": 1,
    "long": 1,
    "float": 4,
    "double": 8,
    "bytes": 1,
    "string": 1,
}
"""The minimum number of bytes of a value, by primitive type."""
_LOGICAL: Final = {
    "int": ("date", "time-millis"),
    "long": (
        "time-micros",
        *(
            f"{local}timestamp-{unit}"
            for local in ("", "local-")
            for unit in ("millis", "micros", "nanos")
        ),
    ),
    "string": ("uuid",),
    "bytes": ("decimal",),
    "fixed": ("decimal", "uuid"),
}
"""The supported logical types, by underlying type; others are ignored, as Avro requires."""
_DECIMAL_DIGITS_MAX: Final = 10_000


class SchemaError(Exception):
    """A schema cannot be used; the text continues a sentence about its file."""


@dataclass(frozen=True, slots=True)
class AvroType:
    """A type: `parts` are the fields of a record, the items of an array, the branches of a union.

    `names` are those of the fields, or the symbols of an enum.  A value takes at least `bytes_min` bytes.
    """

    kind: str
    bytes_min: int
    logical: str = ""
    parts: tuple[AvroType, ...] = ()
    names: tuple[str, ...] = ()
    size: int = 0
    precision: int = 0
    scale: int = 0
    count: int = field(init=False, default=0)
    """The number of types in it, including itself."""

    def __post_init__(self) -> None:
        """Count the types.

        Raises:
            SchemaError: if there are too many.
        """
        count = 1 + sum(part.count for part in self.parts)
        if count > TYPES_MAX:
            raise SchemaError(f"its schema has more than {TYPES_MAX:,} types")
        object.__setattr__(self, "count", count)

    @property
    def value(self) -> AvroType:
        """Return the type of the values that are not NULL: of a union of `null` and one type, that type."""
        if self.kind != "union":
            return self
        others = [part for part in self.parts if part.kind != "null"]
        return others[0] if len(others) == 1 else self


def read_schema(text: bytes) -> AvroType:
    """Return the type of the rows of a file, a record.

    Raises:
        SchemaError: if the text is not a schema of a record, or exceeds a limit.
    """
    try:
        found = json.loads(text)
    except RecursionError:
        raise _depth_error() from None
    except ValueError:
        raise SchemaError("its schema is not JSON") from None
    row = _Names().read(found, "", 1)
    if row.kind != "record":
        raise SchemaError(f"its schema is that of a value of type {row.kind}, not of a record")
    if row.bytes_min == 0:
        raise SchemaError("its rows have no bytes: the schema has no field, or none with values")
    return row


class _Names:
    """The named types of one schema that have been read; None for those that are being read."""

    def __init__(self) -> None:
        self._known: dict[str, AvroType | None] = {}

    def read(self, found: object, namespace: str, depth: int) -> AvroType:
        """Return the type that a part of a schema describes."""
        if depth > DEPTH_MAX:
            raise _depth_error()
        if isinstance(found, str):
            return self._read_named(found, namespace)
        if isinstance(found, list):
            parts = [self.read(each, namespace, depth + 1) for each in found]
            if not parts:
                raise SchemaError("its schema has a union without types")
            return AvroType("union", 1 + min(part.bytes_min for part in parts), parts=tuple(parts))
        if not isinstance(found, dict):
            raise SchemaError(f"its schema has {_excerpt(found)} where a type belongs")
        return self._read_described(found, namespace, depth)

    def _read_named(self, name: str, namespace: str) -> AvroType:
        if name in _PRIMITIVE_BYTES:
            return AvroType(name, _PRIMITIVE_BYTES[name])
        full = _full_name(name, namespace)
        if full not in self._known:
            raise SchemaError(f"its schema has no type {_excerpt(full)}")
        known = self._known[full]
        if known is None:
            raise SchemaError(f"its schema contains itself: record {_excerpt(full)}")
        return known

    def _read_described(self, found: dict[str, Any], namespace: str, depth: int) -> AvroType:
        kind = found.get("type")
        if not isinstance(kind, str):
            return self.read(kind, namespace, depth + 1)
        if kind in {"record", "error", "enum", "fixed"}:
            return self._definition(found, kind, namespace, depth)
        if kind in {"array", "map"}:
            item = self.read(
                found.get("items" if kind == "array" else "values"), namespace, depth + 1
            )
            if kind == "array" and item.bytes_min == 0:
                raise SchemaError("its schema has an array of items without bytes")
            return AvroType(kind, 1, parts=(item,))
        base = self._read_named(kind, namespace)
        return _with_logical(base, found) if kind in _PRIMITIVE_BYTES else base

    def _definition(self, found: dict[str, Any], kind: str, namespace: str, depth: int) -> AvroType:
        name = found.get("name")
        if not isinstance(name, str):
            raise SchemaError(f"its schema has a type {kind} without a name")
        full = _full_name(name, _text(found, "namespace", namespace))
        if full in self._known:
            raise SchemaError(f"its schema has type {_excerpt(full)} twice")
        self._known[full] = None
        if kind == "enum":
            type_ = AvroType("enum", 1, names=_symbols(found, full))
        elif kind == "fixed":
            size = found.get("size")
            if not isinstance(size, int) or isinstance(size, bool) or size < 0:
                raise SchemaError(f"its schema has type {_excerpt(full)} without a size")
            type_ = _with_logical(AvroType("fixed", size, size=size), found)
        else:
            type_ = self._record(found, full, depth)
        self._known[full] = type_
        return type_

    def _record(self, found: dict[str, Any], full: str, depth: int) -> AvroType:
        fields = found.get("fields")
        if not isinstance(fields, list) or not all(isinstance(each, dict) for each in fields):
            raise SchemaError(f"its schema has record {_excerpt(full)} without fields")
        namespace = full.rpartition(".")[0]
        names: dict[str, AvroType] = {}
        for each in fields:
            name = each.get("name")
            if not isinstance(name, str) or name in names:
                raise SchemaError(
                    f"its schema has a field of record {_excerpt(full)} twice or without a name"
                )
            names[name] = self.read(each.get("type"), namespace, depth + 1)
        parts = tuple(names.values())
        return AvroType(
            "record", sum(part.bytes_min for part in parts), parts=parts, names=(*names,)
        )


def _with_logical(base: AvroType, found: dict[str, Any]) -> AvroType:
    logical = found.get("logicalType")
    if logical not in _LOGICAL.get(base.kind, ()) or (
        base.kind == "fixed" and logical == "uuid" and base.size != 16
    ):
        return base
    precision, scale = 0, 0
    if logical == "decimal":
        precision, scale = found.get("precision", 0), found.get("scale", 0)
        if not (type(precision) is int and type(scale) is int):
            return base
        if not (0 <= scale <= precision and 0 < precision <= _DECIMAL_DIGITS_MAX):
            return base
    return AvroType(
        base.kind,
        base.bytes_min,
        str(logical),
        size=base.size,
        precision=precision,
        scale=scale,
    )


def _symbols(found: dict[str, Any], full: str) -> tuple[str, ...]:
    symbols = found.get("symbols")
    if not isinstance(symbols, list) or not all(isinstance(each, str) for each in symbols):
        raise SchemaError(f"its schema has enum {_excerpt(full)} without symbols")
    return tuple(symbols)


def _full_name(name: str, namespace: str) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"


def _text(found: dict[str, Any], key: str, default: str) -> str:
    value = found.get(key, default)
    return value if isinstance(value, str) else default


def _depth_error() -> SchemaError:
    return SchemaError(f"its schema is nested deeper than {DEPTH_MAX} levels")


def _excerpt(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
