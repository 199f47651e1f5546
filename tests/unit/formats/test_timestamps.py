"""Timestamps read as a column are those that the exact reader gives one by one."""

from __future__ import annotations

from hypothesis import strategies as st

from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.functions.timestamps import parse_timestamp
from fsql.compiler.sqltypes import TIMESTAMP_MAX, TIMESTAMP_MIN
from fsql.formats.json.time_units import Unit
from fsql.formats.timestamps import timestamps
from fsql.tests.unit.formats.drawn import drawn

DIGITS = st.integers(0, 99).map("{:02d}".format)
SHAPES = st.builds(
    "{}{}-{}-{}{}{}:{}:{}{}{}".format,
    DIGITS,
    DIGITS,
    st.integers(0, 13).map("{:02d}".format),
    st.integers(0, 32).map("{:02d}".format),
    st.sampled_from("T t"),
    st.integers(0, 25).map("{:02d}".format),
    st.integers(0, 61).map("{:02d}".format),
    st.integers(0, 61).map("{:02d}".format),
    st.sampled_from(["", ".", ".1", ".12", ".123", ".123456", ".123456789", ".1234567891", ".12 "]),
    st.sampled_from(
        ["", "Z", "z", "+01:00", "-23:59", "+24:00", "+0100", "+01", "-2360", "+1", "-01-01"]
    ),
)
VALUES = st.one_of(
    SHAPES,
    st.datetimes().map(str),
    st.dates().map(str),
    st.datetimes().map(lambda moment: moment.isoformat() + "Z"),
    st.text(max_size=22),
    st.none(),
    st.integers(TIMESTAMP_MIN // 1000, TIMESTAMP_MAX // 1000),
)


def exactly(value: str | int | None) -> int | str | None:
    """Return microseconds, None for NULL, or a word for what cannot be read."""
    if value is None:
        return None
    if isinstance(value, int):
        return value * 1000
    try:
        return parse_timestamp(value)
    except RowFailure:
        return "unreadable"


@drawn(120, st.lists(VALUES, max_size=8))
def test_a_column_is_read_as_its_values_are(values: list[str | int | None]) -> None:
    for column in (values, [value for value in values if not isinstance(value, int)]):
        read, null, unread = timestamps(column, Unit("ms"))
        found = [
            None if null[i] else "unreadable" if unread[i] else int(read[i])
            for i in range(len(column))
        ]
        assert found == [exactly(value) for value in column]


def test_days_and_nanoseconds() -> None:
    """Digits below the microsecond are cut off; a day begins at midnight UTC."""
    values = [
        "1970-01-02",
        "1970-01-01T00:00:00.000001999",
        "1970-01-01 00:00:00.123456789Z",
        "1970-01-01T01:00:00.1234567+01:00",
        "1970-01-01T00:00:00.1234567891",
        "1970-01-0",
    ]
    read, null, unread = timestamps(values, Unit("ms"))
    assert read.tolist()[:4] == [86_400_000_000, 1, 123_456, 123_456]
    assert (null.tolist(), unread.tolist()) == ([False] * 6, [False] * 4 + [True] * 2)
