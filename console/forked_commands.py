"""The commands that the processes of a run execute, in forks of a process that has imported all modules."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import click

    from fsql.runtime.drivers.processes.fork_server import ForkServer

OWN_PROCESS: Final = "own process"
"""The object of the root context if this process executes one command and nothing else."""


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
        root.command.main(args=list(arguments), prog_name=root.info_name)


def import_all() -> None:
    """Import the modules that the commands of processes import, and those that most jobs import late."""
    import fsql.connectors.file.source
    import fsql.connectors.live.log_split
    import fsql.console.reporter
    import fsql.formats.json.decoder
    import fsql.job.entry_points  # noqa: F401
