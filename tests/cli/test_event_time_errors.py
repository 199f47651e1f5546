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
