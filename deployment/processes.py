"""Information about processes, from `/proc`, which of them stand still, and how they are ended."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from fsql.runtime.drivers.processes.process_role import processes_below

if TYPE_CHECKING:
    from collections.abc import Collection

STILL_SECONDS: Final = 10.0
"""How long a process may stand still before its agent kills it."""

_LOOK_SECONDS_MAX: Final = 2.0
"""An agent that has not looked for longer was held up itself, and perhaps its processes with it."""

_STOPPED: Final = ("T", "t")
_WAITS_FOR_DISK: Final = "D"


class ProcessView(msgspec.Struct, frozen=True):
    """A process of the cluster.

    `job` is the name of its job, None for an agent; `machine` the name of another machine where it runs.
    """

    pid: int
    role: str
    job: str | None
    memory_bytes: int
    cpu_seconds: float
    machine: str | None = None


def view_process(
    pid: int, role: str, job: str | None, machine: str | None = None
) -> list[ProcessView]:
    """Return a process with its use of memory and processor, None if it has ended."""
    fields = _stat(pid)
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return []
    if fields is None:
        return []
    cpu = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return [ProcessView(pid, role, job, pages * os.sysconf("SC_PAGE_SIZE"), cpu, machine)]


def started_at(pid: int) -> int | None:
    """Return when a process began, in ticks since the machine started; None if it has ended."""
    fields = _stat(pid)
    return None if fields is None or fields[0] == "Z" else int(fields[19])


def is_stopped(pid: int) -> bool:
    """Return whether a process is stopped, by a signal or a debugger."""
    fields = _stat(pid)
    return fields is not None and fields[0] in _STOPPED


def end_with_its_input(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Close the standard input of a process, with which it ends; kill it if it has not after `seconds`."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def kill_with_descendants(pid: int) -> None:
    """Kill a process and those that it has started, some of which may be stopped as well.

    A process that is stopped does not notice that its parent has ended.
    """
    for process in (pid, *processes_below(pid)):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


class StillProcesses:
    """Finds processes that stand still: nobody else would end them, and their work is not done.

    A process stands still while it is stopped.  One whose main thread waits often and never long also does if
    that thread has neither computed nor waited: it hangs.  A process that waits for a disk does not, since it
    could not be killed either.
    """

    def __init__(self, *, wait_briefly: bool) -> None:
        """`wait_briefly` says that the main threads of the processes wait often and never long."""
        self._wait_briefly = wait_briefly
        self._looked_at = float("-inf")
        self._since: dict[int, tuple[object, float]] = {}

    def find(self, processes: Collection[int], now: float) -> list[int]:
        """Return which of these processes have stood still for long; to be called often."""
        if now - self._looked_at > _LOOK_SECONDS_MAX:
            self._since.clear()
        self._looked_at = now
        before, self._since = self._since, {}
        for pid in processes:
            counters = self._counters(pid)
            if counters is not None:
                seen = before.get(pid)
                same = seen is not None and seen[0] == counters
                self._since[pid] = seen if seen is not None and same else (counters, now)
        return [pid for pid, (_, since) in self._since.items() if now - since >= STILL_SECONDS]

    def _counters(self, pid: int) -> tuple[str, ...] | None:
        """Return what does not change while a process stands still; None if it certainly does not."""
        fields = _stat(pid)
        if fields is None or fields[0] == _WAITS_FOR_DISK:
            return None
        if fields[0] in _STOPPED:
            return (fields[19],)
        return (fields[19], *_switches(pid)) if self._wait_briefly else None


def _switches(pid: int) -> tuple[str, ...]:
    """Return how often the main thread of a process has waited, and was interrupted."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return ()
    return tuple(line for line in lines if "ctxt_switches" in line)


def _stat(pid: int) -> list[str] | None:
    """Return the fields of `/proc/PID/stat` from the state on."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() or None
    except OSError:
        return None
