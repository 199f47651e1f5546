"""Ports for whoever is to listen on them later, or again, or never: the system gives them to nobody else.

A port that was free a moment ago may be somebody else's now: other tests have the system choose ports, too.
A socket that is bound to one and does not listen keeps it: who asks for any port does not get this one, who
asks for this one may listen there, as all that listen here share addresses, and who connects is refused.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType


class KeptPort:
    """A port of the loopback."""

    def __init__(self) -> None:
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind(("127.0.0.1", 0))
        self.number: int = self._socket.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.number}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let it go."""
        self._socket.close()
