"""Rows that stop a job because their event time cannot be computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsql.tests.cli.commands import fsql

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("function", "error", "help_"),
    [
        (
            "CAST",
            'E503]: malformed row of table "t": the event time has no value: value cannot be cast',
            "correct the row: event time cannot be NULL",
        ),
        (
            "TRY_CAST",
            'E521]: malformed row of table "t": the event time is NULL',
            "Change the producer to write the value, or reject such rows; event time cannot be NULL.",
        ),
    ],
)
def test_the_line_of_a_row_whose_event_time_cannot_be_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str, error: str, help_: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.jsonl").write_text('{"s":"2026-01-01 12:00:00"}\n{"s":"1 January"}\n')
    script = (
        f"CREATE TABLE t (s STRING, at AS {function}(s AS TIMESTAMP), WATERMARK FOR at)"
        " WITH ('connector' = 'file', 'path' = 't.jsonl'); SELECT s FROM t"
    )
    code, out, err = fsql("run", "-q", "-e", script)
    assert (code, out) == (3, '{"s":"2026-01-01 12:00:00"}\n')
    assert err.splitlines() == [
        f"error[FSQL-{error}",
        " --> t.jsonl:2 (byte 28)",
        '  = note: the row is row 2 of file "t.jsonl"',
        "  = note: event time was 2026-01-01T12:00:00Z",
        "  = note: 1 row was released before the job stopped",
        f"  = help: {help_}",
        "  = help: to skip such rows, set 'on_error' = 'reject' and 'rejects_path' = '…'",
    ]


@pytest.mark.parametrize("at", ["9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z"])
@pytest.mark.parametrize(
    "query",
    [
        "SELECT window_end, COUNT(*) AS n FROM TUMBLE(t, at, INTERVAL '10' SECOND) GROUP BY window_end",
        "SELECT window_end, COUNT(*) n FROM HOP(t,at, INTERVAL '10' SECOND, INTERVAL '10' SECOND) GROUP BY 1",
    ],
)
def test_a_row_at_the_end_of_time_is_rejected_and_no_row_is_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str, query: str
) -> None:
    monkeypatch.chdir(tmp_path)
    times = ["2026-01-01T00:00:01Z", at, "2026-01-01T00:00:09Z", "2026-01-01T00:00:19Z"]
    (tmp_path / "t.jsonl").write_text("".join(f'{{"at":"{time}"}}\n' for time in times))
    script = (
        "CREATE TABLE t (at TIMESTAMP, WATERMARK FOR at AS at) WITH ('connector' = 'file',"
        f" 'path' = 't.jsonl', 'on_error' = 'reject', 'rejects_path' = 'rejects.jsonl'); {query}"
    )
    code, out, err = fsql("run", "-q", "-e", script)
    assert (code, out) == (
        0,
        '{"window_end":"2026-01-01T00:00:10Z","n":2}\n{"window_end":"2026-01-01T00:00:20Z","n":1}\n',
    ), err
    assert (tmp_path / "rejects.jsonl").read_text() == (
        '{"source":"t","split":"t.jsonl","row":1,"line":null,"byte":null,"code":"FSQL-E504","field":"",'
        f'"reason":"the event time {at} is outside of the years 2 to 9998","excerpt":""}}\n'
    )


def test_a_row_at_the_end_of_time_stops_a_job_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.jsonl").write_text('{"at":"2026-01-01"}\n{"at":"9999-12-31"}\n')
    script = (
        "CREATE TABLE t (at TIMESTAMP, WATERMARK FOR at AS at)"
        " WITH ('connector' = 'file', 'path' = 't.jsonl'); SELECT at FROM t"
    )
    code, out, err = fsql("run", "-q", "-e", script)
    assert (code, out) == (3, '{"at":"2026-01-01T00:00:00Z"}\n')
    reason = "the event time 9999-12-31T00:00:00Z is outside of the years 2 to 9998: timestamp out of range"
    assert err.splitlines() == [
        f'error[FSQL-E504]: malformed row of table "t": {reason}',
        " --> t.jsonl:2 (byte 20)",
        '  = note: the row is row 2 of file "t.jsonl"',
        "  = note: event time was 2026-01-01T00:00:00Z",
        "  = note: 1 row was released before the job stopped",
        "  = help: correct the row: event time is in the years 2 to 9998",
        "  = help: to skip such rows, set 'on_error' = 'reject' and 'rejects_path' = '…'",
    ]
