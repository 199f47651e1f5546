"""A coordinator and a worker in one process: they exchange messages by calls.

Both have the address of the process.  Frames and datagrams between them are handed over in order, without
encoding or copying.  All others go over the transport of the process.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Protocol

from fsql.runtime.cluster.frames import COORDINATOR, Begin, Frame, Hello
from fsql.runtime.cluster.node import Received

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fsql.runtime.cluster.frames import Datagram
    from fsql.runtime.hosts.ports import Transport


class _Steppable(Protocol):
    """A host, or a substitute in tests."""

    @property
    def step(self) -> Callable[[Received], None]:
        """Return the function that steps the node with an event."""


def is_for_coordinator(what: Frame | Datagram) -> bool:
    """Return whether the coordinator, not the worker, is the receiver of a frame or datagram."""
    match what:
        case Frame():
            return what.receiver == COORDINATOR
        case Hello():
            return True
        case Begin():
            return False
        case _:
            return what.sender != COORDINATOR


class HostedTransport:
    """The transport of two nodes with one address: it queues what they send to that address."""

    def __init__(self, transport: Transport, address: str) -> None:
        self.address = address
        self.kept: deque[Frame | Datagram] = deque()
        """What the nodes have sent to each other, in order."""
        self._transport = transport

    @property
    def other_versions(self) -> Mapping[str, int]:
        """See `Transport`."""
        return self._transport.other_versions

    def send(self, address: str, what: Frame | Datagram) -> object:
        """See `Transport`."""
        if address == self.address:
            self.kept.append(what)
            return True
        return self._transport.send(address, what)

    def send_last(self, address: str, what: Datagram) -> None:
        """See `Transport`."""
        if address == self.address:
            self.kept.append(what)
        else:
            self._transport.send_last(address, what)


class HostedNodes:
    """The hosts of both nodes, and the queue of what they send to each other."""

    def __init__(
        self, coordinator: _Steppable, worker: _Steppable, transport: HostedTransport
    ) -> None:
        self._coordinator = coordinator
        self._worker = worker
        self._transport = transport

    def receive(self, what: Frame | Datagram, source: str) -> None:
        """Step the node that is the receiver of a frame or datagram from `source`."""
        node = self._coordinator if is_for_coordinator(what) else self._worker
        node.step(Received(what, source))

    def exchange(self) -> None:
        """Deliver what the nodes have sent to each other, until neither sends any more."""
        kept, address = self._transport.kept, self._transport.address
        while kept:
            self.receive(kept.popleft(), address)
