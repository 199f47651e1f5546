"""The role of a process in a run, as other processes see it: the name of its main thread on Linux.

A spare process gets its role after it was started, so its command line does not show it.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

COORDINATOR: Final = "coordinator"
WORKER: Final = "worker"
SPARE: Final = "spare"
_ROLES: Final = (COORDINATOR, WORKER, SPARE)


def set_role(role: str) -> None:
    """Show the role of this process to others; does nothing where there is no `/proc`."""
    with suppress(OSError):
        Path("/proc/self/comm").write_text(role)


def role_of(pid: int) -> str | None:
    """Return the role of a process; None if it has ended or has no role."""
    try:
        name = Path(f"/proc/{pid}/comm").read_text().strip()
        arguments = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except OSError:
        return None
    if name in _ROLES:
        return name
    # It has just been started, and has not shown its role yet.
    waits = "warm" in arguments
    return SPARE if waits else next((role for role in _ROLES if role in arguments), None)
