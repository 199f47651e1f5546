"""The picture of a job's history: curves of workers, marks and lines of ticks, damaged statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree

from fsql.compiler.plan_choices import NO_CHOICES
from fsql.console.tick_picture import CURVES, history_svg
from fsql.optimizer.collectors.history import WorkerInterval, worker_history
from fsql.runtime.coordination.ticks import TickProposal, TickRecord
from fsql.tests.unit.optimizer.recorded import record

if TYPE_CHECKING:
    from pathlib import Path


def tick(number: int, at: float, reason: str, refused: str = "", moved: int = 0) -> TickRecord:
    proposal = TickProposal(number, "graph", 2, (), reason, at, 2, NO_CHOICES)
    return TickRecord(proposal, None if refused else (9, 0), 0.5, moved, refused)


def drawn(svg: str) -> tuple[list[str], int]:
    """Return the texts that are not numbers of axes, and how many curves there are with their legend."""
    elements = list(ElementTree.fromstring(svg).iter())
    texts = [element.text or "" for element in elements if element.tag.endswith("}text")]
    names = [each for each in texts if each and not each.isdecimal() and not each.endswith(" %")]
    return names, sum(element.tag.endswith("}polyline") for element in elements)


def history(workers: int) -> list[WorkerInterval]:
    return [
        WorkerInterval(worker, 1000.0 + 10 * step, 1010.0 + 10 * step, 0.1 * (worker % 10))
        for worker in range(workers)
        for step in range(6)
    ]


def test_what_is_drawn() -> None:
    records = [
        tick(1, 900.0, "before there are statistics", moved=7),
        tick(2, 1020.0, 'auto: "a" < b & c', moved=1200),
        tick(3, 1020.2, "", refused="it was proposed for another plan than the job has now"),
    ]
    svg = history_svg("words & more", history(2), records)
    texts, curves = drawn(svg)
    [since] = [each for each in texts if each.startswith("seconds since ")]
    assert [each for each in texts if each != since] == [
        "words & more",
        "worker 0",
        "worker 1",
        'tick 2: 1,200 bins moved, in 500 ms; auto: "a" < b & c',
        "tick 3: refused: it was proposed for another plan than the job has now",
        "ticks that are not shown: 1",
    ]
    assert curves == 2 * 2
    assert svg.count('class="mark"') == 2
    assert history_svg("words & more", history(2), records) == svg


def test_many_workers_are_three_curves() -> None:
    texts, curves = drawn(history_svg("many", history(CURVES + 1), []))
    assert [each for each in texts if "seconds" not in each] == [
        *("many", "busiest worker", "mean of 7 workers", "idlest worker", "no ticks")
    ]
    assert curves == 2 * 3


def test_without_statistics() -> None:
    texts, curves = drawn(history_svg("none", [], [tick(1, 900.0, "why")]))
    said = "no statistics: the load of workers is not known"
    assert texts == ["none", "seconds", said, "ticks that are not shown: 1"]
    assert curves == 0


def test_all_intervals_are_read_and_damaged_files_left_out(tmp_path: Path) -> None:
    record(tmp_path, workers=2, intervals=20)
    found, problems = worker_history(tmp_path)
    assert [each.worker for each in found] == [0] * 20 + [1] * 19
    assert problems == ()
    assert all(0 < each.busy < 1 for each in found)
    damaged = min((tmp_path / "statistics" / "operators").iterdir())
    damaged.write_bytes(b"not Parquet")
    fewer, problems = worker_history(tmp_path)
    assert fewer == found[1:]
    assert [each.startswith(f'"{damaged}" is skipped: ') for each in problems] == [True]
