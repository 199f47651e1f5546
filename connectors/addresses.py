"""Addresses that connectors connect to or listen on: this machine only, for now."""

from __future__ import annotations

import ipaddress
import os
import time
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError

if TYPE_CHECKING:
    import socket

PORT_MAX = 65_535
_RETRY_SECONDS: Final = 0.05


def loopback(address: str) -> tuple[str, int]:
    """Return host and port of `HOST:PORT`; the host must be the loopback interface.

    Raises:
        FsqlError: E534, if the address is not of that form, or not on the loopback.
    """
    host, _, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (port.isascii() and port.isdigit() and int(port) <= PORT_MAX and host) or "/" in host:
        raise _address_error(address, "it is not of the form HOST:PORT")
    if host == "localhost":
        return "127.0.0.1", int(port)
    try:
        inside = ipaddress.ip_address(host).is_loopback
    except ValueError:
        inside = False
    if not inside:
        raise _address_error(
            address, "rows are not encrypted, so only addresses of this machine are allowed"
        )
    return host, int(port)


def accept_connection(listener: socket.socket) -> socket.socket | None:
    """Return a new connection to a listener that does not block; None if there is none to accept now.

    A connection may be gone before it is accepted.  If it is there and cannot be accepted, for example
    without free file descriptors, this waits a little: the caller would be called again at once.
    """
    try:
        return listener.accept()[0]
    except (BlockingIOError, ConnectionError):
        return None
    except OSError:
        time.sleep(_RETRY_SECONDS)
        return None


def listen_error(code: str, address: str, reason: OSError) -> FsqlError:
    """Return the error for an address that cannot be listened on: E531 for a source, E532 for a sink."""
    why = os.strerror(reason.errno).lower() if reason.errno else str(reason)
    message = f'address "{address}" cannot be listened on: {why}'
    helps = ("use another port, or stop the program that uses this one",)
    return FsqlError([Diagnostic(code, message, helps=helps)])


def _address_error(address: str, reason: str) -> FsqlError:
    helps = ("write 127.0.0.1:PORT",)
    return FsqlError([Diagnostic("E534", f'address "{address}" is refused: {reason}', helps=helps)])
