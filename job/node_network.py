"""The network of a process of a run: its address and its CURVE keys, if it has any."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.records import dataclass
from fsql.runtime.coordination.zookeeper.address import is_zookeeper
from fsql.runtime.drivers.node_address import ANY_PORT, is_on_loopback, parse_node_address
from fsql.runtime.drivers.transport import ZeroMqTransport

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.runtime.drivers.curve.keys import NodeKeys


def _ignore(problem: str) -> None:
    del problem


@dataclass(frozen=True, slots=True)
class NodeNetwork:
    """The network options of a process.

    Args:
        keys: the CURVE keys; None for none.
        listen: the address to listen on; None for the one that reaches the coordinator.
        warn: called with problems of connections, by any thread.
    """

    keys: NodeKeys | None = None
    listen: str | None = None
    warn: Callable[[str], None] = _ignore

    def open_transport(self, key: bytes, leader: str) -> ZeroMqTransport:
        """Return the transport of a worker; `leader` is the address of the coordinator, or in ZooKeeper.

        Raises:
            FsqlError: E601 or E603, if the address to listen on cannot be used.
        """
        address = self.listen or self._local_address(leader)
        return ZeroMqTransport(key, address, curve=self.keys, warn=self.warn)

    def take_listener(self, key: bytes, listening: int) -> ZeroMqTransport:
        """Return the transport of a coordinator, which takes the connections of a listening socket."""
        with socket.socket(fileno=listening) as taken:
            host, port = taken.getsockname()
            taken.detach()
        address = ANY_PORT if self.keys is None else f"tcp://{host}:{port}"
        return ZeroMqTransport(key, address, listening=listening, curve=self.keys, warn=self.warn)

    def _local_address(self, leader: str) -> str:
        """Return an address of this machine at which the coordinator can reach it.

        Raises:
            FsqlError: E603, if there is no route to the coordinator.
        """
        if self.keys is None or is_zookeeper(leader):
            return ANY_PORT
        host = parse_node_address(leader, curve=True).host
        if is_on_loopback(host):
            return ANY_PORT
        try:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                probe.connect((host, 9))  # nothing is sent: this only chooses the interface
                own = probe.getsockname()[0]
        except OSError as error:
            message = f"no interface of this machine leads to {host}: {error.strerror}"
            helps = ("name an address of this machine: --listen tcp://HOST:*",)
            raise FsqlError([Diagnostic("E603", message, helps=helps)]) from None
        return f"tcp://{own}:*"


LOOPBACK: Final = NodeNetwork()
"""No keys: all nodes are on the loopback of this machine."""
