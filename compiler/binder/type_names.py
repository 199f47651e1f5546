"""Type names to types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.binder.report import not_implemented, refusal
from fsql.compiler.diagnostics.near_names import near_name
from fsql.compiler.sqltypes import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    INTERVAL,
    STRING,
    TIMESTAMP,
    SqlType,
    array_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler.syntax import TypeName

_PLAIN: Final[Mapping[str, SqlType]] = {
    "BOOLEAN": BOOLEAN,
    "BOOL": BOOLEAN,
    "INT": INT,
    "INTEGER": INT,
    "BIGINT": BIGINT,
    "DOUBLE": DOUBLE,
    "DOUBLE PRECISION": DOUBLE,
    "STRING": STRING,
    "TEXT": STRING,
    "VARCHAR": STRING,
    "TIMESTAMP": TIMESTAMP,
    "TIMESTAMP WITHOUT TIME ZONE": TIMESTAMP,
    "INTERVAL": INTERVAL,
}

_LATER: Final[Mapping[str, str | None]] = {
    "DECIMAL": "DOUBLE, or BIGINT of the smallest unit",
    "DEC": "DOUBLE, or BIGINT of the smallest unit",
    "NUMERIC": "DOUBLE, or BIGINT of the smallest unit",
    "FLOAT": "DOUBLE",
    "REAL": "DOUBLE",
    "TINYINT": "INT",
    "SMALLINT": "INT",
    "CHAR": "STRING",
    "CHARACTER": "STRING",
    "BYTES": "STRING",
    "BINARY": "STRING",
    "VARBINARY": "STRING",
    "DATE": "TIMESTAMP",
    "TIME": None,
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMP, which is in UTC",
    "TIMESTAMP WITH LOCAL TIME ZONE": "TIMESTAMP, which is in UTC",
    "TIMESTAMP_LTZ": "TIMESTAMP, which is in UTC",
    "TIMESTAMPTZ": "TIMESTAMP, which is in UTC",
    "ROW": None,
    "MAP": None,
    "MULTISET": None,
    "JSON": "STRING",
}
"""Types that are not implemented, with an alternative."""

_TIMESTAMP_DIGITS_MAX: Final = 6


def bind_type(name: TypeName) -> SqlType:
    """Return the type that `name` names.

    Raises:
        Refusal: E216 for a name that is no type, E301 for a type that is not implemented.
    """
    if name.name == "ARRAY" and len(name.arguments) == 1:
        return array_of(bind_type(name.arguments[0]))
    if name.name in _LATER:
        instead = _LATER[name.name]
        raise not_implemented(f"the type {name.name}", name.span, help=instead and f"use {instead}")
    known = _PLAIN.get(name.name)
    if known is None:
        near = near_name(name.name, _PLAIN)
        raise refusal(
            "E216",
            f'type "{name.name}" does not exist',
            name.span,
            help=f"a type with a similar name exists: {near}" if near else None,
        )
    if name.numbers and not _digits_fit(name):
        raise _wrong_numbers(name)
    return known


def _digits_fit(name: TypeName) -> bool:
    """Return whether the numbers after the type's name do not restrict its values."""
    return (
        name.name.startswith("TIMESTAMP")
        and len(name.numbers) == 1
        and name.numbers[0] <= _TIMESTAMP_DIGITS_MAX
    )


def _wrong_numbers(name: TypeName) -> Exception:
    if name.name == "VARCHAR":
        return not_implemented("the length of VARCHAR", name.span, help="use STRING")
    if name.name.startswith("TIMESTAMP"):
        return refusal(
            "E216",
            f"TIMESTAMP does not have {name.numbers[0]} digits of fraction",
            name.span,
            note="timestamps have microseconds: 6 digits",
        )
    return refusal("E216", f'type "{name.name}" takes no numbers', name.span)
