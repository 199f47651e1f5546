"""The SQL types of Arrow columns that other programs have made."""

from __future__ import annotations

import pyarrow as pa

from fsql.compiler.sqltypes import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DECIMAL_DIGITS_MAX,
    DOUBLE,
    FLOAT,
    INT,
    NULL,
    SMALLINT,
    STRING,
    STRUCTURED,
    TIME,
    TIMESTAMP,
    TINYINT,
    UBIGINT,
    UINT,
    USMALLINT,
    UTINYINT,
    SqlType,
    array_of,
    decimal_type,
    map_of,
    row_of,
)


def sql_type_of(kind: pa.DataType) -> SqlType | None:
    """Return the SQL type that has the values of an Arrow type; None if there is none."""
    if pa.types.is_dictionary(kind):
        return sql_type_of(kind.value_type)
    if pa.types.is_map(kind):
        key, value = sql_type_of(kind.key_type), sql_type_of(kind.item_type)
        return map_of(key, value) if key and value and key.kind not in STRUCTURED else None
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        element = sql_type_of(kind.value_type)
        return None if element is None else array_of(element)
    if pa.types.is_struct(kind) and kind.num_fields:
        fields = [(field.name, sql_type_of(field.type)) for field in kind]
        known = [(name, each) for name, each in fields if each is not None]
        return row_of(known) if len(known) == len(fields) else None
    matches: tuple[tuple[bool, SqlType], ...] = (
        (pa.types.is_boolean(kind), BOOLEAN),
        (kind == pa.int8(), TINYINT),
        (kind == pa.int16(), SMALLINT),
        (kind == pa.int32(), INT),
        (kind == pa.int64(), BIGINT),
        (kind == pa.uint8(), UTINYINT),
        (kind == pa.uint16(), USMALLINT),
        (kind == pa.uint32(), UINT),
        (kind == pa.uint64(), UBIGINT),
        (pa.types.is_floating(kind), DOUBLE if kind == pa.float64() else FLOAT),
        (_is_decimal(kind), _decimal(kind)),
        (pa.types.is_string(kind) or pa.types.is_large_string(kind), STRING),
        (kind == pa.string_view(), STRING),
        (is_binary(kind), BYTES),
        (pa.types.is_null(kind), STRING),  # a column without a value has any type
        (pa.types.is_date(kind), DATE),
        (pa.types.is_time(kind), TIME),
        (pa.types.is_timestamp(kind), TIMESTAMP),
    )
    return next((sql_type for fits, sql_type in matches if fits), None)


def is_binary(kind: pa.DataType) -> bool:
    """Return whether a type is a binary type."""
    any_length = pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
    return any_length or pa.types.is_fixed_size_binary(kind) or kind == pa.binary_view()


def _is_decimal(kind: pa.DataType) -> bool:
    return pa.types.is_decimal(kind) and 0 <= kind.scale <= kind.precision <= DECIMAL_DIGITS_MAX


def _decimal(kind: pa.DataType) -> SqlType:
    return decimal_type(kind.precision, kind.scale) if _is_decimal(kind) else NULL
