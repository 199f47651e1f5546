"""What is seen while a job runs, drawn from metrics and a clock that tests make up."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from fsql.console.panel import Panel, operator_labels
from fsql.console.progress import ProgressLines, progress_line
from fsql.console.rates import Rates
from fsql.console.reporter import Reporter
from fsql.console.summary import FINISHED, INTERRUPTED, summary_fields, summary_text
from fsql.job.compilation import compile_job
from fsql.job.overview import JobOverview, Sink, Source, describe_job
from fsql.job.script_file import read_script, script_of_text
from fsql.job.sources import open_splits
from fsql.runtime.dataflow.metrics import Metrics, OperatorMetrics, SinkMetrics, SourceMetrics

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

METRICS = Metrics(
    rows_in=1_234_567,
    bytes_in=9_876_543,
    rows_out=45_678,
    rows_late=3,
    rows_rejected=0,
    unknown_fields=567,
    rows_redone=12,
    rows_held=34,
    rows_state=56_789,
    messages=4_321,
    acknowledgements=1_234,
    releases=99,
    seconds=4.0,
    seconds_behind=0.0125,
)


def clock(*times: float) -> Callable[[], float]:
    return iter(times).__next__


def test_summary() -> None:
    assert summary_text(FINISHED, METRICS) == (
        "finished after 4.0 s\n"
        "  rows in       1,234,567  308,642/s\n"
        "  rows out         45,678  11,420/s\n"
        "  bytes in        9.4 MiB  2.4 MiB/s\n"
        "  late                  3  too late for their windows or joins\n"
        "  rejected              0  malformed rows\n"
        "  unknown             567  fields that their table does not declare\n"
        "  state            56,789  rows and groups at the end\n"
        "  held                 34  rows that waited for earlier rows\n"
        "  repairs              12  rows recomputed after late arrival\n"
        "  messages          4,321\n"
        "  acknowledged      1,234\n"
        "  releases             99\n"
    )


def test_a_summary_says_what_was_not_released_and_why() -> None:
    metrics = Metrics(rows_unreleased=12, held_by="clicks (socket)", held_seconds=90.0)
    assert summary_text(INTERRUPTED, metrics).splitlines()[-2:] == [
        "  unreleased     12  rows read, but not yet released",
        "  output was waiting for clicks (socket), for 1:30",
    ]


def test_a_line_names_what_holds_output_back() -> None:
    metrics = Metrics(held_by="clicks (socket)", held_seconds=2.5)
    assert progress_line(metrics, Rates(), JobOverview()).endswith(
        "  waiting for clicks (socket) for 2.5 s\n"
    )
    assert "waiting" not in progress_line(
        replace(metrics, held_seconds=1.9), Rates(), JobOverview()
    )


def test_summary_of_no_time_has_no_rates() -> None:
    assert summary_text(FINISHED, Metrics()).splitlines()[1] == "  rows in         0"
    assert "rows_in_per_second" not in summary_fields(FINISHED, Metrics())


def test_rates_are_those_of_late() -> None:
    rates = Rates()
    for second, rows in ((1.0, 100), (2.0, 200), (3.0, 500), (4.0, 800)):
        rates.add(Metrics(seconds=second, rows_in=rows, rows_out=rows // 10))
    assert (rates.rows_in, rates.rows_out) == ("300/s", "30/s")


def test_a_line_every_ten_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    lines = ProgressLines(Reporter(), JobOverview(), clock(0.0, 5.0, 10.0, 19.9, 20.5))
    for seconds in (5.0, 10.0, 19.9, 20.5):
        lines.update(Metrics(rows_in=int(seconds * 100), seconds=seconds))
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        "10.0 s  in 1,000 (100/s)  out 0 (0/s)  freshness 0 ms  state 0 (0 B)  late 0  rejected 0\n"
        "20.5 s  in 2,050 (100/s)  out 0 (0/s)  freshness 0 ms  state 0 (0 B)  late 0  rejected 0\n"
    )


def test_a_line_of_json_every_ten_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    ProgressLines(Reporter(json=True), JobOverview(), clock(0.0, 10.0)).update(METRICS)
    event = json.loads(capsys.readouterr().err)
    assert (event["event"], event["rows_in"]) == ("progress", METRICS.rows_in)


@pytest.mark.parametrize("width", [80, 120])
def test_panel(width: int) -> None:
    console = Console(file=io.StringIO(), width=width, no_color=True)
    panel = Panel("top_speeds/query.sql [x]", JobOverview(), coloured=False, console=console)
    panel.update(Metrics(rows_in=1_000_000, seconds=2.0))
    panel.update(METRICS)
    with console.capture() as capture:
        console.print(panel.render())
    assert capture.get() == (
        "╭─ top_speeds/query.sql [x] ───────────────────────────────────────────────────╮\n"
        "│ rows in          1,234,567     117,284/s rows out         45,678    22,839/s │\n"
        "│ bytes              9.4 MiB               freshness         12 ms             │\n"
        "│ state               56,789           0 B late                  3             │\n"
        "│ repairs                 12               rejected              0             │\n"
        "╰────────────────────────────────────────────────────────────────── █▃  4.0 s ─╯\n"
    )


def test_a_line_that_stays_stands_above_the_panel() -> None:
    screen = io.StringIO()
    console = Console(file=screen, width=40, force_terminal=True, no_color=True)
    with Panel("q.sql", JobOverview(), coloured=False, console=console) as panel:
        screen.truncate(0)
        panel.print_line("recovery: running [1] (a worker that was lost has a long name)")
        wiped, line, box = screen.getvalue().partition("recovery: running [1] (")
        assert "╰" not in wiped
        assert box.startswith("a worker that was lost has a long name)\n")
        assert line
        assert "╭─ q.sql " in box


def test_a_panel_before_the_first_row() -> None:
    console = Console(file=io.StringIO(), width=40, no_color=True)
    with console.capture() as capture:
        console.print(Panel("q.sql", JobOverview(), coloured=False, console=console).render())
    assert capture.get() == (
        "╭─ q.sql ──────────────────────────────╮\n"
        "│ reading …                            │\n"
        "╰──────────────────────────────────────╯\n"
    )


WINDOWS = """
CREATE TABLE clicks (page STRING, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '5' SECOND)
    WITH ('connector' = 'file', 'path' = 'clicks.jsonl');
