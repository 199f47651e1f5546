"""Declarations of the tables of a session: types of Python, and delays."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

import fsql


def first(error: fsql.LibraryError) -> tuple[str, str, str]:
    diagnostic = error.diagnostics[0]
    return diagnostic.code, diagnostic.message, diagnostic.helps[0]


def test_types_of_python_and_delays_as_text() -> None:
    at = dt.datetime(2026, 1, 1, 12, 0, 10, tzinfo=dt.UTC)
    values = {
        "text": "a",
        "n": 2**40,
        "x": 0.5,
        "yes": True,
        "raw": b"\x00",
        "at": at,
        "day": dt.date(2026, 1, 1),
        "hour": dt.time(9, 30),
    }
    with fsql.Session() as session:
        columns = {name: type(value) for name, value in values.items()}
        session.declare("t", columns, event_time="at", delay="5 s")
        rows = session.open("SELECT * FROM t")
        minutes = session.open(
            "SELECT COUNT(*) AS n FROM TUMBLE(t, at, INTERVAL '10' SECOND) GROUP BY window_end"
        )
        session.insert("t", [values])
        assert rows.table().to_pylist() == [values]
        session.insert("t", [{**values, "at": at + dt.timedelta(seconds=14)}])
        assert list(minutes) == []
        session.insert("t", [{**values, "at": at + dt.timedelta(seconds=15)}])
        assert [change.row for change in minutes] == [{"n": 1}]


OTHER_TYPES = (
    'write it as SQL, for example "STRING", or as str, int, float, bool, bytes, datetime, date or'
    " time"
)


@pytest.mark.parametrize(
    ("given", "message", "remedy"),
    [
        (
            Decimal,
            'column "a" of table "t" has no SQL type: it is decimal.Decimal',
            'write it as SQL, with its digits: "DECIMAL(10, 2)"',
        ),
        (
            set[str],
            'column "a" of table "t" has no SQL type: it is set[str]',
            OTHER_TYPES,
        ),
        (
            5,
            'column "a" of table "t" has no SQL type: it is 5',
            OTHER_TYPES,
        ),
    ],
)
def test_types_that_are_not_sql(given: Any, message: str, remedy: str) -> None:
    with pytest.raises(fsql.ConnectorError) as refused:
        fsql.Session().declare("t", {"a": given})
    assert first(refused.value) == ("E542", message, remedy)


@pytest.mark.parametrize("delay", [5, 0.5, None, "5 seconds ago", -dt.timedelta(seconds=1)])
def test_delays_that_are_not_durations(delay: Any) -> None:
    message = f'the delay of table "t" is not a duration: it is {delay!r}'
    expected = ("E542", message, 'write datetime.timedelta(seconds=5) or "5 s"')
    with pytest.raises(fsql.ConnectorError) as refused:
        fsql.Session().declare("t", {"at": "TIMESTAMP"}, event_time="at", delay=delay)
    assert first(refused.value) == expected
    rows = [{"at": dt.datetime(2026, 1, 1, tzinfo=dt.UTC)}]
    with pytest.raises(fsql.ConnectorError) as refused:
        fsql.sql("SELECT at FROM t", tables={"t": fsql.Table(rows, event_time="at", delay=delay)})
    assert first(refused.value) == expected
