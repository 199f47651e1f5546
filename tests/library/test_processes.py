"""The library on processes: results are those of one process, also where a worker is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import pytest

import fsql
from fsql.job import process_run
from fsql.job.silent_process_run import SilentObserver
from fsql.runtime.drivers.processes.process_role import processes_below, role_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fsql.job.process_metrics import ProcessMetrics
    from fsql.runtime.drivers.processes.lines import ProgressReport

pytestmark = pytest.mark.cluster

HANGS_AFTER_SECONDS: Final = 300.0
ATTEMPTS_MAX: Final = 5
ROWS: Final = 200_000
SCRIPT: Final = """
    CREATE TABLE numbers (k BIGINT, v BIGINT) WITH ('connector' = 'file', 'path' = 'in.jsonl');
    CREATE TABLE sums (k BIGINT, s BIGINT) WITH ('connector' = 'file', 'path' = '${to}');
    INSERT INTO sums SELECT k, SUM(v) AS s FROM numbers GROUP BY k
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = [f'{{"k":{number % 97},"v":{number}}}\n' for number in range(ROWS)]
    (tmp_path / "in.jsonl").write_text("".join(lines))
    return tmp_path


def run(folder: Path, to: str, **options: Any) -> Any:
    """Run the script; return what it did."""
    return fsql.Session(base_directory=folder, parameters={"to": to}).run(SCRIPT, **options)


def child_processes(kind: str) -> list[int]:
    """Return the workers, or the coordinator, that this process has started."""
    return sorted(pid for pid in processes_below(os.getpid()) if role_of(pid) == kind)


def kill_during(
    run_once: Callable[[Path], Any], kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Any, Path]:
    """Run a job, and kill a process of that kind once; return the metrics, and the state directory.

    On a busy machine the job may have ended before: then it is run again, with another state directory.
    """
    give_up_at = time.monotonic() + HANGS_AFTER_SECONDS
    killed: list[int] = []

    def kill_once(observer: object, report: ProgressReport, metrics: ProcessMetrics) -> None:
        del observer, metrics
        assert time.monotonic() < give_up_at, f"the run hangs: {report}"
        for pid in child_processes(kind)[: report.phase == "running" and not killed]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

    monkeypatch.setattr(SilentObserver, "on_report", kill_once)
    for attempt in range(ATTEMPTS_MAX):
        killed.clear()
        state = folder / f"state {attempt}"
        metrics = run_once(state)
        if killed and metrics.recoveries:
            return metrics, state
    raise AssertionError("every kill came too late")


def test_a_killed_worker_does_not_show_in_the_output(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_once(state: Path) -> Any:
        (folder / "sums.jsonl").unlink(missing_ok=True)
        return run(folder, "sums.jsonl", processes=2, state=state)

    run(folder, "right.jsonl")
    _, state = kill_during(run_once, "worker", folder, monkeypatch)
    assert (folder / "sums.jsonl").read_bytes() == (folder / "right.jsonl").read_bytes()
    assert child_processes("worker") == []

    # The state says that the job has finished: what is written stays as it is.
    run(folder, "sums.jsonl", processes=2, state=state)
    assert (folder / "sums.jsonl").read_bytes() == (folder / "right.jsonl").read_bytes()


WITH_LONG_TIMEOUTS: Final = """
import sys
from dataclasses import replace
from fsql.job import entry_points
from fsql.job.description import PreparedJob
from fsql.runtime.drivers.processes.job_state import open_job_state
from fsql.cli import main

settings = PreparedJob.settings
PreparedJob.settings = lambda job: replace(settings(job), failure_after=3600.0)
entry_points.open_job_state = lambda *given, **named: open_job_state(*given, **named, lease_seconds=3600.0)
sys.argv[0] = "coordinator"
main()
"""


def test_a_killed_coordinator_is_not_waited_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither its lease nor the silence of its workers has to time out: here that would take an hour."""
    command = (sys.executable, "-P", "-c", WITH_LONG_TIMEOUTS)
    monkeypatch.setattr(process_run, "COMMAND", command)

    def run_once(state: Path) -> Any:
        (folder / "sums.jsonl").unlink(missing_ok=True)
        return run(folder, "sums.jsonl", processes=2, state=state)

    run(folder, "right.jsonl")
    metrics, _ = kill_during(run_once, "coordinator", folder, monkeypatch)
    assert metrics.recoveries == 1
    assert (folder / "sums.jsonl").read_bytes() == (folder / "right.jsonl").read_bytes()


def test_output_that_is_not_empty_is_refused(folder: Path) -> None:
    (folder / "sums.jsonl").write_text("kept\n")
    with pytest.raises(fsql.ConnectorError) as raised:
        run(folder, "sums.jsonl", processes=1)
    assert raised.value.code == "E541"
    assert (folder / "sums.jsonl").read_text() == "kept\n"


def test_a_row_that_fails_is_a_data_error(folder: Path) -> None:
    script = SCRIPT.replace("SUM(v)", "SUM(1 / (v - 7))")
    with pytest.raises(fsql.DataError) as raised:
        fsql.Session(base_directory=folder, parameters={"to": "out"}).run(script, processes=2)
    assert raised.value.code == "E501"
    assert "row 8 of file" in str(raised.value)


def test_tables_of_the_program_stay_in_one_process() -> None:
    with pytest.raises(fsql.ConnectorError) as raised:
        fsql.run("SELECT n FROM t", tables={"t": [{"n": 1}]}, processes=2)
    (diagnostic,) = raised.value.diagnostics
    assert (diagnostic.code, diagnostic.message) == (
        "E542",
        'table "t" is in the memory of this program, and other processes cannot read it',
    )


def test_what_processes_need_is_imported_with_the_first_of_them() -> None:
    command = "import sys, fsql; fsql.sql; print('zmq' in sys.modules)"
    said = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, check=True
    )
    assert said.stdout == "False\n"
