"""Keys as Python values, for looking up slots: the values are equal if and only if the keys are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from fsql.runtime.arrow_types import values_of
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.nested_types import is_nested, parts
from fsql.runtime.order import doubles_of_sortable, key_values, sortable_doubles

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

_PIECE: Final = 4096
"""The approximate number of keys that are converted to columns in a millisecond; no other thread runs
meanwhile."""


def keys_of_rows(keys: Sequence[pa.Array]) -> list[object]:
    """Return the key of each row: a value, or a tuple of values if there are several key columns."""
    columns = [values_of_rows(key) for key in keys]
    return columns[0] if len(keys) == 1 else [*zip(*columns, strict=True)]


def values_of_rows(array: pa.Array) -> list[object]:
    """Return the key value of each row."""
    if isinstance(array, pa.StringArray):
        return values_of(array)
    if compared_in_python(array):
        values = key_values(array)
        plain = _plain_type(values.type)
        values = values if plain == values.type else values.cast(plain)
        return [_comparable(value) for value in values.to_pylist()]
    found: list[object] = decode_dictionary(comparable_column(array)).to_pylist()
    return found


def compared_in_python(array: pa.Array) -> bool:
    """Return whether the values cannot be represented as Arrow numbers or strings for comparison."""
    return is_nested(array.type) or pa.types.is_null(array.type)


def comparable_column(array: pa.Array) -> pa.Array:
    """Return a column of strings, integers or booleans that are equal if and only if the keys are."""
    if pa.types.is_timestamp(array.type) or pa.types.is_duration(array.type):
        return array.view(pa.int64())
    if pa.types.is_floating(array.type):
        values = array.fill_null(0.0).to_numpy(zero_copy_only=False)
        return pa.array(sortable_doubles(values), mask=_nulls(array))
    return array


def _comparable(value: object) -> object:
    """Return a list or a struct as a tuple in which every NaN is one object, so that it equals itself."""
    if isinstance(value, list):
        return tuple(_comparable(element) for element in value)
    if isinstance(value, dict):
        return tuple(_comparable(field) for field in value.values())
    return math.nan if isinstance(value, float) and math.isnan(value) else value


def _nulls(array: pa.Array) -> NDArray[np.bool_] | None:
    return array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None


def key_columns(keys: Sequence[object], types: Sequence[pa.DataType]) -> list[pa.Array]:
    """Return key columns; the inverse of `keys_of_rows`."""
    pieces = [
        _few_key_columns(keys[start : start + _PIECE], types)
        for start in range(0, max(len(keys), 1), _PIECE)
    ]
    return [pa.concat_arrays(column) for column in zip(*pieces, strict=True)]


def _few_key_columns(keys: Sequence[Any], types: Sequence[pa.DataType]) -> list[pa.Array]:
    if len(types) == 1:
        return [_key_column(keys, types[0])]
    columns = zip(*keys, strict=True) if keys else ([] for _ in types)
    return [_key_column(column, kind) for column, kind in zip(columns, types, strict=False)]


def _key_column(values: Sequence[object], kind: pa.DataType) -> pa.Array:
    """Return a key column; the inverse of `values_of_rows`."""
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return pa.array(values, pa.int64()).view(kind)
    if pa.types.is_floating(kind):
        keys = pa.array(values, pa.int64())
        doubles = doubles_of_sortable(keys.fill_null(0).to_numpy(zero_copy_only=False))
        return pa.array(doubles, mask=_nulls(keys))
    plain = _plain_type(kind)
    return pa.array(values, kind) if plain == kind else pa.array(values, plain).cast(kind)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type with integers for times: the types of Python do not represent all values.

    Types with a part of type NULL are not changed: pyarrow casts them wrongly.
    """
    return kind if _has_null_type(kind) else _with_integers(kind)


def _has_null_type(kind: pa.DataType) -> bool:
    return bool(pa.types.is_null(kind)) or any(map(_has_null_type, parts(kind)))


def _with_integers(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return pa.int64()
    if pa.types.is_list(kind):
        field = kind.value_field
        return pa.list_(field.with_type(_with_integers(field.type)))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_with_integers(field.type)) for field in kind])
    return kind
