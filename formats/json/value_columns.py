"""Columns of types whose values are written as texts or numbers in JSON.

Each function returns the column and which of its values cannot be read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.compiler.sqltypes import Kind
from fsql.formats.timestamps import read_dates, read_times
from fsql.runtime.arrow_types import arrow_type, nearest_floats
from fsql.runtime.decimals import column_of, read_texts

if TYPE_CHECKING:
    from fsql.compiler.sqltypes import SqlType
    from fsql.runtime.arrays import Bools


def floats(doubles: pa.Array) -> tuple[pa.Array, Bools]:
    """Return the column of FLOAT, and which of its values are out of range."""
    null = doubles.is_null().to_numpy(zero_copy_only=False)
    given = doubles.fill_null(0.0).to_numpy()
    nearest = nearest_floats(given)
    return pa.array(nearest, mask=null), np.isinf(nearest)


def decimals(written: pa.StringArray, sql_type: SqlType) -> tuple[pa.Array, Bools]:
    """Return the column of numbers, whose texts are without quotes.

    Texts with an escape are left to the exact decoder.
    """
    null = written.is_null().to_numpy(zero_copy_only=False)
    integers, codes = read_texts(written, sql_type, arrow_type(sql_type))
    odd = pc.fill_null(pc.match_substring_regex(written, "[^-+.0-9eE]|^$"), fill_value=False)
    unread = (codes != 0) | odd.to_numpy(zero_copy_only=False)
    valid = ~null & ~unread
    array = column_of(integers, arrow_type(sql_type), None if valid.all() else valid)
    return array, unread


def days_or_times(texts: pa.StringArray, sql_type: SqlType) -> tuple[pa.Array, Bools]:
    """Return the column of DATE or TIME."""
    found, read = (read_dates if sql_type.kind is Kind.DATE else read_times)(texts)
    null = texts.is_null().to_numpy(zero_copy_only=False)
    return pa.array(found, mask=~read), ~(read | null)
