"""Which number of rows counts as few: the policy for small batches.

Arrow and NumPy take a fixed number of calls for a batch, of 1 to 5 µs each, however few rows it has.  The
cost of Python values is proportional to the number of rows.  Code with both implementations uses Python
values for a few rows; results are the same.  Which is faster depends on the work for each row:

* Python code, 0.3 to 3 µs a row: up to `FEW_ROWS`.
* A loop in C over Python values (`map` of a method of `dict`, `set`, msgspec), 0.1 µs a row: up to
  `FEW_ROWS_IN_C`.

Microseconds by rows, as Python values / in columns (one core):

| | 1 | 32 | 64 | 128 | 1024 | 2048 |
|---|---|---|---|---|---|---|
| sort by (time, origin) | 2 / 4 | 9 / 29 | 26 / 30 | 37 / 17 | | |
| rank texts | 3 / 92 | 10 / 117 | 18 / 120 | 44 / 133 | | |
| text to TIMESTAMP | 9 / 283 | 152 / 176 | 289 / 179 | 592 / 185 | | |
| text to BIGINT | 4 / 512 | 49 / 522 | 97 / 512 | 369 / 670 | | |
| inverted index, texts of 5 words | 711 / 979 | 1488 / 1738 | 2507 / 1598 | | | |
| find slots of texts | 5 / 60 | 10 / 82 | 22 / 75 | 21 / 95 | 141 / 253 | 275 / 449 |
| write JSON lines | 5 / 238 | 15 / 281 | 28 / 239 | 37 / 310 | 297 / 337 | 637 / 398 |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

FEW_ROWS: Final = 32
"""Up to this number of rows, Python code that runs for each row is faster than columns."""
FEW_ROWS_IN_C: Final = 32 * FEW_ROWS
"""Up to this number of rows, a loop in C over Python values is faster than columns."""
FEW_BYTES: Final = 1 << 15
"""Long values have many parts, such as words; columns with more bytes are not processed by Python code."""


def are_few(columns: Iterable[pa.Array], count: int) -> bool:
    """Return whether rows are few and short enough for Python code that processes parts of their values."""
    return count <= FEW_ROWS and not exceeds_bytes(columns, FEW_BYTES)


def exceeds_bytes(columns: Iterable[pa.Array], bytes_max: int) -> bool:
    """Return whether any column has more bytes than `bytes_max`.

    Reading the size of the buffers takes 0.2 µs a column, `nbytes` up to 14.  Buffers may belong to a larger
    array; only then the size of the slice matters.
    """
    for column in columns:  # noqa: SIM110 - a generator costs as much as the rest
        if column.get_total_buffer_size() > bytes_max and column.nbytes > bytes_max:
            return True
    return False
