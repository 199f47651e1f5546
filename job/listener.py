"""The socket at which the workers of a run join; it stays open for the whole run."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.runtime.drivers.node_address import ANY_PORT, NodeAddress, parse_address

if TYPE_CHECKING:
    from fsql.runtime.drivers.curve.keys import NodeKeys


def open_listener(wanted: str | None, curve: NodeKeys | None = None) -> socket.socket:
    """Return a socket that listens on an address, or on any free port.

    The launcher keeps it open for the whole run, and each coordinator accepts connections from it.  So no
    other process can take the port between two coordinators.

    Raises:
        FsqlError: E601, if it is not on the loopback and there are no keys; E603, if it cannot be listened
            on.
    """
    address = wanted or ANY_PORT
    bind = parse_address(address, curve=curve is not None)
    try:
        listening = socket.create_server((bind.host, 0 if bind.port == "*" else int(bind.port)))
    except OSError as error:
        raise _cannot_listen(address, error) from None
    listening.settimeout(0)
    return listening


def joining_address(listening: socket.socket, curve: NodeKeys | None = None) -> str:
    """Return the address that workers connect to."""
    host, port = listening.getsockname()
    return str(NodeAddress(host, str(port), "" if curve is None else curve.own.fingerprint))


def _cannot_listen(address: str, error: OSError) -> FsqlError:
    reason = os.strerror(error.errno or 0).lower()
    message = f'the run cannot listen on "{address}": {reason}'
    helps = ("use another port, or omit --listen to use any free port",)
    return FsqlError([Diagnostic("E603", message, helps=helps)])
