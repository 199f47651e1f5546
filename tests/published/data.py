"""The tables of the published cases: small, with NULLs, ties, duplicates and empty strings; one is empty."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Final

import pyarrow as pa

_BONUS: Final = ("10.50", None, "0.00", "10.50", "-3.25", None, "99.99", "1.00")
_HIRED: Final = (
    *("2020-02-29", "2021-01-01", "2021-12-31", "2021-01-01"),
    *(None, "2019-07-14", "2022-03-01", "1969-12-31"),
)
_SOLD: Final = (
    *("01 09:00", "01 09:30", "01 10:00", "01 10:00", "01 11:59", "02 00:00"),
    *("02 00:01", "02 08:00", "03 23:59", "04 00:00", "28 12:00", "29 00:00"),
)

STAFF: Final = pa.table(
    {
        "id": pa.array([1, 2, 3, 4, 5, 6, 7, 8], pa.int64()),
        "name": ["Ada", "Bo", "Cy", "Dee", "Eve", "Flo", "Gus", None],
        "dept": pa.array([10, 10, 20, 20, 30, None, 10, 40], pa.int64()),
        "boss": pa.array([None, 1, 1, 3, 3, 1, 2, None], pa.int64()),
        "salary": pa.array([900, 500, 700, 700, 300, None, 500, 100], pa.int64()),
        "bonus": pa.array(
            [None if each is None else Decimal(each) for each in _BONUS],
            pa.decimal128(10, 2),
        ),
        "hired": pa.array(
            [None if each is None else dt.date.fromisoformat(each) for each in _HIRED],
            pa.date32(),
        ),
    }
)
DEPT: Final = pa.table(
    {
        "id": pa.array([10, 20, 30, 50], pa.int64()),
        "name": ["Tools", "Sales", "Law", "Void"],
        "city": ["Bonn", "Oslo", "Bonn", None],
    }
)
SALES: Final = pa.table(
    {
        "id": pa.array(range(1, 13), pa.int64()),
        "staff": pa.array([3, 3, 4, 4, 4, 1, 9, None, 3, 4, 1, 3], pa.int64()),
        "item": [
            "nut",
            "bolt",
            "nut",
            "gear",
            "",
            "bolt",
            "nut",
            "cog",
            None,
            "gear",
            "nut",
            "bolt",
        ],
        "quantity": pa.array([5, 1, 2, 7, 0, 1, None, 3, 4, 7, -2, 1], pa.int64()),
        "price": pa.array(
            [1.5, 10.0, 1.25, 100.0, 0.0, 9.75, 2.0, None, 1.5, 99.5, 1.5, 10.0], pa.float64()
        ),
        "sold": pa.array(
            [dt.datetime.fromisoformat(f"2024-02-{each}") for each in _SOLD],
            pa.timestamp("us"),
        ),
    }
)
FLAGS: Final = pa.table(
    {
        "p": pa.array([True, True, True, False, False, False, None, None, None]),
        "q": pa.array([True, False, None, True, False, None, True, False, None]),
        "n": pa.array(range(9), pa.int64()),
    }
)
NOTHING: Final = pa.table(
    {
        "id": pa.array([], pa.int64()),
        "name": pa.array([], pa.string()),
        "x": pa.array([], pa.float64()),
    }
)
TABLES: Final = {"staff": STAFF, "dept": DEPT, "sales": SALES, "flags": FLAGS, "nothing": NOTHING}
