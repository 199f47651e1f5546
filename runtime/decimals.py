"""Columns of DECIMAL as integers of the smallest unit.

Arrow keeps a DECIMAL in 128 bits.  Its own arithmetic neither rounds nor reports overflow as SQL does, so
values are computed as integers: an array of int64 if all values of a batch fit, which is nearly always the
case, otherwise an array of Python integers, which are exact at any size and about twenty times slower.
Results do not depend on the representation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.compiler.functions.decimals import format_decimal, parse_decimal
from fsql.compiler.functions.failure import RowFailure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fsql.compiler.sqltypes import SqlType
    from fsql.runtime.arrays import Bools

    Integers = NDArray[Any]
    """An array of int64, or of Python integers."""
    Codes = NDArray[np.int16]

_WORD: Final = 2**64
_LIMIT: Final = 2**63 - 1


def integers_of(array: pa.Array) -> Integers:
    """Return the values of a column of decimal128; 0 for NULL."""
    count = len(array)
    if count == 0:
        return np.empty(0, np.int64)
    words = np.frombuffer(array.buffers()[1], np.int64)
    words = words[2 * array.offset : 2 * (array.offset + count)].reshape(count, 2)
    low, high = words[:, 0], words[:, 1]
    if array.null_count:
        valid = array.is_valid().to_numpy(zero_copy_only=False)
        low, high = np.where(valid, low, 0), np.where(valid, high, 0)
    if (high == low >> 63).all():
        return np.ascontiguousarray(low)
    return high.astype(object) * _WORD + low.view(np.uint64).astype(object)


def column_of(values: Integers, kind: pa.DataType, valid: Bools | None = None) -> pa.Array:
    """Return integers as a column of decimal128; those of rows that are not valid may be anything."""
    words = np.empty((len(values), 2), np.int64)
    if values.dtype == object:
        if valid is not None:
            values = np.where(valid, values, 0)
        words[:, 0] = (values & (_WORD - 1)).astype(np.uint64).view(np.int64)
        words[:, 1] = ((values >> 64) & (_WORD - 1)).astype(np.uint64).view(np.int64)
    else:
        words[:, 0] = values
        words[:, 1] = values >> 63
    bitmap = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(kind, len(values), [bitmap, pa.py_buffer(words)])


def column_of_values(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return Python integers, or None, as a column."""
    valid = np.fromiter((value is not None for value in values), np.bool_, len(values))
    integers = narrow(np.array([value or 0 for value in values], object))
    return column_of(integers, kind, None if valid.all() else valid)


def ranks_of(array: pa.Array) -> NDArray[np.int64]:
    """Return integers that order the rows by value, NULL last."""
    values = integers_of(array)
    if values.dtype != object and not array.null_count:
        return values
    distinct, ranks = np.unique(values, return_inverse=True)
    ranks = ranks.astype(np.int64)
    if array.null_count:
        ranks[array.is_null().to_numpy(zero_copy_only=False)] = len(distinct)
    return ranks


def narrow(values: Integers) -> Integers:
    """Return the integers in int64 if all fit."""
    if values.dtype == object and magnitude(values) <= _LIMIT:
        return values.astype(np.int64)
    return values


def magnitude(values: Integers) -> int:
    """Return the greatest absolute value."""
    return max(-int(values.min()), int(values.max())) if len(values) else 0


def times(values: Integers, factor: int) -> Integers:
    """Return the values multiplied by a factor."""
    if factor == 1:
        return values
    if values.dtype != object and max(magnitude(values), 1) * factor <= _LIMIT:
        return values * factor
    return narrow(values.astype(object) * factor)


def widen(values: Integers, bound: int) -> Integers:
    """Return the values as Python integers if results of up to `bound` do not fit int64."""
    return values if bound <= _LIMIT or values.dtype == object else values.astype(object)


def quotients(values: Integers, divisor: Integers | int) -> Integers:
    """Return the values divided, rounded half away from zero; no divisor is 0."""
    if isinstance(divisor, int):
        if divisor == 1:
            return values
        positive: Integers | int = divisor
        values = widen(values, 2 * divisor)
    else:
        bound = 2 * magnitude(divisor)
        values, divisor = widen(values, bound), widen(divisor, bound)
        positive = np.abs(divisor)
    values = widen(values, magnitude(values))
    size = np.abs(values)
    whole = size // positive
    whole = whole + (2 * (size - whole * positive) >= positive)
    negative = values < 0
    if not isinstance(divisor, int):
        negative = negative ^ (divisor < 0)
    return narrow(np.where(negative, -whole, whole))


