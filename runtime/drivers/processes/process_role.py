"""The role of a process in a run, as other processes see it: the name of its main thread on Linux.

The command line does not show the role, because a forked process has that of the fork server.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

COORDINATOR: Final = "coordinator"
WORKER: Final = "worker"
FORK_SERVER: Final = "fork-server"
_ROLES: Final = (COORDINATOR, WORKER, FORK_SERVER)


def set_role(role: str) -> None:
    """Show the role of this process to others; does nothing where there is no `/proc`."""
    with suppress(OSError):
        Path("/proc/self/comm").write_text(role)


def role_of(pid: int) -> str | None:
    """Return the role of a process, None if it has ended or has no role."""
    try:
        name = Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
        text = Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    except OSError:
        return None
    if not text:  # it has ended, and its parent has not noticed yet
        return None
    arguments = text.split("\0")
    if name in _ROLES:
        return name
    # It has just been started and has not set its role yet.
    return next((role for role in _ROLES if role in arguments), None)


def processes_below(pid: int) -> list[int]:
    """Return the descendants of a process, each after its parent.

    The parent of each process is looked up: the lists of children in `/proc` lack processes while others end.
    """
    children: dict[int, list[int]] = {}
    for process in _processes():
        with suppress(OSError):  # it has ended
            # The name of the program, in parentheses, may contain anything.
            fields = Path(f"/proc/{process}/stat").read_text(errors="replace").rpartition(")")[2]
            children.setdefault(int(fields.split()[1]), []).append(process)
    found, todo = [], [*reversed(children.get(pid, []))]
    while todo:
        found.append(todo.pop())
        todo += reversed(children.get(found[-1], []))
    return found


def _processes() -> list[int]:
    """Return all processes, ascending; none where there is no `/proc`."""
    try:
        return sorted(int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit())
    except OSError:
        return []


def busy_seconds(pid: int) -> float:
    """Return for how long a process has used a processor or waited for one; 0 if that is not known.

    On an overloaded machine a process that computes mostly waits.  Of the waiting, only that of the main
    thread is known, and only on Linux; there a process that is stopped, or waits for input, is not counted.
    """
    fields = _stat(pid)
    if not fields:
        return 0.0
    used = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    try:
        waited = int(Path(f"/proc/{pid}/schedstat").read_text(errors="replace").split()[1]) / 1e9
    except (OSError, IndexError):
        waited = 0.0
    return used + waited


def _stat(pid: int) -> list[str]:
    """Return the fields of `/proc/PID/stat` from the state on; none if there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []
