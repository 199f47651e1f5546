"""The socket at which the workers of a run join; it stays open for the whole run."""

from __future__ import annotations

import os
import socket

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.runtime.drivers.transport import ANY_PORT, check_address


def open_listener(wanted: str | None) -> socket.socket:
    """Return a socket that listens on an address, or on any free port.

    The launcher keeps it open for the whole run, and each coordinator accepts connections from it.  So no
    other process can take the port between two coordinators.

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
    """Return the address that workers connect to."""
    host, port = listening.getsockname()
    return f"tcp://{host}:{port}"


def _cannot_listen(address: str, error: OSError) -> FsqlError:
    reason = os.strerror(error.errno or 0).lower()
    message = f'the run cannot listen on "{address}": {reason}'
    helps = ("use another port, or omit --listen to use any free port",)
    return FsqlError([Diagnostic("E603", message, helps=helps)])
