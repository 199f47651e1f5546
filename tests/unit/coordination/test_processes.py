"""Real processes on one coordination file: contending, killed, stopped and woken up again.

Catches: a number given twice, a write after the session's end, a file that a killed writer left unusable.
The processes share the machine's monotonic clock, so what they report can be put in order.
"""

from __future__ import annotations

import math
import random
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from fsql.runtime.coordination.commits import Committed, read_committed
from fsql.runtime.coordination.embedded import EmbeddedCoordination

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PRELUDE = """
import sys, time
from pathlib import Path
from fsql.runtime.coordination.commits import Committed, commit_snapshot, next_epoch
from fsql.runtime.coordination.embedded import EmbeddedCoordination
from fsql.runtime.coordination.lease import Lease
from fsql.runtime.coordination.port import CoordinationError, CoordinationUnavailableError
client = EmbeddedCoordination(Path(sys.argv[1]), create=True, busy_seconds=60)
def say(*words):
    print(*words, flush=True)
"""
TAKE_EPOCHS = """
session = client.open_session(600)
for _ in range(25):
    say(next_epoch(client, session))
"""
HOLD = """
lease = Lease(client, "leader", sys.argv[2].encode(), float(sys.argv[4]), time.monotonic)
while not lease.acquire():
    time.sleep(0.02)
say(time.monotonic())
snapshot = int(sys.argv[3])
while True:
    say(lease.held_until)
    line = sys.stdin.readline().strip()
    if line == "commit":
        try:
            commit_snapshot(client, lease.session, Committed(snapshot, sys.argv[2], snapshot))
            say("committed")
        except CoordinationError as error:
            say(type(error).__name__)
    else:
        lease.renew()
"""
WRITE = """
session = client.open_session(600)
number = int(sys.argv[2])
entry = client.get("n") or client.create(session, "n", b"0")
while True:
    number += 1
    entry = client.replace(session, "n", str(number).encode(), entry.version)
    say(number)
"""


class Started:
    """Processes of a test; all have ended when it is over."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._processes: list[subprocess.Popen[str]] = []

    def start(self, program: str, *arguments: object) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", PRELUDE + program, str(self.path), *map(str, arguments)]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._processes.append(process)
        return process

    def client(self) -> EmbeddedCoordination:
        return EmbeddedCoordination(self.path, create=False, busy_seconds=60)

    def end(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Started]:
    processes = Started(tmp_path / "coordination.sqlite")
    yield processes
    processes.end()


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def tell(process: subprocess.Popen[str], word: str) -> str:
    assert process.stdin is not None
    process.stdin.write(f"{word}\n")
    process.stdin.flush()
    return line(process)


def test_processes_that_contend_take_different_epochs(started: Started) -> None:
    processes = [started.start(TAKE_EPOCHS) for _ in range(4)]
    taken = [[int(each) for each in process.communicate()[0].split()] for process in processes]
    assert all(numbers == sorted(numbers) for numbers in taken)
    assert sorted(number for numbers in taken for number in numbers) == list(range(1, 101))


LONG = 600.0
"""A lease that does not run out while the test is about something else."""


def test_the_lease_of_a_killed_holder_runs_out(started: Started) -> None:
    holder = started.start(HOLD, "one", 1, 5.0)
    line(holder)
    held_until = float(line(holder))
    other = started.start(HOLD, "other", 2, LONG)
    for _ in range(2):
        renewed = float(tell(holder, "renew"))
        if renewed == -math.inf:  # the machine did not run it before the lease ran out
            assert time.monotonic() >= held_until
        else:
            assert renewed >= held_until
            held_until = renewed
    holder.send_signal(signal.SIGKILL)
    acquired = float(line(other))
    assert acquired >= held_until
    line(other)
    assert tell(other, "commit") == "committed"


def test_a_holder_that_was_stopped_for_too_long_writes_nothing(started: Started) -> None:
    zombie = started.start(HOLD, "zombie", 3, 1.0)
    line(zombie)
    line(zombie)
    assert tell(zombie, "renew")
    zombie.send_signal(signal.SIGSTOP)
    other = started.start(HOLD, "other", 2, LONG)
    line(other)
    line(other)
    assert tell(other, "commit") == "committed"
    zombie.send_signal(signal.SIGCONT)
    assert tell(zombie, "commit") == "SessionExpiredError"
    assert float(line(zombie)) < time.monotonic()
    client = started.client()
    assert read_committed(client) == Committed(2, "other", 2)
    client.close()


def test_a_killed_writer_leaves_what_it_was_told_is_written(started: Started) -> None:
    chance = random.Random(2)
    number = 0
    for _ in range(10):
        writer = started.start(WRITE, number)
        for _ in range(chance.randrange(1, 40)):
            number = int(line(writer))
        writer.send_signal(signal.SIGKILL)
        assert writer.stdout is not None
        number = int([str(number), *writer.stdout.read().split()][-1])
        client = started.client()
        entry = client.get("n")
        client.close()
        assert entry is not None
        assert int(entry.value) in {number, number + 1}
        number = int(entry.value)


def test_a_second_connection_keeps_the_locks_of_the_first(tmp_path: Path) -> None:
    # A process that closes any descriptor of a file loses its locks on it.  Without them, the next process
    # that ends takes itself for the last one and removes the log, in which the others go on writing.
    path = tmp_path / "coordination.sqlite"
    one = EmbeddedCoordination(path, create=True)
    two = EmbeddedCoordination(path, create=True)
    one.close_session(one.open_session(1.0))
    log = path.with_name(f"{path.name}-wal").stat().st_ino
    program = (
        "import sys; from pathlib import Path\n"
        "from fsql.runtime.coordination.embedded import EmbeddedCoordination\n"
        "EmbeddedCoordination(Path(sys.argv[1]), create=False).close()\n"
    )
    subprocess.run([sys.executable, "-c", program, str(path)], check=True)
    assert path.with_name(f"{path.name}-wal").stat().st_ino == log
    two.close()
    one.close()
