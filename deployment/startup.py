"""Starting the agent as a process of its own, and stopping it."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.deployment.client import ask_agent
from fsql.deployment.messages import Down, Ping

if TYPE_CHECKING:
    from fsql.deployment.directory import ClusterDirectory

START_SECONDS: Final = 30.0
_POLL_SECONDS: Final = 0.05


def start_agent(directory: ClusterDirectory) -> bool:
    """Start the agent of a cluster directory, unless one runs; wait until it answers.

    Returns whether it was started by this call.

    Raises:
        FsqlError: E631, if it does not answer; E632, if the directory cannot be used.
    """
    directory.create()
    if directory.agent() is not None:
        ask_agent(directory, Ping())
        return False
    begins = directory.log.stat().st_size if directory.log.exists() else 0
    process = _spawn(directory)
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and os.waitpid(process, os.WNOHANG) == (0, 0):
        address = directory.address()
        if address is not None and address.pid == process:
            ask_agent(directory, Ping())
            return True
        time.sleep(_POLL_SECONDS)
    said = directory.log.read_bytes()[begins:].decode(errors="replace").strip().splitlines()
    message = f'the agent of "{directory.path}" did not start'
    raise FsqlError(
        [Diagnostic("E631", message, notes=tuple(said[-5:]), helps=(f"see {directory.log}",))]
    )


def stop_agent(directory: ClusterDirectory) -> None:
    """Stop the agent of a cluster directory and all jobs, and wait until the agent has ended.

    Raises:
        FsqlError: E631, if none runs, or it does not end.
    """
    ask_agent(directory, Down())
    until = time.monotonic() + START_SECONDS
    while directory.agent() is not None:
        if time.monotonic() >= until:
            message = f'the agent of "{directory.path}" does not end'
            raise FsqlError([Diagnostic("E631", message, helps=(f"see {directory.log}",))])
        time.sleep(_POLL_SECONDS)


def _spawn(directory: ClusterDirectory) -> int:
    """Start the agent in a session of its own, which outlives this process; return its process id."""
    command = [sys.executable, "-P", "-m", "fsql", "agent", "--dir", str(directory.path)]
    log = os.O_WRONLY | os.O_APPEND | os.O_CREAT
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(directory.log), log, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    return os.posix_spawn(sys.executable, command, os.environ, file_actions=actions, setsid=True)
