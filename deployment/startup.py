"""Starts agents as separate processes, and stops them."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.deployment.client import ask_agent, stopped_agent
from fsql.deployment.machines import host_name
from fsql.deployment.messages import Down, Ping
from fsql.deployment.processes import is_stopped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from fsql.deployment.directory import ClusterDirectory
    from fsql.deployment.machines import MachineDirectory

    SpawnAgent = Callable[[Sequence[str], Path], int]
    """Starts a command that writes to a log and outlives this process; returns its process id."""

_SECONDS_MAX: Final = 120.0
"""How long an agent may take to start or to end; one that ends instead of starting is noticed at once."""
_POLL_SECONDS: Final = 0.05


def start_agent(directory: ClusterDirectory, spawn: SpawnAgent) -> bool:
    """Start the agent of a cluster directory, unless one runs; wait until it answers.

    Returns whether it was started by this call.

    Raises:
        FsqlError: E631, if it does not answer; E632, if the directory cannot be used.
    """
    directory.create()
    if directory.agent() is not None:
        ask_agent(directory, Ping())
        return False

    def has_started(process: int) -> bool:
        address = directory.address()
        return address is not None and address.pid == process

    command = ("agent", "--dir", str(directory.path))
    what = f'the agent of "{directory.path}"'
    started = _start(spawn, command, directory.log, has_started, directory.agent, what)
    ask_agent(directory, Ping())
    return started


def start_machine_agent(
    directory: ClusterDirectory, machine: MachineDirectory, spawn: SpawnAgent
) -> bool:
    """Start the agent of this machine, which is not the machine of the cluster's agent.

    Returns whether it was started by this call.

    Raises:
        FsqlError: E631, if it does not start, or one that runs is stopped.
    """
    if machine.agent() is not None:
        _check_not_stopped(machine)
        return False
    command = ("machine-agent", "--dir", str(directory.path), machine.name)
    return _start(
        spawn,
        command,
        machine.log,
        lambda process: machine.agent() == process and machine.reports,
        machine.agent,
        f"the agent of machine {machine.name}",
    )


def _check_not_stopped(machine: MachineDirectory) -> None:
    """Check that the agent of this machine, if it runs, is not stopped.

    Raises:
        FsqlError: E631, if it is.
    """
    process = machine.agent()
    if process and is_stopped(process):
        raise stopped_agent(f"the agent of machine {machine.name}", process)


def check_is_cluster(directory: ClusterDirectory) -> None:
    """Check that there is a cluster directory.

    Raises:
        FsqlError: E632, if there is none.
    """
    if directory.cluster() is None:
        message = f'"{directory.path}" is not a cluster directory'
        helps = (
            "name one that this machine shares with that of the agent: --dir DIR",
            "or make it on the machine of the agent: fsql up --dir DIR",
        )
        raise FsqlError([Diagnostic("E632", message, helps=helps)])


def _start(
    spawn: SpawnAgent,
    command: Sequence[str],
    log: Path,
    has_started: Callable[[int], bool],
    running: Callable[[], int | None],
    what: str,
) -> bool:
    """Start an agent as a separate process, and wait until it has started.

    Returns False if another one, which `running` returns, was started at the same time.

    Raises:
        FsqlError: E631, if it ends, or takes too long.
    """
    begins = log.stat().st_size if log.exists() else 0
    process = spawn(command, log)
    until = time.monotonic() + _SECONDS_MAX
    while time.monotonic() < until and os.waitpid(process, os.WNOHANG) == (0, 0):
        if has_started(process):
            return True
        time.sleep(_POLL_SECONDS)
    if running() not in {None, process}:
        return False
    output = log.read_bytes()[begins:].decode(errors="replace").strip().splitlines()
    message = f"{what} did not start"
    raise FsqlError([Diagnostic("E631", message, notes=tuple(output[-5:]), helps=(f"see {log}",))])


def stop_agent(directory: ClusterDirectory) -> None:
    """Stop the agent of a cluster directory and all jobs, and wait until the agent has ended.

    Raises:
        FsqlError: E631, if none runs, or it does not end.
    """
    if directory.agent() is None and any(job.runner() is not None for job in directory.jobs()):
        message = f'no agent runs for the cluster directory "{directory.path}", but jobs do'
        helps = (f"start one, which can stop them: fsql up --dir {directory.path}",)
        raise FsqlError([Diagnostic("E631", message, helps=helps)])
    ask_agent(directory, Down())
    _wait_for_end(directory.agent, directory.log, f'the agent of "{directory.path}"')


def stop_machine_agent(directory: ClusterDirectory, machine: MachineDirectory) -> None:
    """Stop the agent and the workers of this machine, which is not the machine of the cluster's agent.

    Raises:
        FsqlError: E631, if it runs elsewhere or not at all, or does not end.
    """
    status, process = machine.status(), machine.agent()
    what = f"the agent of machine {machine.name}"
    if status is not None and status.is_recent and status.host != host_name():
        message = f"{what} runs on {status.host}"
        helps = (f"on that machine: fsql down --machine {machine.name} --dir {directory.path}",)
        raise FsqlError([Diagnostic("E631", message, helps=helps)])
    if not process:
        message = f"{what} does not run"
        helps = (f"start it: fsql up --machine {machine.name} --dir {directory.path}",)
        raise FsqlError([Diagnostic("E631", message, helps=helps)])
    _check_not_stopped(machine)
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGTERM)
    _wait_for_end(machine.agent, machine.log, what)


def _wait_for_end(agent: Callable[[], int | None], log: Path, what: str) -> None:
    """Wait until an agent has ended.

    Raises:
        FsqlError: E631, if it takes too long.
    """
    until = time.monotonic() + _SECONDS_MAX
    while agent() is not None:
        if time.monotonic() >= until:
            message = f"{what} does not end"
            raise FsqlError([Diagnostic("E631", message, helps=(f"see {log}",))])
        time.sleep(_POLL_SECONDS)
