"""The types of columns that are not declared: the narrowest type that has all values of a sample.

A later value that does not fit is a malformed row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.dates import parse_date
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.functions.timestamps import parse_timestamp
from fsql.compiler.sqltypes import (
    BIGINT,
    BIGINT_MAX,
    BIGINT_MIN,
    DATE,
    DECIMAL_DIGITS_MAX,
    DOUBLE,
    NULL,
    STRING,
    TIMESTAMP,
    Kind,
    SqlType,
    array_of,
    decimal_type,
    map_of,
    row_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_LARGE_INTEGER: Final = decimal_type(DECIMAL_DIGITS_MAX, 0)
_NUMBERS: Final = (BIGINT, _LARGE_INTEGER, DOUBLE)
"""The types of numbers; each has the values of the types before it, DOUBLE approximately."""
NO_FIELDS: Final = map_of(STRING, NULL)
"""The type of an object without fields, because a ROW needs at least one."""


class NotInferredError(Exception):
    """Columns cannot be inferred; the text says why."""


def type_of_number(text: str) -> SqlType:
    """Return the type of a number given as text: for an integer, an integer type or, if too long, DOUBLE."""
    if not text.lstrip("-").isdigit() or len(text.lstrip("-")) > DECIMAL_DIGITS_MAX:
        return DOUBLE
    return BIGINT if BIGINT_MIN <= int(text) <= BIGINT_MAX else _LARGE_INTEGER


def type_of_text(text: str) -> SqlType:
    """Return TIMESTAMP or DATE for a text that is a valid one, else STRING."""
    for parse, sql_type in ((parse_date, DATE), (parse_timestamp, TIMESTAMP)):
        try:
            parse(text)
        except RowFailure:
            continue
        return sql_type
    return STRING


def common_type(one: SqlType, other: SqlType) -> SqlType | None:
    """Return the narrowest type that has the values of both types; None if there is none."""
    if other in (one, NULL):
        return one
    if one == NULL:
        return other
    if one in _NUMBERS and other in _NUMBERS:
        return max(one, other, key=_NUMBERS.index)
    if {one.kind, other.kind} <= {Kind.STRING, Kind.DATE, Kind.TIMESTAMP}:
        return STRING
    if one.kind is Kind.ARRAY and other.kind is Kind.ARRAY:
        assert one.element is not None
        assert other.element is not None
        element = common_type(one.element, other.element)
        return None if element is None else array_of(element)
    objects = {one.kind, other.kind} <= {Kind.ROW, Kind.MAP}
    return _common_row(_fields(one), _fields(other)) if objects else None


def _fields(sql_type: SqlType) -> dict[str, SqlType]:
    return {} if sql_type == NO_FIELDS else dict(sql_type.fields)


def _common_row(one: Mapping[str, SqlType], other: Mapping[str, SqlType]) -> SqlType | None:
    fields: dict[str, SqlType] = {}
    for name in (*one, *(name for name in other if name not in one)):
        found = common_type(one.get(name, NULL), other.get(name, NULL))
        if found is None:
            return None
        fields[name] = found
    return object_type(fields)


def object_type(fields: Mapping[str, SqlType]) -> SqlType:
    """Return the type of objects with these fields."""
    return row_of(fields.items()) if fields else NO_FIELDS


def declared_type(sql_type: SqlType) -> SqlType:
    """Return the type of a column; if all values were NULL, it is STRING."""
    if sql_type == NULL:
        return STRING
    if sql_type.kind is Kind.MAP:
        return map_of(sql_type.key, declared_type(sql_type.value))
    if sql_type.element is not None:
        return array_of(declared_type(sql_type.element))
    if sql_type.fields:
        return row_of([(name, declared_type(each)) for name, each in sql_type.fields])
    return sql_type
