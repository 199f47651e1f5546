"""The types of PostgreSQL for those of SQL, and which of them take which values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.sqltypes import INTEGER_RANGES, STRUCTURED, Kind, SqlType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler.schema import Column

_NAMES: Final[Mapping[Kind, str]] = {
    Kind.BOOLEAN: "boolean",
    Kind.TINYINT: "smallint",
    Kind.SMALLINT: "smallint",
    Kind.INT: "integer",
    Kind.BIGINT: "bigint",
    Kind.UTINYINT: "smallint",
    Kind.USMALLINT: "integer",
    Kind.UINT: "bigint",
    Kind.UBIGINT: "numeric(20, 0)",
    Kind.FLOAT: "real",
    Kind.DOUBLE: "double precision",
    Kind.STRING: "text",
    Kind.BYTES: "bytea",
    Kind.DATE: "date",
    Kind.TIME: "time",
    Kind.TIMESTAMP: "timestamp",
    Kind.INTERVAL: "interval",
    Kind.MONTHS: "interval",
    Kind.NULL: "text",
}
JSON_TYPES: Final = frozenset({"json", "jsonb"})
TEXTS: Final = frozenset({"text", "varchar", "bpchar", "citext", "name"})
_NUMBERS: Final = frozenset({"int2", "int4", "int8", "numeric", "float4", "float8"})
_TIMES: Final[Mapping[Kind, frozenset[str]]] = {
    Kind.DATE: frozenset({"date", "timestamp", "timestamptz"}),
    Kind.TIME: frozenset({"time", "timetz", "interval"}),
    Kind.TIMESTAMP: frozenset({"timestamp", "timestamptz", "date"}),
    Kind.INTERVAL: frozenset({"interval"}),
    Kind.MONTHS: frozenset({"interval"}),
}


def declared_type(column: Column) -> str:
    """Return the type of a column that is created for a column of a table."""
    if column.document and column.type.kind is Kind.STRING:
        return "jsonb"
    return type_name(column.type)


def type_name(type_: SqlType) -> str:
    """Return the type of PostgreSQL that has all values of a type."""
    if type_.kind is Kind.DECIMAL:
        return f"numeric({type_.precision}, {type_.scale})"
    if type_.kind is Kind.ARRAY and type_.element is not None and not _has_parts(type_.element):
        return f"{type_name(type_.element)}[]"
    if type_.kind in STRUCTURED:
        return "jsonb"
    digits = "" if type_.fraction is None else f"({type_.fraction})"
    if type_.zone:
        return f"timestamptz{digits}"
    return f"{_NAMES[type_.kind]}{digits}"


def _has_parts(type_: SqlType) -> bool:
    return type_.kind in STRUCTURED


def takes(server_type: str, type_: SqlType) -> bool:  # noqa: PLR0911 - a case for each kind
    """Return whether a column of the database takes values of a type; `server_type` is a `typname`.

    A text goes into a column of any type that reads it, such as `uuid` and an `enum`.
    """
    kind = type_.kind
    if kind is Kind.STRING or kind is Kind.NULL:
        return server_type != "bytea"
    if kind is Kind.BYTES:
        return server_type == "bytea"
    if kind in STRUCTURED:
        of_array = server_type.startswith("_") and kind is Kind.ARRAY and type_.element is not None
        if of_array and not takes(server_type[1:], _element(type_)):
            return False
        return of_array or server_type in JSON_TYPES | TEXTS
    if server_type in TEXTS:
        return True
    if kind is Kind.BOOLEAN:
        return server_type == "bool"
    if kind in _TIMES:
        return server_type in _TIMES[kind]
    return server_type in _NUMBERS and (
        kind in INTEGER_RANGES or server_type not in {"int2", "int4", "int8"}
    )


def _element(type_: SqlType) -> SqlType:
    assert type_.element is not None
    return type_.element
