"""A run as a user starts it, `fsql run --workers ... --state ...`, and what a test does to its processes.

The job makes its own rows at a rate, so that it lasts as long as a test needs, whatever happens to it:
a front that begins again at row n goes on at the rate from there.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fsql.runtime.coordination.embedded import FILE
from fsql.runtime.drivers.processes.process_role import processes_below, role_of
from fsql.tests.command_server import command_process, run_command

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Mapping, Sequence
    from random import Random

HANGS_AFTER_SECONDS: Final = 300.0
"""What has not happened by then never will; nothing is said about how long it should take."""

OUTPUTS: Final = ("counts.jsonl", "lines.txt")

_PRIMARY_CODE: Final = 0xFF
"""The part of an error code of SQLite that says what is wrong; the rest says where."""


def for_an_hour(rate: int) -> str:
    """Return the options of a generated table that has `rate` rows a second for an hour.

    No test lasts that long; a job that is left behind when tests are interrupted ends.
    """
    return f"'rate' = '{rate}', 'count' = '{rate * 3600}'"


def script(rate: int | None, count: int | None) -> str:
    """Return a job that counts words and copies lines, of `count` lines at `rate` lines a second.

    With None for the count it lasts an hour, and with None for the rate it reads as fast as it can.
    """
    if count is None:
        assert rate is not None
        options = for_an_hour(rate)
    else:
        options = f"'count' = '{count}'" + ("" if rate is None else f", 'rate' = '{rate}'")
    return f"""
CREATE TABLE lines (id BIGINT, line STRING) WITH (
    'connector' = 'words', 'seed' = '17', 'vocabulary' = '200', 'words_per_line' = '4', {options});
CREATE TABLE counts (word STRING, n BIGINT, last BIGINT) WITH ('connector' = 'file', 'path' = 'counts.jsonl');
CREATE TABLE copies (line STRING) WITH ('connector' = 'file', 'path' = 'lines.txt', 'format' = 'text');
INSERT INTO counts
SELECT word, COUNT(*) AS n, MAX(id) AS last
FROM lines CROSS JOIN UNNEST(SPLIT(line, ' ')) AS words (word) GROUP BY word;
INSERT INTO copies SELECT UPPER(line) AS line FROM lines;
"""


def expected(directory: Path, count: int) -> dict[str, bytes]:
    """Return what the job writes in one process without a pause: the oracle."""
    path = directory / "job.sql"
    path.write_text(script(None, count))
    run_command(["run", "--quiet", str(path)], check=True)
    return {name: (directory / name).read_bytes() for name in OUTPUTS}


def prefixes(
    directory: Path, text: Callable[[int], str], written: Mapping[str, bytes]
) -> dict[str, bytes]:
    """Return the oracle of an endless job: what one process writes, cut to the length of each output.

    Args:
        text: returns the job with a number of lines.
    """
    whole = written[OUTPUTS[0]].rpartition(b"\n")[0]  # a kill can leave a part of a line
    ids = [json.loads(line).get("last", 0) for line in whole.splitlines()[-1:]]
    count = 2 * max(written[OUTPUTS[1]].count(b"\n"), *ids) + 1
    directory.mkdir(exist_ok=True)
    (directory / "job.sql").write_text(text(count))
    run_command(["run", "--quiet", str(directory / "job.sql")], check=True)
    right = {name: (directory / name).read_bytes() for name in OUTPUTS}
    return {name: data[: len(written[name])] for name, data in right.items()}


def command_of(pid: int) -> list[str]:
    """Return a process's command line, empty if it has ended."""
    with suppress(OSError):
        text = Path(f"/proc/{pid}/cmdline").read_text(errors="replace")  # it may be anybody's
        return text.split("\0")[:-1]
    return []


def has_open_store(pid: int) -> bool:
    """Say whether a worker has a store open; one that has taken no part yet has none."""
    with suppress(OSError):
        for each in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(FileNotFoundError):  # it was closed while they are listed
                if "/worker-" in str(each.readlink()):
                    return True
    return False


def processes_that_name(path: Path) -> list[list[str]]:
    """Return the command lines that have a path in them: what a run has left behind."""
    pids = [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit()]
    commands = [command_of(pid) for pid in pids]
    return [command for command in commands if any(str(path) in part for part in command)]


def difference(written: Mapping[str, bytes], right: Mapping[str, bytes]) -> str:
    """Return where the outputs of a run differ from the right ones first; "" if they do not.

    A comparison by pytest would take hours for two outputs of a megabyte.
    """
    found = [] if written.keys() == right.keys() else [f"{sorted(written)} is not {sorted(right)}"]
    for name in sorted(written.keys() & right.keys()):
        ours, theirs = written[name].splitlines(), right[name].splitlines()
        lines = [
            line for line, pair in enumerate(zip(ours, theirs, strict=False)) if len(set(pair)) > 1
        ]
        if written[name] != right[name]:
            first = lines[0] if lines else min(len(ours), len(theirs))
            found.append(
                f"{name}, {len(ours)} lines for {len(theirs)}, of which {len(lines)} differ, first line"
                f" {first + 1}: {ours[first : first + 3]} is not {theirs[first : first + 3]}"
            )
    return "; ".join(found)


