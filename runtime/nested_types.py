"""Arrow types whose values have parts: arrays and rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator


def is_nested(kind: pa.DataType) -> bool:
    """Return whether the values are arrays or rows, with or without a dictionary."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_list(kind) or pa.types.is_struct(kind))


def has_doubles(kind: pa.DataType) -> bool:
    """Return whether the type is DOUBLE, or contains DOUBLE at any depth."""
    return bool(pa.types.is_floating(kind)) or any(map(has_doubles, parts(kind)))


def parts(kind: pa.DataType) -> Iterator[pa.DataType]:
    """Return the types of the elements or fields; none for other types."""
    if pa.types.is_dictionary(kind) or pa.types.is_list(kind):
        yield kind.value_type
    elif pa.types.is_struct(kind):
        yield from (field.type for field in kind)
