"""Vectors: the values of an expression between two kernels.

Input and output columns are Arrow arrays.  In between, values of fixed width are NumPy arrays, because a
NumPy operation costs a fifth of an Arrow one on a small batch, and overflow can be computed from the results;
STRING, ARRAY, ROW and NULL remain Arrow arrays.

| kind                          | `Vector.values`                                               |
|-------------------------------|---------------------------------------------------------------|
| BOOLEAN, INT, BIGINT, DOUBLE  | ndarray of bool, int32, int64, float64                        |
| TINYINT, SMALLINT, FLOAT      | like INT and DOUBLE: ndarray of int32, float64                |
| UTINYINT, USMALLINT, UINT     | ndarray of int32, int32, int64                                |
| DATE                          | ndarray of int32, days                                        |
| TIME, TIMESTAMP, INTERVAL     | ndarray of int64, microseconds                                |
| MONTHS                        | ndarray of int64                                              |
| DECIMAL, UBIGINT              | ndarray of int64, or of Python integers (`fsql.runtime.decimals`) |
| STRING, BYTES                 | `StringArray`, or `DictionaryArray` shorter than the column   |
| ARRAY, ROW, NULL              | `ListArray`, `StructArray`, `NullArray`                       |

The values have the length of the batch, or length 1 if they are the same for all rows; NULLs and failures
have the length of the values, or 1.  NumPy broadcasts arrays of length 1; `arrow_argument` makes scalars of
them for Arrow functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from fsql.compiler.functions.failure import (
    DivisionByZeroFailure,
    OutOfRangeFailure,
    TimestampRangeFailure,
    UnreadableTextFailure,
)
from fsql.compiler.sqltypes import DECIMALS, TEXTUAL, Kind, SqlType
from fsql.runtime.arrow_types import arrow_type, to_arrow
from fsql.runtime.decimals import column_of, integers_of, too_long

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from fsql.compiler.expression import Value
    from fsql.runtime.arrays import Bools

    Codes = NDArray[np.int16]
    """The number of the error with which a row failed (501 for FSQL-E501), 0 if it did not fail."""
    Values = Any
    """`NDArray` or `pa.Array`; see the table above."""

DIVISION_BY_ZERO: Final = DivisionByZeroFailure.code
OUT_OF_RANGE: Final = OutOfRangeFailure.code
UNREADABLE_TEXT: Final = UnreadableTextFailure.code
TIMESTAMP_RANGE: Final = TimestampRangeFailure.code

DTYPES: Final = {
    Kind.BOOLEAN: np.dtype(np.bool_),
    Kind.TINYINT: np.dtype(np.int32),
    Kind.SMALLINT: np.dtype(np.int32),
    Kind.INT: np.dtype(np.int32),
    Kind.BIGINT: np.dtype(np.int64),
    Kind.UTINYINT: np.dtype(np.int32),
    Kind.USMALLINT: np.dtype(np.int32),
    Kind.UINT: np.dtype(np.int64),
    Kind.FLOAT: np.dtype(np.float64),
    Kind.DOUBLE: np.dtype(np.float64),
    Kind.DATE: np.dtype(np.int32),
    Kind.TIME: np.dtype(np.int64),
    Kind.TIMESTAMP: np.dtype(np.int64),
    Kind.INTERVAL: np.dtype(np.int64),
    Kind.MONTHS: np.dtype(np.int64),
}
"""The NumPy type of each kind of fixed width."""


class Vector(NamedTuple):
    """The values of an expression; which of them are not NULL, and which rows failed (None: all, none).

    The values of rows that are NULL or failed are arbitrary.  Arrow values contain their NULLs too, and
    `valid` agrees with them.
    """

    values: Values
    valid: Bools | None = None
    failed: Codes | None = None


if TYPE_CHECKING:
    Kernel = Callable[[Sequence[Vector]], Vector]
    """Computes a function: from the vectors of its arguments to the vector of its result."""


def validity(array: pa.Array) -> Bools | None:
    """Return which rows of an Arrow array are not NULL; None if all are."""
    if array.null_count == 0:
        return None
    if isinstance(array, pa.NullArray):
        return np.zeros(len(array), np.bool_)
    return _bits(array.buffers()[0], array.offset, len(array))


def _bits(buffer: pa.Buffer, offset: int, count: int) -> Bools:
    """Return bits `[offset, offset + count)` of a bitmap."""
    first = offset >> 3
    used = np.frombuffer(buffer, np.uint8)[first : offset + count + 7 >> 3]
    skipped = offset - (first << 3)
    return np.unpackbits(used, bitorder="little")[skipped : skipped + count].view(np.bool_)


def fixed_values(array: pa.Array, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return the values buffer of an Arrow array of fixed width, not copied unless it is bits."""
    count, offset = len(array), array.offset
    if count == 0:
        return np.empty(0, dtype)
    buffer = array.buffers()[1]
    if dtype == np.bool_:
        return _bits(buffer, offset, count)
    return np.frombuffer(buffer, dtype)[offset : offset + count]


def offsets(array: pa.ListArray | pa.StringArray) -> NDArray[np.int32]:
    """Return the `len + 1` offsets of an array of lists or strings into its child or bytes."""
    count, start = len(array), array.offset
    if count == 0:
        return np.zeros(1, np.int32)
    return np.frombuffer(array.buffers()[1], np.int32)[start : start + count + 1]


