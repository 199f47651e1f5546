"""Key codes: small integers for the values of keys within one batch.

Codes are equal if and only if keys are equal, by the equality of grouping: NULL equals NULL, and a
DOUBLE key has -0.0 replaced by 0.0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from fsql.compiler.sqltypes import FLOATING, Kind, SqlType
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.kernels.expressions.vectors import Vector, fixed_values, indices, to_array
from fsql.runtime.order import canonical_rank, key_values, sortable_doubles

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fsql.runtime.arrays import Ints

    Integers = NDArray[np.signedinteger[Any]]

_SMALL: Final = 1 << 16
_INT32: Final = np.dtype(np.int32)


class KeyCodes(NamedTuple):
    """The code of each row, in `[0, card)`; not all codes need to occur."""

    codes: Integers
    card: int


def key_codes(key: Vector, sql_type: SqlType, *, distinct: bool) -> KeyCodes:
    """Return codes for a key column.

    With `distinct`, the key has a dictionary without repeated values, so that its indices are codes.
    """
    values = key.values
    if isinstance(values, np.ndarray):
        found = _codes_of_fixed(values, sql_type)
    elif isinstance(values, pa.DictionaryArray):
        found = _codes_of_dictionary(key, distinct=distinct)
    elif isinstance(values, pa.StringArray):
        found = _codes_of_encoded(values.dictionary_encode())
    else:
        found = _compact(canonical_rank(values))
    if key.valid is None:
        return found
    return KeyCodes(np.where(key.valid, found.codes, found.card), found.card + 1)


def _codes_of_fixed(values: NDArray[Any], sql_type: SqlType) -> KeyCodes:
    if sql_type.kind in FLOATING:
        values = sortable_doubles(values)
    elif sql_type.kind is Kind.BOOLEAN:
        values = values.view(np.int8)
    elif values.dtype == object:
        _, values = np.unique(values, return_inverse=True)
    return _compact(values)


def _compact(values: Integers) -> KeyCodes:
    """Return the values minus the least one if these are small codes; otherwise hash them."""
    if len(values) == 0:
        return KeyCodes(values, 1)
    least, greatest = int(values.min()), int(values.max())
    if greatest - least < _SMALL:
        return KeyCodes((values - values.dtype.type(least)).astype(np.int64), greatest - least + 1)
    return _codes_of_encoded(pa.array(values).dictionary_encode())


def _codes_of_encoded(encoded: pa.DictionaryArray) -> KeyCodes:
    codes = fixed_values(encoded.indices, _INT32)
    if encoded.null_count:
        codes = np.where(np.asarray(encoded.is_valid()), codes, np.int32(0))
    return KeyCodes(codes, max(len(encoded.dictionary), 1))


def _codes_of_dictionary(key: Vector, *, distinct: bool) -> KeyCodes:
    rows = indices(key.values, key.valid)
    words = key.values.dictionary
    if distinct:
        return KeyCodes(rows, len(words))
    codes_of_words = _codes_of_encoded(words.dictionary_encode())
    return KeyCodes(codes_of_words.codes[rows], codes_of_words.card)


def combined_codes(keys: Sequence[KeyCodes]) -> KeyCodes:
    """Return codes for tuples of keys."""
    combined, *others = keys
    for other in others:
        card = combined.card * other.card
        codes = combined.codes.astype(np.int64) * other.card + other.codes
        combined = KeyCodes(codes, card) if card <= _SMALL else _compact(codes)
    return combined


def keys_at(key: Vector, sql_type: SqlType, rows: Ints) -> pa.Array:
    """Return the key column at `rows`, in canonical form."""
    values, valid, _ = key
    if isinstance(values, np.ndarray):
        found = values[rows] if len(values) > 1 else values
        present = None if valid is None else valid[rows] if len(valid) > 1 else valid
        return key_values(to_array(Vector(found, present), sql_type, len(rows)))
    if len(values) == 1:
        return key_values(decode_dictionary(to_array(key, sql_type, len(rows))))
    if isinstance(values, pa.DictionaryArray) and valid is None:
        taken = pa.array(indices(values, None)[rows])
        return pa.DictionaryArray.from_arrays(taken, values.dictionary, safe=False)
    return key_values(values.take(pa.array(rows)))
