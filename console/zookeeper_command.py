"""`fsql zookeeper`: its flags, and how it runs a server."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from fsql.console.commands import pass_reporter

if TYPE_CHECKING:
    from fsql.console.reporter import Reporter
    from fsql.runtime.drivers.zookeeper_server import ServerOptions

_POLL_SECONDS: Final = 0.1
_SERVERS_MAX: Final = 255
_PORTS: Final = re.compile(r"([1-9]\d{0,4}):([1-9]\d{0,4})")
_PORT_MAX: Final = 65_535


class _PeerPorts(click.ParamType[tuple[int, int]]):
    """`PORT:PORT`."""

    name = "port:port"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        """Return both ports."""
        match = _PORTS.fullmatch(str(value))
        ports = (0, 0) if match is None else (int(match[1]), int(match[2]))
        if match is None or max(ports) > _PORT_MAX:
            self.fail(f'"{value}" is not of the form PORT:PORT', param, ctx)
        return ports


@click.command(short_help="Run a ZooKeeper server on this machine.")
@click.option(
    "--data",
    "directory",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    metavar="DIR",
    help="Directory for the data and the log of the server.",
)
@click.option(
    "--port",
    type=click.IntRange(0, _PORT_MAX),
    default=2181,
    show_default=True,
    help="Port for clients; 0 selects a free one.",
)
@click.option(
    "--id",
    "number",
    type=click.IntRange(1, _SERVERS_MAX),
    help="Number of this server in its ensemble, from 1.",
)
@click.option(
    "--server",
    "ensemble",
    multiple=True,
    type=_PeerPorts(),
    help="Ports of each server of the ensemble, in order, for quorum and election.",
)
@click.option(
    "--tick-ms",
    type=click.IntRange(100, 10_000),
    default=1000,
    show_default=True,
    help="Time unit of ZooKeeper; the shortest session timeout is two of them.",
)
@pass_reporter
def zookeeper(
    reporter: Reporter,
    directory: Path,
    port: int,
    number: int | None,
    ensemble: tuple[tuple[int, int], ...],
    tick_ms: int,
) -> None:
    """Run a ZooKeeper server for coordination (fsql run --coordination) until Ctrl-C.

    The server is part of the jars of PySpark and needs Java 17 or later.  It listens on the loopback
    interface only.  When it answers clients, the address is printed on standard error.

    For an ensemble on this machine, start each server with its --id and the same --server options.
    """
    from fsql.runtime.drivers.zookeeper_server import ServerOptions

    if (number is None) != (not ensemble):
        raise click.UsageError("--id and --server must be given together")
    if number is not None and number > len(ensemble):
        raise click.UsageError(f"--id {number} is more than the number of --server options")
    options = ServerOptions(directory, port, number, ensemble, tick_ms)
    click.get_current_context().exit(_serve(options, reporter))


def _serve(options: ServerOptions, reporter: Reporter) -> int:
    """Run a server until it is interrupted; return the exit code."""
    from fsql.console.interrupt import Interrupt, Interrupted
    from fsql.runtime.drivers.zookeeper_server import ZooKeeperServer

    server = ZooKeeperServer(options)
    try:
        with Interrupt() as interrupt:
            server.start(interrupt.check)
            text = f"ZooKeeper listens at {server.address}; Ctrl-C stops it\n"
            reporter.inform("ready", {"address": server.address, "pid": server.pid}, text)
            while True:
                interrupt.check()
                server.check()
                time.sleep(_POLL_SECONDS)
    except Interrupted as interrupted:
        return interrupted.exit_code
    finally:
        server.stop()