def indices(array: pa.DictionaryArray, valid: Bools | None) -> NDArray[np.int32]:
    """Return the index of each row into the dictionary, 0 for NULL."""
    found = fixed_values(array.indices, np.dtype(np.int32))
    return found if valid is None else np.where(valid, found, np.int32(0))


def from_array(array: pa.Array, sql_type: SqlType) -> Vector:
    """Return a column as a vector.

    Raises:
        pyarrow.ArrowCapacityError: if the column is more than one array. Arrow makes several of a list of
            texts that have more bytes than the offsets of one array can address.
    """
    if isinstance(array, pa.ChunkedArray):
        raise pa.ArrowCapacityError("more text than one array can hold")
    if sql_type.kind in DECIMALS:
        return Vector(integers_of(array), validity(array))
    dtype = DTYPES.get(sql_type.kind)
    if dtype is not None:
        return Vector(fixed_values(array, dtype), validity(array))
    if isinstance(array, pa.DictionaryArray):
        useful = sql_type.kind in TEXTUAL and 0 < len(array.dictionary) < len(array)
        if not useful:
            array = array.dictionary.take(array.indices)
    return Vector(array, validity(array))


def constant(value: Value, sql_type: SqlType) -> Vector:
    """Return a vector of length 1."""
    return from_array(to_arrow([value], sql_type), sql_type)


def to_array(vector: Vector, sql_type: SqlType, count: int) -> pa.Array:
    """Return a vector as a column of `count` rows."""
    values, valid, _ = vector
    if not isinstance(values, np.ndarray):
        return values if len(values) == count else _repeat(values, count)
    if len(values) != count:
        values = np.repeat(values, count)
    if sql_type.kind in DECIMALS:
        if valid is not None and len(valid) != count:
            valid = np.repeat(valid, count)
        kind = arrow_type(sql_type)
        return column_of(_fit_precision(values, kind.precision), kind, valid)
    bitmap = None
    if valid is not None:
        bitmap = _bitmap(valid if len(valid) == count else np.repeat(valid, count))
    data = (
        _bitmap(values) if values.dtype == np.bool_ else pa.py_buffer(np.ascontiguousarray(values))
    )
    return pa.Array.from_buffers(arrow_type(sql_type), count, [bitmap, data])


def _fit_precision(values: NDArray[Any], digits: int) -> NDArray[Any]:
    """Return integers, 0 for those with more than so many digits, whose rows have failed."""
    beyond = too_long(values, digits)
    return np.where(beyond, 0, values) if np.count_nonzero(beyond) else values


def _bitmap(bools: Bools) -> pa.Buffer:
    return pa.py_buffer(np.packbits(bools, bitorder="little"))


def _repeat(values: pa.Array, count: int) -> pa.Array:
    """Return one value repeated `count` times; for STRING, ARRAY and ROW as a dictionary of one value."""
    if isinstance(values, pa.NullArray) or values.null_count or count == 0:
        return pa.nulls(count, values.type)
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int32)), values)


def plain_values(vector: Vector) -> Values:
    """Return the values, an Arrow array without its dictionary."""
    values = vector.values
    if isinstance(values, pa.DictionaryArray):
        return values.dictionary.take(values.indices)
    return values


def stretched_values(vector: Vector, count: int) -> pa.Array:
    """Return Arrow values without their dictionary, one for each of `count` rows."""
    values = plain_values(vector)
    if len(values) == count:
        return values
    return values.take(pa.array(np.zeros(count, np.int64)))


def common_length(vectors: Sequence[Vector]) -> int:
    """Return the length to which vectors are stretched."""
    lengths = {len(vector.values) for vector in vectors}
    lengths.discard(1)
    return lengths.pop() if lengths else 1


def arrow_argument(values: pa.Array, count: int) -> pa.Array | pa.Scalar:
    """Return an Arrow argument for functions over `count` rows: the array, or its only value."""
    return values if len(values) == count else values[0]


def truth(vector: Vector) -> Bools:
    """Return where a BOOLEAN vector is TRUE; failures are not considered."""
    values: Bools = vector.values
    return values if vector.valid is None else values & vector.valid


def both_valid(left: Bools | None, right: Bools | None) -> Bools | None:
    """Return which rows are valid in both."""
    if left is None:
        return right
    return left if right is None else left & right


def first_failure(first: Codes | None, second: Codes | None) -> Codes | None:
    """Return the failures of two evaluations, of which both are carried out; the first one has precedence."""
    if first is None:
        return second
    return first if second is None else np.where(first != 0, first, second)


def codes_where(mask: Bools, code: int) -> Codes | None:
    """Return `code` for the rows of `mask`; None if it marks no row."""
    return np.where(mask, np.int16(code), np.int16(0)) if np.count_nonzero(mask) else None


def common_value(vector: Vector) -> Any:  # noqa: ANN401 - a value of its type
    """Return the value that all rows have; None if they differ, or where it is NULL or has failed."""
    if len(vector.values) != 1 or vector.valid is not None or vector.failed is not None:
        return None
    [value] = vector.values.tolist()
    return value
