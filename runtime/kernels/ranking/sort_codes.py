"""Columns of ORDER BY as integers of 64 bits that order rows, the same in every batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from fsql.compiler.sqltypes import Kind
from fsql.runtime.arrow_types import arrow_type
from fsql.runtime.decimals import integers_of
from fsql.runtime.order import fixed_width, integers

if TYPE_CHECKING:
    from fsql.compiler.logical import OrderKey
    from fsql.runtime.arrays import Ints


CODES_OF_KEY: Final = 2
"""The number of integers that `sort_codes` returns for each row."""
_DIGITS_MAX: Final = 18
"""Decimals with this many digits fit 64 bits."""


def has_sort_codes(key: OrderKey) -> bool:
    """Return whether rows can be ordered by integers; rows with texts cannot."""
    kind = key.expression.type
    if kind.kind is Kind.DECIMAL:
        return kind.precision <= _DIGITS_MAX
    return fixed_width(arrow_type(kind))


def sort_codes(column: pa.Array, key: OrderKey) -> list[Ints]:
    """Return integers that order the rows by `key`, the most significant one first."""
    if pa.types.is_decimal(column.type):
        codes = integers_of(column)
    else:
        codes, _ = integers(column)
    if key.descending:
        codes = ~codes
    indexes = np.zeros(len(column), np.int64)
    if column.null_count:
        null = column.is_null().to_numpy(zero_copy_only=False)
        indexes[null] = -1 if key.nulls_first else 1
        codes = np.where(null, 0, codes)
    return [indexes, codes]
