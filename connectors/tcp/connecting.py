"""Waiting for connections with poll(): select() only accepts descriptors below 1,024."""

from __future__ import annotations

import os
import select
import socket


def wait_for(connection: socket.socket, seconds: float, *, writing: bool) -> None:
    """Wait up to `seconds` until the connection can be read or, if `writing`, written."""
    waiting = select.poll()
    waiting.register(connection, select.POLLIN | (select.POLLOUT if writing else 0))
    waiting.poll(seconds * 1000)


def finish_connecting(made: socket.socket) -> bool:
    """Return whether a connection that is being established is ready.

    Raises:
        OSError: if it has failed.
    """
    waiting = select.poll()
    waiting.register(made, select.POLLOUT)
    if not waiting.poll(0):
        return False
    error = made.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if error:
        raise OSError(error, os.strerror(error))
    return True
