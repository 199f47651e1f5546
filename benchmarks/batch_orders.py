"""Orders of a day and their buyers as Parquet files, the same ones on every machine."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fsql.connectors.generated.zipf_words import mix

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.runtime.arrays import Ints


BUYERS: Final = 10_000
COUNTRIES: Final = 40
KINDS: Final = ("books", "clothes", "flowers", "games", "music", "shoes", "tools", "toys")
_AMOUNTS: Final = 100_000
_ROWS_AT_ONCE: Final = 1 << 17
_FIRST_US: Final = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000
_DAY_US: Final = 86_400_000_000
_TIME: Final = pa.timestamp("us", "UTC")
_ORDERS: Final = pa.schema(
    [
        ("id", pa.int64()),
        ("buyer", pa.int64()),
        ("kind", pa.string()),
        ("amount", pa.int64()),
        ("made", _TIME),
    ]
)


def write_orders(directory: Path, rows: int, files: int) -> None:
    """Write the folders `orders`, in files of consecutive times, and `buyers`, in one file.

    Some buyers have many more orders than others; kinds, amounts and countries are equally frequent.
    """
    for name in ("orders", "buyers"):
        (directory / name).mkdir(parents=True)
    for number in range(files):
        first, end = (rows * each // files for each in (number, number + 1))
        with pq.ParquetWriter(
            directory / "orders" / f"orders-{number:03}.parquet", _ORDERS
        ) as file:
            for start in range(first, end, _ROWS_AT_ONCE):
                file.write_table(_orders(np.arange(start, min(start + _ROWS_AT_ONCE, end)), rows))
    buyers = np.arange(BUYERS)
    countries = pa.array([f"country {number}" for number in range(COUNTRIES)])
    table = {"buyer": buyers, "country": countries.take(pa.array(_draw(buyers, 4, COUNTRIES)))}
    pq.write_table(pa.table(table), directory / "buyers" / "buyers.parquet")


def _orders(ids: Ints, rows: int) -> pa.Table:
    squares = (_draw(ids, 1, 1 << 31) ** 2) >> 31
    columns = [
        pa.array(ids),
        pa.array(squares * BUYERS >> 31),
        pa.array(KINDS).take(pa.array(_draw(ids, 2, len(KINDS)))),
        pa.array(_draw(ids, 3, _AMOUNTS)),
        pa.array(_FIRST_US + ids * (_DAY_US // rows)).cast(_TIME),
    ]
    return pa.table(columns, schema=_ORDERS)


def _draw(numbers: Ints, column: int, below: int) -> Ints:
    """Return a number from 0 to `below` - 1, at most 2**31, for each of some numbers, by hashing."""
    hashes = mix((numbers * 8 + column).astype(np.uint64))
    return (hashes % np.uint64(below)).astype(np.int64)
