"""The commands of agents, jobs and nodes, in forks of a process that has imported all modules."""

from __future__ import annotations

import os
import shlex
from functools import partial
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import click

    from fsql.runtime.drivers.processes.fork_server import ForkServer

OWN_PROCESS: Final = "own process"
"""The object of the root context if this process executes one command and nothing else."""

_APPENDING: Final = os.O_WRONLY | os.O_APPEND | os.O_CREAT


def open_fork_server(root: click.Context) -> ForkServer:
    """Return a fork server for the run of a command.

    It is a fork of this process if this process executes nothing else. Otherwise it imports its modules while
    this process imports modules and compiles.
    """
    from fsql.runtime.drivers.processes.fork_server import ForkServer

    if root.obj != OWN_PROCESS:
        return ForkServer()
    import_all()
    return ForkServer(partial(serve_forks, root))


def serve_forks(root: click.Context, descriptor: int) -> None:
    """Fork the processes that are requested through a socket; execute the command of each in it."""
    from fsql.runtime.drivers.processes.fork_server import serve

    import_all()
    arguments = serve(descriptor)
    if arguments is not None:
        _execute(root, arguments)


def spawn_agent(root: click.Context, arguments: Sequence[str], log: Path) -> int:
    """Start an agent in its own session, which writes to a log; return its process id.

    It outlives this process.  It is a fork of this process if this process executes nothing else.
    """
    from fsql.runtime.drivers.processes.own_fork import can_fork, fork_process
    from fsql.runtime.drivers.processes.starting import COMMAND

    if root.obj == OWN_PROCESS:
        import_all()
    if root.obj == OWN_PROCESS and can_fork():
        execute = partial(_execute_named, root, arguments)
        return fork_process(execute, partial(_open_log, log), range(3))
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(log), _APPENDING, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    command = [*COMMAND, *arguments]
    return os.posix_spawn(command[0], command, os.environ, file_actions=actions, setsid=True)


def _open_log(log: Path) -> Sequence[int]:
    """Return standard input, output and error of an agent."""
    output = os.open(log, _APPENDING, 0o600)
    return os.open(os.devnull, os.O_RDONLY), output, output


def _execute_named(root: click.Context, arguments: Sequence[str]) -> None:
    """Execute a command, and show it in the list of processes."""
    from setproctitle import setproctitle

    setproctitle(shlex.join(("fsql", *arguments)))
    _execute(root, arguments)


def _execute(root: click.Context, arguments: Sequence[str]) -> None:
    """Execute a command in a process that executes nothing else."""
    root.command.main(args=list(arguments), prog_name=root.info_name, obj=OWN_PROCESS)


def import_all() -> None:
    """Import the modules that the commands of processes import, and those that most jobs import late."""
    import fsql.connectors.file.source
    import fsql.connectors.live.log_split
    import fsql.console.reporter
    import fsql.deployment.runner
    import fsql.formats.json.decoder
    import fsql.job.entry_points  # noqa: F401
    from fsql.runtime.dataflow.fold_kernels import import_kernels

    import_kernels()
