"""Consumers at the other end of a connection that say what a test has them say."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import TYPE_CHECKING

from fsql.connectors.tcp.frames import FrameReader, Head, frame_bytes

if TYPE_CHECKING:
    from collections.abc import Callable


def data(head: Head, payload: bytes = b"") -> bytes:
    return b"".join(frame_bytes(head, payload))


class Scripted:
    """A consumer that answers what a test says, to one connection after the other."""

    def __init__(self, *scripts: Callable[[socket.socket], None]) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._scripts = scripts
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        for script in self._scripts:
            peer, _ = self._listener.accept()
            with peer:
                script(peer)
        self._listener.close()

    def join(self) -> None:
        self._thread.join()


def await_frame(peer: socket.socket) -> None:
    """Return when a whole frame has come: to hang up on the rest of one would reset the connection."""
    reader = FrameReader()
    while received := peer.recv(4096):
        if list(reader.feed(received)):
            return


def answering(*heads: Head) -> Callable[[socket.socket], None]:
    """Return a script that answers whatever comes first, and then waits until the other hangs up."""

    def script(peer: socket.socket) -> None:
        await_frame(peer)
        for head in heads:
            peer.sendall(data(head))
        with contextlib.suppress(ConnectionResetError):
            while peer.recv(4096):
                pass

    return script
