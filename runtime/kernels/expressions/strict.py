"""Strict functions: kernels that handle NULL and failure, made from computations over values.

A strict function fails if an argument fails (the leftmost failure is reported), is NULL if an argument is
NULL, and otherwise is computed, which may fail.  The computations below process values only: they also
compute values under a NULL or a failure, which are masked afterwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from fsql.compiler.functions.failure import RowFailure
from fsql.runtime.few_rows import FEW_ROWS
from fsql.runtime.kernels.expressions.vectors import (
    Vector,
    arrow_argument,
    both_valid,
    common_length,
    first_failure,
    from_array,
    indices,
    plain_values,
    stretched_values,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from fsql.compiler.expression import Value
    from fsql.compiler.sqltypes import SqlType
    from fsql.runtime.arrays import Bools
    from fsql.runtime.kernels.expressions.vectors import Codes, Kernel

    Parse = Callable[[pa.StringArray], tuple[NDArray[Any], Codes | None]]
    """Parses a column of strings: returns the values, and the codes of rows that cannot be parsed."""


def all_valid(arguments: Sequence[Vector]) -> Bools | None:
    """Return which rows are valid in all arguments."""
    valid = None
    for argument in arguments:
        valid = both_valid(valid, argument.valid)
    return valid


def leftmost_failure(arguments: Sequence[Vector]) -> Codes | None:
    """Return the failures of arguments that are all evaluated."""
    failed = None
    for argument in arguments:
        failed = first_failure(failed, argument.failed)
    return failed


def total(compute: Callable[..., NDArray[Any]]) -> Kernel:
    """Lift `compute(*arrays) -> array`, over values of fixed width, which never fails."""

    def kernel(arguments: Sequence[Vector]) -> Vector:
        values = compute(*[argument.values for argument in arguments])
        return Vector(values, all_valid(arguments), leftmost_failure(arguments))

    return kernel


def partial(compute: Callable[..., tuple[NDArray[Any], Codes | None]]) -> Kernel:
    """Lift `compute(*arrays) -> (array, codes)`, over values of fixed width."""

    def kernel(arguments: Sequence[Vector]) -> Vector:
        values, own = compute(*[argument.values for argument in arguments])
        valid = all_valid(arguments)
        if own is not None and valid is not None:
            own = np.where(valid, own, np.int16(0))
        return Vector(values, valid, first_failure(leftmost_failure(arguments), own))

    return kernel


def arrow(compute: Callable[..., pa.Array], sql_type: SqlType) -> Kernel:
    """Lift an Arrow function, NULL where an argument is, whose result is of `sql_type`.

    `compute` receives plain arrays, or scalars for arguments of one value; the first argument is an array.
    """

    def kernel(arguments: Sequence[Vector]) -> Vector:
        count = common_length(arguments)
        first = stretched_values(arguments[0], count)
        others = [arrow_argument(plain_values(argument), count) for argument in arguments[1:]]
        result = compute(first, *others)
        values, valid, _ = from_array(result, sql_type)
        return Vector(values, valid, leftmost_failure(arguments))

    return kernel


def from_text(parse: Parse, parse_one: Callable[[str], Value], dtype: np.dtype[Any]) -> Kernel:
    """Lift the parser of a column of texts.

    `parse_one` parses a single text or raises: a few texts are parsed one by one, which is faster.
    """

    def kernel(arguments: Sequence[Vector]) -> Vector:
        (argument,) = arguments
        texts = plain_values(argument)
        if len(texts) <= FEW_ROWS:
            values, own = _parse_one_by_one(texts.to_pylist(), parse_one, dtype)
        else:
            values, own = parse(texts)
        if own is not None and argument.valid is not None:
            own = np.where(argument.valid, own, np.int16(0))
        return Vector(values, argument.valid, first_failure(argument.failed, own))

    return kernel


def _parse_one_by_one(
    texts: Sequence[str | None], parse_one: Callable[[str], Value], dtype: np.dtype[Any]
) -> tuple[NDArray[Any], Codes | None]:
    values = np.zeros(len(texts), dtype)
    codes = np.zeros(len(texts), np.int16)
    for i, text in enumerate(texts):
        if text is not None:
            try:
                values[i] = parse_one(text)
            except RowFailure as failure:
                codes[i] = failure.code
    return values, codes if np.count_nonzero(codes) else None


def over_dictionary(kernel: Kernel) -> Kernel:
    """Apply a strict kernel to each value of a dictionary once instead of every row.

    It is used if one argument has a dictionary and the others are constant.
    """

    def wrapped(arguments: Sequence[Vector]) -> Vector:
        encoded = [
            argument for argument in arguments if isinstance(argument.values, pa.DictionaryArray)
        ]
        if not encoded:
            return kernel(arguments)
        apart = [argument for argument in arguments if argument is not encoded[0]]
        if any(len(other.values) != 1 or other.failed is not None for other in apart):
            return kernel([Vector(plain_values(a), a.valid, a.failed) for a in arguments])
        words = Vector(encoded[0].values.dictionary)
        result = kernel([words if argument is encoded[0] else argument for argument in arguments])
        return _spread(result, encoded[0])

    return wrapped


def _spread(result: Vector, encoded: Vector) -> Vector:
    """Return, for each row of `encoded`, the result for its dictionary value."""
    rows = indices(encoded.values, encoded.valid)
    size = len(encoded.values.dictionary)
    valid, own = encoded.valid, None
    if result.valid is not None:
        valid = both_valid(valid, np.broadcast_to(result.valid, size)[rows])
    if result.failed is not None:
        own = np.broadcast_to(result.failed, size)[rows]
        if encoded.valid is not None:
            own = np.where(encoded.valid, own, np.int16(0))
    failed = first_failure(encoded.failed, own)
    values = result.values
    if isinstance(values, np.ndarray):
        return Vector(np.broadcast_to(values, size)[rows], valid, failed)
    if isinstance(values, pa.StringArray) and len(values) == size and not values.null_count:
        spread = pa.DictionaryArray.from_arrays(encoded.values.indices, values)
    else:
        spread = values.take(encoded.values.indices)
    return Vector(spread, valid, failed)
