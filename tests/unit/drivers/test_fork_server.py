"""The fork server: what its processes get, how they end, and what happens when it has ended itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fsql.runtime.drivers.processes import fork_server
from fsql.runtime.drivers.processes.fork_server import LOST_MAX, UNKNOWN_STATUS, ForkServer
from fsql.tests.unit.descriptors import left_open, open_descriptors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.runtime.drivers.processes.starting import PipedProcess

CARRY_OUT = """
import os, sys
from fsql.runtime.drivers.processes.fork_server import serve
def carry_out(arguments):
    forked = arguments[0] == "fork-server"
    if forked:
        arguments = serve(int(arguments[1]))
    if arguments is None:
        return
    if arguments[0] == "status":
        sys.exit(int(arguments[1]))
    if arguments[0] == "hang":
        sys.stdin.read()
        sys.exit()
    found = [] if arguments[-1] == "none" else [os.read(int(arguments[-1]), 10).decode()]
    open_now = sorted(int(each) for each in os.listdir("/proc/self/fd"))
    print(forked, *arguments[:-1], os.getcwd(), *found, sys.stdin.read(), flush=True)
    print(os.getsid(0) == os.getpid(), len(open_now), flush=True)
    sys.exit()
"""
SCRIPT = CARRY_OUT + "carry_out(sys.argv[1:])\n"
COMMAND = (sys.executable, "-c", SCRIPT)
STARTED: list[PipedProcess] = []
LIMITS = ("ANSWER_SECONDS_MAX", "_STATUS_SECONDS_MAX")
"""How long a fork server has to say something: longer here, as the machine may not run it for seconds."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ForkServer]:
    monkeypatch.setattr(fork_server, "COMMAND", COMMAND)
    for limit in LIMITS:
        monkeypatch.setattr(fork_server, limit, 600.0)
    STARTED.clear()
    with ForkServer() as made:
        yield made
    for process in STARTED:
        process.kill()
        process.wait()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.stdout.close()


@pytest.fixture
def reading() -> Iterator[int]:
    """Return a descriptor that a process can read."""
    end, writing = os.pipe()
    os.write(writing, b"data")
    os.close(writing)
    yield end
    os.close(end)


def said(process: PipedProcess) -> str:
    """Return what a process says when its input has ended."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"input")
    process.stdin.close()
    text = process.stdout.read().decode()
    assert process.wait() == 0
    return text


def start(server: ForkServer, *arguments: str, inherits: tuple[int, ...] = ()) -> PipedProcess:
    STARTED.append(server.start([*COMMAND, *arguments], inherits))
    return STARTED[-1]


def lose(server: ForkServer) -> None:
    """Kill the process that forks."""
    assert server._server is not None
    server._server.process.kill()
    server._server.process.wait()


def test_processes_get_arguments_directory_and_descriptors(
    server: ForkServer, reading: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    worker = start(server, "worker", "--state", "s", str(reading), inherits=(reading,))
    # Standard input, output and error, the descriptor, and the one with which it looks.
    assert said(worker) == f"True worker --state s {tmp_path} data input\nTrue 5\n"
    again = start(server, "coordinator", "none")
    assert said(again) == f"True coordinator {tmp_path} input\nTrue 4\n"


def test_many_processes_at_once_share_nothing(server: ForkServer) -> None:
    processes = [start(server, f"worker-{number}", "none") for number in range(8)]
    for number, each in reversed(list(enumerate(processes))):
        assert said(each).startswith(f"True worker-{number} ")


def test_how_processes_end(server: ForkServer) -> None:
    ended = [start(server, "status", str(status)) for status in (0, 3)]
    assert [each.wait(600) for each in ended] == [0, 3]
    killed = start(server, "hang")
    assert killed.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        killed.wait(0.01)
    killed.kill()
    assert killed.wait() == -signal.SIGKILL
    assert killed.poll() == -signal.SIGKILL
    killed.kill()  # it has ended: nothing happens


def test_processes_outlive_the_fork_server(server: ForkServer) -> None:
    lived, ended = start(server, "hang"), start(server, "hang")
    lose(server)
    assert lived.poll() is None
    ended.kill()
    assert ended.wait() == UNKNOWN_STATUS
    assert lived.stdin is not None
    lived.stdin.close()
    assert lived.wait() == UNKNOWN_STATUS


def test_a_process_is_started_in_place_of_a_fork_and_another_fork_server(
    server: ForkServer,
) -> None:
    lose(server)
    assert said(start(server, "worker", "none")).startswith("False worker ")
    assert said(start(server, "worker", "none")).startswith("True worker ")


def test_one_that_hangs_is_given_up(server: ForkServer, monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(start(server, "worker", "none")).startswith("True ")
    assert server._server is not None
    os.kill(server._server.process.pid, signal.SIGSTOP)
    monkeypatch.setattr(fork_server, "ANSWER_SECONDS_MAX", 0.05)
    assert said(start(server, "worker", "none")).startswith("False ")


def test_after_many_losses_there_is_none(server: ForkServer) -> None:
    for _ in range(LOST_MAX):
        lose(server)
        assert said(start(server, "worker", "none")).startswith("False ")
    assert server._server is None
    assert said(start(server, "worker", "none")).startswith("False ")


def test_it_ends_with_its_context_and_leaves_no_descriptors(
    server: ForkServer, reading: int
) -> None:
    before = open_descriptors()
    for _ in range(3):
        process = start(server, "worker", str(reading), inherits=(reading,))
        said(process)
        assert process.stdout is not None
        process.stdout.close()
    assert left_open(before) == set()
    assert server._server is not None
    pid = server._server.process.pid
    server.close()
    assert not Path(f"/proc/{pid}").exists()


LAUNCHER = (
    CARRY_OUT
    + f"""