CREATE TABLE counts (n BIGINT) WITH ('connector' = 'file', 'path' = 'counts.jsonl');
INSERT INTO counts
SELECT COUNT(*) FROM TUMBLE(clicks, at, INTERVAL '10' SECOND) GROUP BY window_start, window_end;
"""
NOON_US = 1_767_268_800_000_000


def described(folder: Path, text: str, **files: str) -> JobOverview:
    """Return the overview of a script over files."""
    for name, content in files.items():
        (folder / f"{name}.jsonl").write_text(content)
    script = folder / "q.sql"
    script.write_text(text)
    result = compile_job(read_script(str(script), {}))
    return describe_job(result.job, open_splits(result))


def test_a_panel_names_what_is_read_and_written_and_how_far_it_is(tmp_path: Path) -> None:
    overview = described(tmp_path, WINDOWS, clicks="x" * 1000)
    metrics = Metrics(
        rows_in=10,
        bytes_in=250,
        seconds=1.0,
        held_by="clicks (clicks.jsonl)",
        held_seconds=3.0,
        min_time=NOON_US + 7_500_000,
        rows_state=1,
        bytes_state=2_000,
        operators={
            "read": OperatorMetrics(0.5),
            "Scan": OperatorMetrics(0.25, 1_000),
            "aggregate-9808ce26ad1f": OperatorMetrics(1.5, 12_345),
        },
        sources={"clicks": SourceMetrics(rows=10, bytes=500, bytes_passed=250)},
        sinks={"counts": SinkMetrics(3)},
    )
    console = Console(file=io.StringIO(), width=80, no_color=True)
    panel = Panel("q.sql", overview, coloured=False, console=console)
    panel.update(metrics)
    with console.capture() as capture:
        console.print(panel.render())
    assert capture.get() == (
        "╭─ q.sql ──────────────────────────────────────────────────────────────────────╮\n"
        "│ rows in                  10           10/s rows out                  0   0/s │\n"
        "│ bytes                 250 B                freshness              0 ms       │\n"
        "│ state                     1        2.0 KiB late                      0       │\n"
        "│ repairs                   0                rejected                  0       │\n"
        "│ sources   clicks (clicks.jsonl) 10 rows 25%                                  │\n"
        "│ sinks     counts (counts.jsonl)  3 rows                                      │\n"
        "│ read      █████░░░░░░░░░░░░░░░ 25% of 1000 B                                 │\n"
        "│ min time  2026-01-01T12:00:07.500Z, held by clicks (clicks.jsonl)            │\n"
        "│ watermark 2026-01-01T12:00:02.500Z                                           │\n"
        "│ operators aggregate 12,345 rows  1.5 s                                       │\n"
        "│           read                  500 ms                                       │\n"
        "│           Scan       1,000 rows 250 ms                                       │\n"
        "│ waiting for clicks (clicks.jsonl) for 3.0 s                                  │\n"
        "╰─────────────────────────────────────────────────────────────────── █  1.0 s ─╯\n"
    )
    assert progress_line(metrics, Rates(), overview).endswith(
        "  min time 2026-01-01T12:00:07.500Z  waiting for clicks (clicks.jsonl) for 3.0 s\n"
    )
    assert progress_line(metrics, Rates(), overview).startswith("1.0 s  25% of 1000 B  in 10")


def test_a_table_without_event_time_is_at_a_row(tmp_path: Path) -> None:
    text = "CREATE TABLE t (n BIGINT) WITH ('connector' = 'file', 'path' = '*.jsonl'); SELECT n FROM t;"
    overview = described(tmp_path, text, a="", b="", c="", d="{}\n")
    assert overview.sources == [Source("t", "t (a.jsonl, b.jsonl, c.jsonl, 1 more)", 3)]
    assert overview.sinks == [Sink("stdout", "standard output")]
    assert overview.input_bytes == 3
    assert overview.min_time_text("t (d.jsonl)", 1_234) == "row 1,234"
    assert overview.watermark_text("t (d.jsonl)", 1_234) == ""


def test_the_size_of_live_input_is_not_known() -> None:
    script = "CREATE TABLE t (n BIGINT) WITH ('connector' = 'stdin'); SELECT n FROM t;"
    result = compile_job(script_of_text(script, {}))
    overview = describe_job(result.job, open_splits(result))
    assert (overview.sources, overview.input_bytes) == ([Source("t", "t (stdin)")], None)


def test_operators_of_one_kind_keep_a_part_of_their_hash() -> None:
    names = ["read", "join-9808ce26ad1f", "over-1d6aa0ce35f2", "over-77f0a1b2c3d4"]
    assert operator_labels(names) == {
        "read": "read",
        "join-9808ce26ad1f": "join",
        "over-1d6aa0ce35f2": "over-1d6a",
        "over-77f0a1b2c3d4": "over-77f0",
    }
