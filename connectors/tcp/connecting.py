"""Waiting at a connection whose descriptor may have any number: select() takes none from 1,024 on."""

from __future__ import annotations

import os
import select
import socket


def wait_for(connection: socket.socket, seconds: float, *, writing: bool) -> None:
    """Wait up to `seconds` until something can be read, or written if that is wanted."""
    waiting = select.poll()
    waiting.register(connection, select.POLLIN | (select.POLLOUT if writing else 0))
    waiting.poll(seconds * 1000)


def finish_connecting(made: socket.socket) -> bool:
    """Return whether a connection that was begun is established.

    Raises:
        OSError: if it never will be.
    """
    waiting = select.poll()
    waiting.register(made, select.POLLOUT)
    if not waiting.poll(0):
        return False
    error = made.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if error:
        raise OSError(error, os.strerror(error))
    return True
