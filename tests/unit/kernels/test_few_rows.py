"""The policy for small batches."""

from __future__ import annotations

import pyarrow as pa

from fsql.runtime.few_rows import FEW_BYTES, FEW_ROWS, are_few


def texts(*lengths: int) -> pa.StringArray:
    return pa.array(["x" * length for length in lengths])


def test_rows_are_few_by_their_number() -> None:
    assert are_few([texts(*[100] * FEW_ROWS)], FEW_ROWS)
    assert not are_few([texts(*[100] * (FEW_ROWS + 1))], FEW_ROWS + 1)


def test_long_rows_are_not_few() -> None:
    assert not are_few([texts(10), texts(2 * FEW_BYTES)], 1)


def test_only_the_bytes_of_a_slice_count() -> None:
    assert are_few([texts(2 * FEW_BYTES, 10).slice(1)], 1)
