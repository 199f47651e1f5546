"""Numbers for times in JSON: their units, and what is said where they seem to have another."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import pytest

import fsql
from fsql.formats.json.time_units import TimeUnits, Unit

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT: Final = """
    CREATE TABLE t (
        at TIMESTAMP, d DATE, t TIME, n INT, ats ARRAY<TIMESTAMP>, r ROW<d DATE, t TIME>,
        m MAP<STRING, TIMESTAMP>
    ) WITH (
        'connector' = 'file', 'path' = 't.jsonl', 'on_error' = 'reject', 'rejects_path' = 'rejects' MORE
    );
    CREATE TABLE o (
        at TIMESTAMP, d DATE, t TIME, n INT, ats ARRAY<TIMESTAMP>, r ROW<d DATE, t TIME>,
        m MAP<STRING, TIMESTAMP>
    ) WITH ('connector' = 'file', 'path' = 'o');
    INSERT INTO o SELECT * FROM t;
"""
AT: Final = {
    "s": 1_767_268_800,
    "ms": 1_767_268_800_000,
    "us": 1_767_268_800_000_000,
    "ns": 1_767_268_800_000_000_000,
}
OF_DAY: Final = {"s": 43_200, "ms": 43_200_000, "us": 43_200_000_000, "ns": 43_200_000_000_000}
NOON: Final = "2026-01-01T12:00:00Z"


def read(directory: Path, text: str, more: str) -> list[dict[str, object]]:
    """Return the rows of a file."""
    (directory / "t.jsonl").write_text(text)
    (directory / "o").unlink(missing_ok=True)
    fsql.Session(base_directory=directory).run(SCRIPT.replace(" MORE", more))
    return [json.loads(line) for line in (directory / "o").read_text().splitlines()]


@pytest.mark.parametrize("count", [1, 100])
@pytest.mark.parametrize("unit", AT)
def test_numbers_have_the_declared_units(unit: str, count: int, tmp_path: Path) -> None:
    nothing = dict.fromkeys(("at", "d", "t", "n", "ats", "r", "m"))
    flat = {"at": AT[unit], "d": 20_454, "t": OF_DAY[unit], "n": 1}
    nested = {
        "ats": [AT[unit], None, NOON],
        "r": {"d": -1, "t": OF_DAY[unit]},
        "m": {"a": AT[unit]},
    }
    texts = {"at": NOON, "d": "2026-01-01", "t": "12:00", "n": 1}
    more = f", 'timestamp_unit' = '{unit}', 'time_unit' = '{unit}'"
    lines = "".join(f"{json.dumps(each)}\n" for each in (flat, nested, texts) for _ in range(count))
    noon = {"at": NOON, "d": "2026-01-01", "t": "12:00:00", "n": 1}
    inner = {
        "ats": [NOON, None, NOON],
        "r": {"d": "1969-12-31", "t": "12:00:00"},
        "m": {"a": NOON},
    }
    assert read(tmp_path, lines, more) == [
        *[nothing | noon] * count,
        *[nothing | inner] * count,
        *[nothing | noon] * count,
    ]


def test_the_units_are_milliseconds_and_microseconds(tmp_path: Path) -> None:
    (row,) = read(tmp_path, f'{{"at":{AT["ms"]},"t":{OF_DAY["us"]}}}', "")
    assert (row["at"], row["t"]) == (NOON, "12:00:00")


@pytest.mark.parametrize("count", [1, 50])
def test_the_limits_of_times(count: int, tmp_path: Path) -> None:
    good = (
        ("ns", "at", -1, "1969-12-31T23:59:59.999999Z"),
        ("ns", "at", 253_402_300_799_999_999_999, "9999-12-31T23:59:59.999999Z"),
        ("ns", "at", -62_135_596_800_000_000_000, "0001-01-01T00:00:00Z"),
        ("us", "at", 253_402_300_799_999_999, "9999-12-31T23:59:59.999999Z"),
        ("ms", "at", -62_135_596_800_000, "0001-01-01T00:00:00Z"),
        ("s", "at", 253_402_300_799, "9999-12-31T23:59:59Z"),
        ("s", "d", 2_932_896, "9999-12-31"),
        ("s", "d", -719_162, "0001-01-01"),
        ("ns", "t", 86_399_999_999_999, "23:59:59.999999"),
        ("us", "t", 86_399_999_999, "23:59:59.999999"),
        ("s", "t", 0, "00:00:00"),
    )
    for unit, column, number, text in good:
        more = f", 'timestamp_unit' = '{unit}', 'time_unit' = '{unit}'"
        rows = read(tmp_path, f'{{"{column}":{number}}}\n' * count, more)
        assert [row[column] for row in rows] == [text] * count
        (tmp_path / "rejects").unlink()
    year, day, part = "are not of the years 1 to 9999", "are not a time of day", "if they are"
    bad = (
        ("ns", "at", 253_402_300_800_000_000_000, 520, f"the nanoseconds {year}"),
        (
            "us",
            "at",
            AT["ns"],
            520,
            f"the microseconds {year}; {part} nanoseconds, set 'timestamp_unit' = 'ns'",
        ),
        (
            "ms",
            "at",
            AT["us"],
            520,
            f"the milliseconds {year}; {part} microseconds, set 'timestamp_unit' = 'us'",
        ),
        (
            "s",
            "at",
            AT["ms"],
            520,
            f"the seconds {year}; {part} milliseconds, set 'timestamp_unit' = 'ms'",
        ),
        ("s", "at", -62_135_596_801, 520, f"the seconds {year}"),
        ("s", "at", 10**60, 520, f"the seconds {year}"),
        ("s", "d", 2_932_897, 520, f"the days since 1970 {year}"),
        ("s", "d", 10**60, 520, f"the days since 1970 {year}"),
        ("s", "t", 86_400, 520, f"the seconds {day}; {part} milliseconds, set 'time_unit' = 'ms'"),
        (
            "us",
            "t",
            OF_DAY["ns"],
            520,
            f"the microseconds {day}; {part} nanoseconds, set 'time_unit' = 'ns'",
        ),
        ("ns", "t", 86_400_000_000_000, 520, f"the nanoseconds {day}"),
        ("us", "t", -1, 520, f"the microseconds {day}"),
        ("us", "t", 1.5, 513, "expected TIME, found a number with a fraction or an exponent"),
        ("us", "d", "1e3", 513, "expected DATE, found a number with a fraction or an exponent"),
    )
    for unit, column, value, code, reason in bad:
        more = f", 'timestamp_unit' = '{unit}', 'time_unit' = '{unit}'"
        assert read(tmp_path, f'{{"{column}":{value}}}\n' * count, more) == []
        rejects = [json.loads(line) for line in (tmp_path / "rejects").read_text().splitlines()]
        (tmp_path / "rejects").unlink()
        assert [(each["code"], each["reason"]) for each in rejects] == [
            (f"FSQL-E{code}", reason)
        ] * count


@pytest.mark.parametrize(
    ("unit", "number", "likely"),
    [
        ("ms", 0, None),
        ("ms", 1_000, None),
        ("ms", 86_400_000, None),
        ("ms", AT["s"], "s"),
        ("ms", AT["ms"], None),
        ("ms", 157_766_400_000_000, "us"),
        ("ms", 253_402_214_400_000, None),
        ("ms", AT["us"], "us"),
        ("ms", AT["ns"], "ns"),
        ("us", AT["ms"], "ms"),
        ("us", AT["s"], "s"),
        ("us", AT["us"], None),
        ("ns", AT["us"], "us"),
        ("s", AT["ms"], "ms"),
        ("s", AT["s"], None),
        ("ms", -AT["s"], None),
    ],
)
def test_a_number_that_seems_to_have_another_unit(
    unit: str, number: int, likely: str | None
) -> None:
    found = TimeUnits(Unit(unit)).likely_timestamp(number)
    assert (None if found is None else found.name) == likely


@pytest.mark.parametrize(
    ("unit", "numbers", "greater"),
    [
        ("us", [], None),
        ("us", [0], None),
        ("us", [OF_DAY["ms"], 5], "ms"),
        ("us", [OF_DAY["ms"], OF_DAY["us"]], None),
        ("ms", [OF_DAY["s"]], "s"),
        ("s", [5], None),
    ],
)
def test_times_that_seem_to_have_another_unit(
    unit: str, numbers: list[int], greater: str | None
) -> None:
    found = TimeUnits(time=Unit(unit)).greater_time(numbers)
    assert (None if found is None else found.name) == greater
