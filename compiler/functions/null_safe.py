"""What replaces NULL in keys that must not be NULL; another key distinguishes such rows from the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.expression import Literal
from fsql.compiler.sqltypes import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler.expression import Value
    from fsql.compiler.sqltypes import SqlType

_SOME_VALUE: Final[Mapping[Kind, Value]] = {
    Kind.BOOLEAN: False,
    Kind.TINYINT: 0,
    Kind.SMALLINT: 0,
    Kind.INT: 0,
    Kind.BIGINT: 0,
    Kind.UTINYINT: 0,
    Kind.USMALLINT: 0,
    Kind.UINT: 0,
    Kind.UBIGINT: 0,
    Kind.DECIMAL: 0,
    Kind.FLOAT: 0.0,
    Kind.DOUBLE: 0.0,
    Kind.STRING: "",
    Kind.BYTES: "",
    Kind.DATE: 0,
    Kind.TIME: 0,
    Kind.TIMESTAMP: 0,
    Kind.INTERVAL: 0,
    Kind.MONTHS: 0,
    Kind.ARRAY: (),
    Kind.MAP: (),
}
"""A value of each kind."""


def instead_of_null(kind: SqlType) -> Literal:
    """Return a literal of the type that is not NULL."""
    value = (None,) * len(kind.fields) or _SOME_VALUE[kind.kind]
    return Literal(kind, nullable=False, value=value)
