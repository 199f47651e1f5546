"""The way of a simulated process to the others, and what can be seen on it."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from fsql.runtime.cluster.frames import Begin
from fsql.runtime.simulation.probes import look_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.runtime.cluster.frames import Datagram, Frame
    from fsql.runtime.simulation.cluster import SimulatedCluster
    from fsql.runtime.simulation.process import Process


class SimulatedTransport:
    """The `Transport` of one process."""

    other_versions: Final[Mapping[str, int]] = MappingProxyType({})

    def __init__(self, process: Process, cluster: SimulatedCluster) -> None:
        self._name = process.name
        self._cluster = cluster

    def send(self, address: str, what: Frame | Datagram) -> None:
        """See `Transport`."""
        self.look_at(what)
        self._cluster.network.transmit(self._name, address, what)

    send_last = send

    def look_at(self, what: Frame | Datagram) -> None:
        """Record what is sent, over the network or within the process."""
        look_at(what, self._cluster.coverage)
        if isinstance(what, Begin):
            self._cluster.on_begin(what)
