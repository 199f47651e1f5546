"""Malformed and late rows: counted, and written where the script says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from fsql.tests.cli.commands import fsql, on_workers

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """\
CREATE TABLE events (
    at TIMESTAMP, row STRING, n BIGINT,
    WATERMARK FOR at AS at
) WITH (
    'connector' = 'file', 'path' = 'events', 'on_error' = 'reject', 'rejects_path' = 'rejects.jsonl'
);
CREATE TABLE sums (window_end TIMESTAMP, total BIGINT) WITH (
    'connector' = 'file', 'path' = 'sums.jsonl', 'late_path' = 'late.jsonl'
);
INSERT INTO sums
SELECT window_end, SUM(n) AS total FROM TUMBLE(events, at, INTERVAL '10' SECOND)
GROUP BY window_start, window_end;
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a directory with the script and two splits, one with rows that are late or malformed."""
    (tmp_path / "sums.sql").write_text(SCRIPT)
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "a.jsonl").write_text(
        '{"at":"2024-01-01T00:00:01Z","row":"a0","n":1}\n'
        "\n"
        '{"at":"2024-01-01T00:00:11Z","row":"a1","n":2}\n'
        '{"at":"2024-01-01T00:00:09Z","row":"a2","n":4}\n'
        '{"at":"2024-01-01T00:00:12Z","row":"a3","n":"8"}\n'
        '{"at":null,"row":"a4","n":16}\n'
    )
    (tmp_path / "events" / "b.jsonl").write_text(
        '{"at":"2024-01-01T00:00:05Z","row":"b0","n":32}\nnot JSON\n'
    )
    return tmp_path


@pytest.mark.parametrize(
    "flags", [("--workers=1",), on_workers("--workers=3"), ("--engine=model",)]
)
def test_dead_letters_and_late_rows_are_written(folder: Path, flags: tuple[str, ...]) -> None:
    code, out, err = fsql("run", "--json", folder / "sums.sql", *flags)
    assert (code, out) == (0, "")
    summary = json.loads(err.splitlines()[-1])
    counted = {
        name: summary[name] for name in ("rows_in", "rows_out", "rows_late", "rows_rejected")
    }
    assert counted == {"rows_in": 7, "rows_out": 2, "rows_late": 1, "rows_rejected": 3}
    assert (folder / "sums.jsonl").read_text() == (
        '{"window_end":"2024-01-01T00:00:10Z","total":33}\n'
        '{"window_end":"2024-01-01T00:00:20Z","total":2}\n'
    )
    assert (folder / "late.jsonl").read_text() == (
        '{"at":"2024-01-01T00:00:09Z","row":"a2","n":4,"window_start":"2024-01-01T00:00:00Z",'
        '"window_end":"2024-01-01T00:00:10Z","window_time":"2024-01-01T00:00:09.999999Z",'
        '"source":"events","split":"a.jsonl","_row":2,"reason":"its window had closed"}\n'
    )
    dead_letters = [
        json.loads(line) for line in (folder / "rejects.jsonl").read_text().splitlines()
    ]
    columns = ("split", "row", "line", "byte", "code", "field")
    assert [tuple(dead_letter[column] for column in columns) for dead_letter in dead_letters] == [
        ("b.jsonl", 1, 2, 48, "FSQL-E511", ""),
        ("a.jsonl", 3, 5, 142, "FSQL-E513", "n"),
        ("a.jsonl", 4, 6, 191, "FSQL-E521", "at"),
    ]
    assert dead_letters[1] == {
        "source": "events",
        "split": "a.jsonl",
        "row": 3,
        "line": 5,
        "byte": 142,
        "code": "FSQL-E513",
        "field": "n",
        "reason": "expected BIGINT, found a string",
        "excerpt": '{"at":"2024-01-01T00:00:12Z","row":"a3","n":"8"}',
    }


def test_without_a_path_they_are_counted(folder: Path) -> None:
    script = SCRIPT.replace(", 'rejects_path' = 'rejects.jsonl'", "")
    script = script.replace(", 'late_path' = 'late.jsonl'", "")
    (folder / "sums.sql").write_text(script)
    code, _, err = fsql("run", folder / "sums.sql")
    assert code == 0
    words = [line.split() for line in err.splitlines()]
    counted = {
        name: count for name, count, *_ in (w for w in words if len(w) > 1) if count.isdigit()
    }
    assert (counted["late"], counted["rejected"]) == ("1", "3")
    assert sorted(path.name for path in folder.glob("*.jsonl")) == ["sums.jsonl"]


def test_what_precedes_a_stop_is_written(folder: Path) -> None:
    # The error comes behind the first reject and before the late row: of each the one part is written.
    script = SCRIPT.replace("SUM(n) AS total", "SUM(10 / (n - 2)) AS total")
    (folder / "sums.sql").write_text(script)
    code, _, _ = fsql("run", "-q", folder / "sums.sql")
    assert code == 3
    assert (folder / "rejects.jsonl").read_text().count("\n") == 1
    assert (folder / "late.jsonl").read_text() == ""


TWO_WINDOWS = """\
CREATE TABLE events (at TIMESTAMP, n BIGINT, WATERMARK FOR at AS at)
    WITH ('connector' = 'file', 'path' = 'events', 'on_error' = 'reject');
CREATE VIEW tens AS
SELECT window_end, SUM(n) AS n FROM TUMBLE(events, at, INTERVAL '10' SECOND)
GROUP BY window_start, window_end;
CREATE TABLE sums (window_end TIMESTAMP, n BIGINT)
    WITH ('connector' = 'file', 'path' = 'sums.jsonl', 'late_path' = 'sums_late.jsonl');
CREATE TABLE both_sums (window_end TIMESTAMP, n BIGINT)
    WITH ('connector' = 'file', 'path' = 'both.jsonl', 'late_path' = 'both_late.jsonl');
INSERT INTO sums SELECT window_end, n FROM tens;
INSERT INTO both_sums
SELECT window_end, n FROM tens
UNION ALL
SELECT window_end, COUNT(*) AS n FROM TUMBLE(events, at, INTERVAL '5' SECOND)
GROUP BY window_start, window_end;
"""


@pytest.mark.parametrize("flags", [on_workers("--workers=2"), ("--engine=model",)])
def test_each_insert_has_the_late_rows_of_its_own_windows(
    folder: Path, flags: tuple[str, ...]
) -> None:
    (folder / "sums.sql").write_text(TWO_WINDOWS)
    assert fsql("run", "-q", folder / "sums.sql", *flags) == (0, "", "")

    def late_ends(name: str) -> list[str]:
        rows = [json.loads(line) for line in (folder / name).read_text().splitlines()]
        return [f"{row['at'][17:19]} in {row['window_end'][17:19]}" for row in rows]

    assert late_ends("sums_late.jsonl") == ["09 in 10"]
    assert sorted(late_ends("both_late.jsonl")) == ["09 in 10", "09 in 10"]
