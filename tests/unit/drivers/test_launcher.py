"""The launcher with processes that are only scripts: what it starts again, and when it gives up."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fsql.runtime.drivers.processes import launcher
from fsql.runtime.drivers.processes.launcher import GivenUpError, Launcher
from fsql.runtime.drivers.processes.lines import Finished, LineReader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.runtime.drivers.processes.lines import Line, ProgressReport

OVER = '{"type":"Finished","stopped":null,"diagnostics":null,"refused":null}'
COURSE = (
    '{"type":"ProgressReport","phase":"running","epoch":%d,"detail":"",'
    '"metrics":{"rows_in":%d,"releases":0,"snapshots":0},"begins":[%d,0]}'
)

RUNNING = f"print('{COURSE}' % (1, 1, 0), flush=True)\n"
ENDS = f"print('{OVER}', flush=True)"


@pytest.fixture(autouse=True)
def _nothing_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a script that says little not be taken for one that hangs, however busy the machine is."""
    monkeypatch.setattr(launcher, "HUNG_SECONDS", 600.0)


def script(text: str) -> list[str]:
    return [sys.executable, "-c", f"import sys, os, time\n{text}"]


def launched(coordinator: str, worker: str = "sys.stdin.read()", workers: int = 1) -> Finished:
    courses: list[ProgressReport] = []
    return Launcher(
        script(coordinator), script(worker), (workers, 0), courses.append, lambda: None
    ).run()


def test_a_run_ends_when_the_coordinator_says_so() -> None:
    assert launched(f"print('{OVER}', flush=True)") == Finished(None, None, None)


@pytest.mark.usefixtures("many_open_files")
def test_a_program_with_many_open_files_starts_a_run() -> None:
    assert launched(f"print('{OVER}', flush=True)") == Finished(None, None, None)


def test_a_worker_that_ends_is_started_again_and_the_coordinator_is_told(tmp_path: Path) -> None:
    once = str(tmp_path / "once")
    address = '{"type":"WorkerAddress","address":"%d"}'
    worker = (
        f"print('{address}' % os.getpid(), flush=True)\n"
        f"if not os.path.exists({once!r}):\n"
        f" open({once!r}, 'w')\n time.sleep(0.3)\n sys.exit(1)\n"
        "sys.stdin.read()"
    )
    coordinator = (
        "line = sys.stdin.readline()\n"
        f"assert 'WorkerExitNotice' in line\nprint('{OVER}', flush=True)"
    )
    assert launched(coordinator, worker) == Finished(None, None, None)


def test_a_coordinator_that_ends_is_started_again(tmp_path: Path) -> None:
    once = str(tmp_path / "once")
    coordinator = (
        f"if not os.path.exists({once!r}):\n open({once!r}, 'w')\n os.kill(os.getpid(), 9)\n"
    )
    assert launched(coordinator + f"print('{OVER}', flush=True)") == Finished(None, None, None)


def test_it_is_told_when_a_coordinator_has_ended(tmp_path: Path) -> None:
    pids, ended = tmp_path / "pids", list[bool]()
    coordinator = (
        f"with open({str(pids)!r}, 'a') as file: file.write(f'{{os.getpid()}}\\n')\n"
        f"if len(open({str(pids)!r}).readlines()) < 2: os.kill(os.getpid(), 9)\n"
    )

    def on_ended() -> None:
        (pid,) = pids.read_text().split()
        ended.append(not Path(f"/proc/{pid}").exists())

    Launcher(
        script(coordinator + ENDS),
        script("sys.stdin.read()"),
        (1, 0),
        lambda _: None,
        lambda: None,
        on_coordinator_ended=on_ended,
    ).run()
    assert ended == [True]


