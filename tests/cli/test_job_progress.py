"""What is said while a run on processes goes on: each recovery, and why, and nothing again and again."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fsql.console.job_progress import JobProgress
from fsql.console.progress import NoProgress
from fsql.console.reporter import Reporter
from fsql.console.summary import summary_text
from fsql.job.process_metrics import ProcessMetrics
from fsql.runtime.batch import END, START, Root
from fsql.runtime.cluster.ticks.events import TickEnded
from fsql.runtime.dataflow.metrics import Metrics
from fsql.runtime.drivers.processes.lines import LineReader, ProgressReport, TickReport
from fsql.runtime.drivers.processes.supervised import Supervisor

if TYPE_CHECKING:
    import pytest

FULL = 'writing "out.jsonl": no space left on device'


def said(capsys: pytest.CaptureFixture[str], *courses: tuple[str, int, str]) -> str:
    shown = JobProgress(Reporter())
    metrics = ProcessMetrics()
    for phase, epoch, why in courses:
        report = ProgressReport(phase, epoch, why, Metrics(), (epoch // 10, 0))
        metrics.add(report)
        shown.on_report(report, metrics)
    return capsys.readouterr().err


class Shown(NoProgress):
    """Shows, in one word, what it is told."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def begin(self, activity: str) -> None:
        self.seen.append(activity)

    def update(self, metrics: Metrics) -> None:
        self.seen.append(f"{metrics.rows_in} rows")


def test_what_is_done_before_rows_flow_is_shown() -> None:
    shown, progress = JobProgress(Reporter(quiet=True)), Shown()
    shown.show(progress)
    metrics = ProcessMetrics()
    phases = ("waiting for workers", "loading state", "running", "loading state")
    for epoch, phase in enumerate(phases):
        report = ProgressReport(phase, epoch, "", Metrics(rows_in=7 * epoch), (0, 0))
        metrics.add(report)
        shown.on_report(report, metrics)
    assert progress.seen == ["starting processes", *phases[:2], "21 rows", "42 rows"]


def test_a_trouble_is_said_when_it_begins(capsys: pytest.CaptureFixture[str]) -> None:
    shown = JobProgress(Reporter())
    for problems in ((), ("one",), ("one", "two"), (), ("two",)):
        shown.on_report(
            ProgressReport("running", 1, "", Metrics(), (0, 0), problems), ProcessMetrics()
        )
    assert capsys.readouterr().err == "warning: one\nwarning: two\nwarning: two\n"


def test_a_tick_that_has_ended_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """From the coordinator's effect, over its pipe to the launcher, to standard error."""
    reading, writing = os.pipe()
    supervisor = Supervisor(reading, writing)
    taken = TickEnded(3, Root(1710, 4), 0.42, moved_bins=2048, changes=("policy of a: ordered",))
    refused = TickEnded(4, START, 1.5, refused="a worker declines")
    for effect in (taken, refused):
        supervisor.report(effect)
    ticks = [line for line in LineReader(reading).lines() if isinstance(line, TickReport)]
    for reporter in (Reporter(), Reporter(json=True), Reporter(quiet=True)):
        shown = JobProgress(reporter)
        for tick in ticks:
            shown.on_tick(tick)
    assert capsys.readouterr().err == (
        "tick 3 was taken at position 1710, 4 in 420 ms; 2,048 bins moved; policy of a: ordered\n"
        "tick 4 was refused: a worker declines\n"
        '{"event": "tick", "tick": 3, "state": "taken", "position": [1710, 4],'
        ' "seconds": 0.42, "moved_bins": 2048, "refused": "", "changes": ["policy of a: ordered"]}\n'
        '{"event": "tick", "tick": 4, "state": "refused", "position": null,'
        ' "seconds": 1.5, "moved_bins": 0, "refused": "a worker declines", "changes": []}\n'
    )
    for descriptor in (reading, writing):
        os.close(descriptor)


def test_a_beginning_is_no_recovery(capsys: pytest.CaptureFixture[str]) -> None:
    courses = (("waiting for workers", 0, ""), ("loading state", 4, ""), ("running", 4, ""))
    assert said(capsys, *courses) == ""


def test_what_keeps_happening_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    trying = [("waiting for workers", 0, FULL), ("reading the positions of outputs", 0, FULL)]
    courses = [("running", 1, ""), *(trying * 3), ("running", 2, FULL), *(trying * 3)]
    lines = [f"recovery: {phase} ({FULL})\n" for phase, _, _ in trying]
    running = f"recovery: running ({FULL})\n"
    assert said(capsys, *courses) == "".join([*lines, running])


def test_what_happens_again_behind_a_snapshot_is_said_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    trying, running = ("loading state", 2, FULL), ("running", 2, FULL)
    later = [(phase, 12, why) for phase, _, why in (trying, running)]
    lines = [f"recovery: {phase} ({FULL})\n" for phase, _, _ in (trying, running)]
    courses = [("running", 1, ""), trying, running, trying, running, *later, ("finished", 12, FULL)]
    assert said(capsys, *courses) == "".join([*lines, *lines])


def test_the_loss_of_the_coordinator_is_a_recovery(capsys: pytest.CaptureFixture[str]) -> None:
    courses = (("running", 1, ""), ("waiting for workers", 0, ""), ("running", 2, ""))
    assert said(capsys, *courses) == (
        "recovery: waiting for workers (the coordinator has ended)\n"
        "recovery: running (the coordinator has ended)\n"
    )


def test_the_counts_of_a_run_with_recoveries_are_approximate() -> None:
    [line] = [
        each
        for each in summary_text("finished", Metrics(recoveries=1)).splitlines()
        if "recoveries" in each
    ]
    assert line == "  recoveries      1  restarts from a snapshot; counts are approximate"


def test_what_holds_output_back_is_named() -> None:
    metrics = ProcessMetrics()
    metrics.name_fronts(["t (a)", "t (b)"])
    metrics.add(ProgressReport("running", 1, "", Metrics(), (0, 0), (), (1, 5, 7)))
    assert metrics.total.held_by == "t (b)"
    metrics.add(ProgressReport("running", 1, "", Metrics(), (0, 0), (), (0, END.time, END.origin)))
    assert (metrics.total.held_by, metrics.total.held_seconds) == ("", 0.0)
