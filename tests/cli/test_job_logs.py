"""The log of a job: its own events have a time, and lines that look like events are shown as they are."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from fsql.console.job_logs import print_logs

if TYPE_CHECKING:
    from pathlib import Path


class Job:
    """A directory of a job that has only a log."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.log = path / "log"


OUTPUT_LINES = (
    '{"event":"click","user":1}',
    '{"ts":"2026-01-01","event":"click"}',
    '{"ts":null,"event":"click"}',
    '{"ts":1e300,"event":"click"}',
    '{"ts":NaN,"event":"click"}',
    '{"ts":true,"event":"click"}',
    '{"ts":1,"event":7}',
    "no object",
)


@pytest.mark.parametrize("line", OUTPUT_LINES)
def test_a_line_without_the_time_of_an_event_is_not_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    job = Job(tmp_path)
    job.log.write_text(f"{line}\n")
    print_logs(job, 10, follow=False, as_json=False)  # type: ignore[arg-type]
    assert capsys.readouterr().out == f"{line}\n"
    print_logs(job, 10, follow=False, as_json=True)  # type: ignore[arg-type]
    expected = json.dumps({"ts": None, "event": "output", "line": line})
    assert capsys.readouterr().out == f"{expected}\n"


def test_an_event_is_shown_with_its_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = Job(tmp_path)
    job.log.write_text('{"ts":1767225600.5,"event":"ready","splits":["a b"]}\n')
    print_logs(job, 10, follow=False, as_json=False)  # type: ignore[arg-type]
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(1767225600))
    assert capsys.readouterr().out == f'{when} ready splits=["a b"]\n'
