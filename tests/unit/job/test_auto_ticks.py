"""When the next tick is chosen: as soon as there is something new to choose by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fsql.job.auto_ticks import _Chooser
from fsql.optimizer.collectors.written_results import results_bytes, results_file
from fsql.optimizer.statistics import Statistics

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EVERY = 10.0


class Passing:
    """An event that is never set; while it is waited for, time passes, and files are written."""

    def __init__(self) -> None:
        self.now = 0.0
        self.steps: dict[float, Callable[[], object]] = {}

    def wait(self, seconds: float) -> bool:
        self.now += seconds
        for at in [each for each in self.steps if each <= self.now]:
            self.steps.pop(at)()
        return False


@pytest.fixture
def passing(monkeypatch: pytest.MonkeyPatch) -> Passing:
    event = Passing()
    monkeypatch.setattr("fsql.job.auto_ticks.time.monotonic", lambda: event.now)
    return event


@pytest.fixture
def chooser(tmp_path: Path) -> _Chooser:
    class Job:
        class description:  # noqa: N801
            tick_seconds = EVERY

    job: Any = Job()
    return _Chooser(job, tmp_path, hosted=False)


def write(state: Path, interval: int, *workers: int) -> None:
    folder = state / "statistics" / "operators"
    folder.mkdir(parents=True, exist_ok=True)
    for worker in workers:
        (folder / f"{interval:012}-1-{worker}.parquet").touch()


def test_a_tick_is_chosen_when_all_workers_have_written_an_interval(
    tmp_path: Path, chooser: _Chooser, passing: Passing
) -> None:
    over: Any = passing
    write(tmp_path, 6, 0, 1)
    passing.steps = {
        3.0: lambda: write(tmp_path, 7, 0),
        4.0: lambda: write(tmp_path, 7, 1),
        13.5: lambda: write(tmp_path, 8, 0, 1),
    }
    chosen = [(chooser.wait(over), passing.now) for _ in range(3)]
    assert chosen == [(True, 0.25), (True, 4.0), (True, 13.5)]


def test_a_worker_that_writes_nothing_is_not_waited_for(
    tmp_path: Path, chooser: _Chooser, passing: Passing
) -> None:
    over: Any = passing
    write(tmp_path, 7, 0, 1)
    passing.steps = {9.0: lambda: write(tmp_path, 8, 0)}
    chosen = [(chooser.wait(over), passing.now) for _ in range(2)]
    assert chosen == [(True, 0.25), (True, 0.25 + 1.5 * EVERY)]


def test_results_of_a_service_are_waited_for_while_it_keeps_up(
    tmp_path: Path, chooser: _Chooser, passing: Passing
) -> None:
    over: Any = passing

    def collected(interval: int) -> None:
        results_file(tmp_path).write_bytes(results_bytes(interval, Statistics()))

    write(tmp_path, 7, 0, 1)
    collected(7)
    passing.steps = {
        10.0: lambda: write(tmp_path, 8, 0, 1),
        11.5: lambda: collected(8),
        20.0: lambda: write(tmp_path, 9, 0, 1),
    }
    chosen = [(chooser.wait(over), passing.now) for _ in range(3)]
    assert chosen == [(True, 0.25), (True, 11.5), (True, 20.0 + 0.4 * EVERY)]