def process_state(pid: int) -> str:
    """Return the state of a process in one letter, as in proc(5): T if it is stopped."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def is_locked(path: Path) -> bool:
    """Say whether another process is within a transaction that writes to a SQLite database."""
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as connection:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & _PRIMARY_CODE != sqlite3.SQLITE_BUSY:
                raise
            return True
        connection.execute("ROLLBACK")
        return False


def freeze(pid: int, state: Path) -> None:
    """Stop a process of a job while it does not write to the coordination in its state directory.

    One that is stopped within a transaction keeps the lock of the file, and everybody else waits.
    """
    while True:
        os.kill(pid, signal.SIGSTOP)
        wait_until(lambda: process_state(pid) == "T", "a stopped process")
        if not is_locked(state / FILE):
            return
        os.kill(pid, signal.SIGCONT)
        time.sleep(0.01)


def wait_until(reached: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + HANGS_AFTER_SECONDS
    while not reached():
        assert time.monotonic() < deadline, f"never came: {what}"
        time.sleep(0.01)


@dataclass
class Twin:
    """A job in a directory of its own, its runs one after the other, and all that was done to them."""

    directory: Path
    rate: int
    count: int
    flags: Sequence[str] = ("--snapshot-ms", "50")
    kills: int = 0
    prefix: Sequence[str] = ()
    """What the command of the run begins with: `ip netns exec NAME`, say."""
    process: subprocess.Popen[str] | None = None
    _size: int = 0

    def __post_init__(self) -> None:
        self.directory.mkdir(exist_ok=True)
        (self.directory / "tmp").mkdir()
        (self.directory / "job.sql").write_text(script(self.rate, self.count))

    @property
    def state(self) -> Path:
        return self.directory / "state"

    def start(self, workers: int, *flags: str) -> None:
        """Start a run, or the next one on the same state."""
        command = ["run", str(self.directory / "job.sql"), "--workers", str(workers)]
        kept = flags if "--no-state" in flags else (*flags, "--state", str(self.state))
        with (self.directory / "errors").open("a") as errors:
            command += [*self.flags, *(flag for flag in kept if flag != "--no-state")]
            self.process = command_process(
                command,
                prefix=self.prefix,
                stderr=errors,
                text=True,
                env={**os.environ, "TMPDIR": str(self.directory / "tmp")},
            )
        self._size = self.written_bytes()

    def running(self) -> bool:
        assert self.process is not None
        return self.process.poll() is None

    def pids(self, role: str) -> list[int]:
        """Return the processes of the run with a role: "coordinator", "worker" or "fork-server"."""
        assert self.process is not None
        return [pid for pid in processes_below(self.process.pid) if role_of(pid) == role]

    def worker_with_store(self) -> int:
        """Return a worker that takes part in the run, as soon as there is one."""
        found: list[int] = []

        def is_there() -> bool:
            found[:] = [pid for pid in self.pids("worker") if has_open_store(pid)]
            return bool(found)

        wait_until(is_there, "a worker that has its store open")
        return found[0]

    def written_bytes(self) -> int:
        paths = [self.directory / name for name in OUTPUTS]
        return sum(path.stat().st_size for path in paths if path.exists())

    def advances(self) -> bool:
        """Say whether anything was written since the last start or kill."""
        assert self.running(), f"it has ended: {self.errors()}"
        return self.written_bytes() > self._size

    def freeze_coordinator(self) -> int:
        """Stop the coordinator while it does not write to the coordination; return its process."""
        [pid] = self.pids("coordinator")
        freeze(pid, self.state)
        return pid

    def kill(self, random: Random, role: str) -> bool:
        """Kill one of the processes with that role, whatever it is about to do; say whether one is there."""
        pids = self.pids(role)
        if not pids:
            return False
        size = self.written_bytes()
        try:
            os.kill(random.choice(pids), signal.SIGKILL)
        except ProcessLookupError:  # it has just ended by itself
            return False
        self._size = size
        self.kills += 1
        return True

    def end(self, number: signal.Signals) -> int:
        """Send the launcher a signal; return how it ended, when all its processes have."""
        assert self.process is not None
        self.process.send_signal(number)
        return self.ended()

    def ended(self) -> int:
        """Return how the run ended, when nothing of it is left."""
        assert self.process is not None
        code = self.process.wait(HANGS_AFTER_SECONDS)
        wait_until(lambda: not processes_that_name(self.directory), "the end of all processes")
        return code

    def shut_down(self) -> None:
        """End whatever is left, after a test that failed."""
        if self.process is None or not self.running():
            return
        stopped = self.pids("worker") + self.pids("coordinator")
        self.process.kill()
        for pid in stopped:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.ended()

    def errors(self) -> str:
        """Return what the processes have written; the last character may be half written."""
        return (self.directory / "errors").read_text(errors="replace")

    def written(self) -> dict[str, bytes]:
        return {name: (self.directory / name).read_bytes() for name in OUTPUTS}


def end_later(twin: Twin, directory: Path, script: Callable[[str], str]) -> str:
    """Interrupt a run when it has written more; return the difference to what one process writes.

    Args:
        twin: the run.
        directory: where the other process runs.
        script: returns the job, given the options that say how many rows its tables have.
    """
    size = twin.written_bytes()
    wait_until(lambda: twin.written_bytes() > size, "more output")
    assert twin.end(signal.SIGINT) == 130, twin.errors()
    right = prefixes(directory, lambda lines: script(f"'count' = '{lines}'"), twin.written())
    return difference(twin.written(), right)
