"""Where the workers of a run join: a port of this machine that is the run's for as long as it lasts."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.console.reporter import print_message
from fsql.runtime.drivers.transport import ANY_PORT, check_address

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.console.reporter import Reporter


def open_listener(wanted: str | None) -> socket.socket:
    """Return a socket that listens at the address that is wanted, or at any free port.

    The launcher keeps it for as long as the run lasts, and each coordinator takes its connections:
    so nobody else can come to listen there, not even between two coordinators.

    Raises:
        FsqlError: E601, if it is not on the loopback; E603, if it cannot be listened on.
    """
    address = wanted or ANY_PORT
    check_address(address)
    host, _, port = address.removeprefix("tcp://").rpartition(":")
    try:
        listening = socket.create_server((host, 0 if port == "*" else int(port)))
    except OSError as error:
        raise _cannot_listen(address, error) from None
    listening.settimeout(0)
    return listening


def joining_address(listening: socket.socket) -> str:
    """Return what workers connect to."""
    host, port = listening.getsockname()
    return f"tcp://{host}:{port}"


def print_join_command(count: int, address: str, key: Path, reporter: Reporter) -> None:
    """Say what to type to start the workers that the run waits for."""
    if reporter.json:
        reporter.event("waiting", {"workers": count, "address": address, "key": str(key)})
        return
    workers = "1 worker" if count == 1 else f"{count} workers, each by"
    print_message(f"waiting for {workers}: fsql worker --join {address} --key {key}\n")


def _cannot_listen(address: str, error: OSError) -> FsqlError:
    reason = os.strerror(error.errno or 0).lower()
    message = f'the run cannot listen on "{address}": {reason}'
    helps = ("name another port, or leave out --listen: any port that is free is taken",)
    return FsqlError([Diagnostic("E603", message, helps=helps)])
