"""Information about processes, from `/proc`."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec


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


def _stat(pid: int) -> list[str] | None:
    """Return the fields of `/proc/PID/stat` from the state on."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() or None
    except OSError:
        return None
