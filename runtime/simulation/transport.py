"""The transport of a simulated process, which also records probes."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from fsql.runtime.cluster.frames import Begin
from fsql.runtime.simulation.probes import record_probes

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
        self.record_probes(what)
        self._cluster.network.transmit(self._name, address, what)

    send_last = send

    def record_probes(self, what: Frame | Datagram) -> None:
        """Record the probes of a message, over the network or within the process."""
        record_probes(what, self._cluster.coverage)
        if isinstance(what, Begin):
            self._cluster.on_begin(what)
