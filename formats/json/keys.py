"""Keys of maps in JSON: the texts of values in JSON output, without quotes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from fsql.compiler.functions.casts import cast_value
from fsql.compiler.functions.map_entries import key_identity
from fsql.compiler.functions.octets import parse_base64
from fsql.compiler.sqltypes import BIGINT, STRING, Kind
from fsql.runtime.arrow_types import base64_texts, from_arrow
from fsql.runtime.dictionaries import decode_dictionary

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fsql.compiler.expression import Value
    from fsql.compiler.sqltypes import SqlType

_READ_AS: Final = {Kind.INTERVAL: BIGINT, Kind.MONTHS: BIGINT}
"""Kinds to which texts cannot be cast: they are written as numbers."""


def key_texts(keys: pa.Array, sql_type: SqlType) -> pa.StringArray:
    """Return the texts of keys, none of which is NULL."""
    keys = decode_dictionary(keys)
    if sql_type.kind is Kind.STRING:
        return keys
    if sql_type.kind is Kind.BYTES:
        return base64_texts(keys)
    values = from_arrow(keys, sql_type)
    return pa.array([cast_value(each, sql_type, STRING) for each in values], pa.string())


def read_key(text: str, sql_type: SqlType) -> Value:
    """Return the key in a text.

    Raises:
        RowFailure: if it is not a value of the type.
    """
    if sql_type.kind is Kind.STRING:
        return text
    if sql_type.kind is Kind.BYTES:
        return parse_base64(text)
    key = cast_value(text, STRING, _READ_AS.get(sql_type.kind, sql_type))
    return key + 0.0 if isinstance(key, float) else key


def distinct(keys: Iterable[Value]) -> bool:
    """Return whether all keys are distinct."""
    known = [key_identity(key) for key in keys]
    return len(set(known)) == len(known)