def too_long(values: Integers, precision: int) -> Bools:
    """Return which values have more digits than `precision`."""
    limit = 10**precision
    if values.dtype != object and limit > _LIMIT:
        return np.zeros(len(values), np.bool_)
    beyond: Bools = (values >= limit) | (values <= -limit)
    return beyond.astype(np.bool_)


def doubles_of(values: Integers, scale: int) -> NDArray[np.float64]:
    """Return the nearest doubles: at once where both numbers of the division are exact."""
    if values.dtype != object and magnitude(values) <= 2**53 and scale <= 22:
        return values / 10.0**scale
    unit = 10**scale
    # Python divides integers correctly rounded.
    return np.fromiter((value / unit for value in values.tolist()), np.float64, len(values))


def texts_of(values: Integers, scale: int) -> pa.StringArray:
    """Return the numbers in decimal, with all digits of their scale."""
    if values.dtype == object or scale > 18 or magnitude(values) > _LIMIT:
        return pa.array([format_decimal(value, scale) for value in values.tolist()], pa.string())
    if scale == 0:
        return pc.cast(pa.array(values), pa.string())
    unit = 10**scale
    whole, rest = np.divmod(np.abs(values), unit)
    signs = pa.array(["", "-"]).take(pa.array((values < 0).astype(np.int8)))
    digits = pc.utf8_slice_codeunits(pc.cast(pa.array(rest + unit), pa.string()), 1)
    numbers = pc.cast(pa.array(whole), pa.string())
    numbers = pc.binary_join_element_wise(signs, numbers, "")
    return pc.binary_join_element_wise(numbers, digits, ".")


def integers_of_unsigned(values: NDArray[np.uint64]) -> Integers:
    """Return unsigned integers in int64 if all fit."""
    fits = not len(values) or int(values.max()) <= _LIMIT
    return values.view(np.int64) if fits else values.astype(object)


def read_unsigned(texts: pa.StringArray) -> tuple[Integers, Bools]:
    """Return the unsigned integers of 64 bits in texts, and which texts are such, without leading zeros.

    The values of other texts, and of NULL, are 0.
    """
    digits = pc.fill_null(pc.match_substring_regex(texts, "^(0|[1-9][0-9]{0,19})$"), False)  # noqa: FBT003
    short = pc.less(pc.fill_null(pc.binary_length(texts), 0), len(_GREATEST))
    read = pc.and_(digits, pc.or_(short, pc.less_equal(pc.fill_null(texts, ""), _GREATEST)))
    values = pc.cast(pc.if_else(read, texts, "0"), pa.uint64()).to_numpy()
    return integers_of_unsigned(values), read.to_numpy(zero_copy_only=False)


_GREATEST: Final = str(_WORD - 1)


def read_texts(texts: pa.StringArray, target: SqlType, kind: pa.DataType) -> tuple[Integers, Codes]:
    """Return the numbers in texts, and for each text the code of its error (0 if none, or if it is NULL)."""
    whole = target.precision - target.scale
    pattern = rf"^-?[0-9]{{1,{whole}}}(\.[0-9]{{1,{target.scale}}})?$"
    if not whole:
        pattern = rf"^-?0\.[0-9]{{1,{target.scale}}}$"
    elif not target.scale:
        pattern = rf"^-?[0-9]{{1,{whole}}}$"
    usual = pc.fill_null(pc.match_substring_regex(texts, pattern), fill_value=False)
    values = integers_of(pc.cast(pc.if_else(usual, texts, "0"), kind))
    codes = np.zeros(len(texts), np.int16)
    if usual.true_count + texts.null_count == len(texts):
        return values, codes
    rest = np.flatnonzero(~usual.to_numpy(zero_copy_only=False))
    exact = values.astype(object)
    for index, text in zip(rest.tolist(), texts.take(pa.array(rest)).to_pylist(), strict=True):
        if text is not None:
            try:
                exact[index] = parse_decimal(text, target)
            except RowFailure as failure:
                codes[index] = failure.code
    return narrow(exact), codes