def test_what_a_process_said_before_it_ended_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker says where it is, and ends, just after the launcher has looked for its lines."""
    go = tmp_path / "go"
    os.mkfifo(go)

    class Late(LineReader):
        started = 0

        def __init__(self, descriptor: int) -> None:
            super().__init__(descriptor)
            Late.started += 1
            self._waits = Late.started == 2  # the coordinator is started first

        def lines(self) -> Iterator[Line]:
            yield from super().lines()
            if self._waits:
                self._waits = False
                go.open("w").close()
                os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)

    monkeypatch.setattr(launcher, "LineReader", Late)
    once = str(tmp_path / "once")
    worker = (
        f"if os.path.exists({once!r}): sys.exit(sys.stdin.read())\n"
        f"open({once!r}, 'w')\n"
        f"open({str(go)!r}).close()\n"
        'print(\'{"type":"WorkerAddress","address":"here"}\', flush=True)'
    )
    coordinator = f"line = sys.stdin.readline()\nassert 'here' in line\nprint('{OVER}', flush=True)"
    assert launched(coordinator, worker) == Finished(None, None, None)


def test_a_process_that_falls_silent_is_started_again_but_has_time_to_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launcher, "HUNG_SECONDS", 0.3)
    times = str(tmp_path / "times")
    coordinator = (
        f"open({times!r}, 'a').write('x')\n"
        f"first = os.path.getsize({times!r}) == 1\n"
        "time.sleep(0 if first else 1)\n"
        f"if first:\n {RUNNING} time.sleep(600)\n"
    )
    assert launched(coordinator + ENDS, workers=0) == Finished(None, None, None)
    assert (tmp_path / "times").read_text() == "xx"


def test_a_process_that_computes_in_silence_is_not_taken_for_one_that_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launcher, "HUNG_SECONDS", 1.0)
    times = tmp_path / "times"
    step = (
        f"open({str(times)!r}, 'a').write('x')\n"
        "until = time.monotonic() + 3\nwhile time.monotonic() < until: pass\n"
    )
    assert launched(RUNNING + step + ENDS, workers=0) == Finished(None, None, None)
    assert times.read_text() == "x"


def test_a_process_that_computes_in_silence_is_killed_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launcher, "HUNG_SECONDS", 0.4)
    monkeypatch.setattr(launcher, "HUNG_SECONDS_MAX", 1.0)
    times = tmp_path / "times"
    step = (
        f"open({str(times)!r}, 'a').write('x')\nwhile os.path.getsize({str(times)!r}) == 1: pass\n"
    )
    assert launched(RUNNING + step + ENDS, workers=0) == Finished(None, None, None)
    assert times.read_text() == "xx"


def test_a_launcher_gives_up_where_nothing_gets_done() -> None:
    with pytest.raises(GivenUpError, match="the worker ended with 3"):
        launched("sys.stdin.read()", "sys.exit(3)")


def crashing(times: Path, saved: int) -> str:
    """Return a coordinator that ends 20 times, does less each time, and says then that all is over."""
    return (
        f"open({str(times)!r}, 'a').write('x')\nnumber = len(open({str(times)!r}).read())\n"
        f"print('{COURSE}' % (number, 1000 - number, {saved} * number), flush=True)\n"
        f"print('{OVER}\\n' if number > 20 else '', end='', flush=True)\nsys.exit(1)"
    )


def test_a_launcher_does_not_give_up_while_snapshots_are_made(tmp_path: Path) -> None:
    assert launched(crashing(tmp_path / "times", 1), workers=0) == Finished(None, None, None)


def test_doing_less_each_time_is_getting_nothing_done(tmp_path: Path) -> None:
    with pytest.raises(GivenUpError, match="the coordinator ended with 1"):
        launched(crashing(tmp_path / "times", 0), workers=0)


def test_children_end_with_the_launcher(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    text = f"open({str(pids)!r}, 'a').write(f'{{os.getpid()}}\\n')\n"
    launched(text + f"time.sleep(0.3)\nprint('{OVER}', flush=True)", text + "sys.stdin.read()", 2)
    alive = [pid for pid in pids.read_text().split() if Path(f"/proc/{pid}").exists()]
    assert alive == []


def test_a_run_that_is_interrupted_lets_the_coordinator_finish_its_step(tmp_path: Path) -> None:
    begun, done = tmp_path / "begun", tmp_path / "done"
    coordinator = (
        f"open({str(begun)!r}, 'w')\nsys.stdin.read()\ntime.sleep(0.2)\nopen({str(done)!r}, 'w')\n"
    )

    def interrupt() -> None:
        if begun.exists():
            raise KeyboardInterrupt

    run = Launcher(
        script(coordinator), script("time.sleep(600)"), (1, 0), lambda _: None, interrupt
    )
    with pytest.raises(KeyboardInterrupt):
        run.run()
    assert done.exists()