import signal, threading
from fsql.runtime.drivers.processes import fork_server
from fsql.runtime.drivers.processes.fork_server import ForkServer
command = fork_server.COMMAND = (sys.executable, "-c", {SCRIPT!r})
for limit in {LIMITS!r}:
    setattr(fork_server, limit, 600.0)
def serve_here(descriptor):
    carry_out(["fork-server", str(descriptor)])
"""
)

FORK = """
print("written once")
kept = os.open("/dev/null", os.O_RDONLY)
with ForkServer(serve_here) as server:
    process = server._server.process
    print(type(process).__name__, server.start([*command, "status", "3"], []).wait())
    with open(f"/proc/{process.pid}/comm") as role:
        print(role.read(), end="")
    print(len(os.listdir(f"/proc/{process.pid}/fd")), os.getsid(process.pid) == process.pid)
    worker = server.start([*command, "worker", "none"], [])
    worker.stdin.close()
    print(worker.stdout.read().decode().replace(os.getcwd(), "here"), worker.wait())
print(os.path.exists(f"/proc/{process.pid}"))
"""


@pytest.mark.parametrize("threads", [0, 1])
def test_it_is_a_fork_of_a_launcher_without_threads(threads: int) -> None:
    """What the launcher has open and has written stays there, and nobody can tell its forks from others."""
    waiting = "threading.Thread(target=threading.Event().wait, daemon=True).start()\n" * threads
    done = subprocess.run(
        [sys.executable, "-c", LAUNCHER + waiting + FORK],
        capture_output=True,
        text=True,
        check=False,
    )
    kind = ("ChildProcess", "Popen")[threads]
    assert (done.stdout, done.stderr) == (
        f"written once\n{kind} 3\nfork-server\n4 True\nTrue worker here \nTrue 4\n 0\nFalse\n",
        "",
    )


def ended(pid: str) -> bool:
    """Say whether a process has ended; whoever it belongs to now may not have asked for its status."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in {"Z", "X"}
    except (FileNotFoundError, ProcessLookupError):  # the second if it ends while it is read
        return True


@pytest.mark.parametrize("serve", ["", "serve_here"])
def test_forks_end_when_the_launcher_is_killed(serve: str, tmp_path: Path) -> None:
    """Their input ends then, and the socket of the fork server."""
    pids = tmp_path / "pids"
    launcher = LAUNCHER + (
        f"server = ForkServer({serve})\n"
        "child = server.start([*command, 'hang'], [])\n"
        f"open({str(pids)!r}, 'w').write(f'{{child.pid}} {{server._server.process.pid}}')\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert subprocess.run([sys.executable, "-c", launcher], check=False).returncode == -9
    until = time.monotonic() + 600
    while not all(map(ended, pids.read_text().split())):
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_fork_that_fails_ends_and_does_not_continue_as_the_launcher() -> None:
    """The stack frames of the launcher are below those of its fork, and it handles errors of the system."""
    launcher = LAUNCHER + (
        "def fail(descriptor):\n"
        "    raise OSError('out of order')\n"
        "server = ForkServer(fail)\n"
        "print('one launcher', server._server.process.wait())\n"
        "server.close()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", launcher], capture_output=True, text=True, check=False
    )
    assert done.stdout == "one launcher 1\n"
    assert done.stderr.splitlines()[-1] == "OSError: out of order"
