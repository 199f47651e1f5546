"""DATE_TRUNC: kernel, constant folding and oracle agree, before 1970 too, and weeks begin with a Monday."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

import fsql
from fsql.compiler.functions.timestamps import format_timestamp, parse_timestamp
from fsql.compiler.functions.truncation import FIXED_US, MONTHS, truncate
from fsql.compiler.sqltypes import TIMESTAMP_MAX, TIMESTAMP_MIN
from fsql.tests.reference.scalar_times import date_trunc

MOMENTS = {
    "microsecond": "1969-05-15T13:47:55.123456Z",
    "millisecond": "1969-05-15T13:47:55.123Z",
    "second": "1969-05-15T13:47:55Z",
    "minute": "1969-05-15T13:47:00Z",
    "hour": "1969-05-15T13:00:00Z",
    "day": "1969-05-15T00:00:00Z",
    "week": "1969-05-12T00:00:00Z",
    "month": "1969-05-01T00:00:00Z",
    "quarter": "1969-04-01T00:00:00Z",
    "year": "1969-01-01T00:00:00Z",
}


def test_every_unit_is_known() -> None:
    assert list(MOMENTS) == [*FIXED_US, *MONTHS]


@pytest.mark.parametrize("unit", MOMENTS)
def test_the_beginning_of_a_unit(unit: str) -> None:
    at = parse_timestamp(MOMENTS["microsecond"])
    assert format_timestamp(truncate(unit, at)) == MOMENTS[unit]
    assert format_timestamp(date_trunc(unit, at)) == MOMENTS[unit]


@pytest.mark.parametrize("unit", MOMENTS)
def test_columns_constants_and_the_oracle_agree(unit: str) -> None:
    random = Random(unit)
    times = [TIMESTAMP_MIN, TIMESTAMP_MAX, -1, 0, 1]
    times += [random.randrange(TIMESTAMP_MIN, TIMESTAMP_MAX) for _ in range(200)]
    times += [random.randrange(-(10**14), 10**14) for _ in range(200)]
    rows = pa.table({"at": pa.array([*times, None], pa.timestamp("us", "UTC"))})
    query = f"SELECT DATE_TRUNC('{unit.title()}', at) AS x FROM t"
    made = fsql.sql(query, tables={"t": rows}).table().column("x").cast(pa.int64())
    assert made.to_pylist() == [*(truncate(unit, at) for at in times), None]
    assert [truncate(unit, at) for at in times] == [date_trunc(unit, at) for at in times]
