"""The links of a worker in one epoch.  Heartbeats go to the coordinator when no frame does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.runtime.cluster.frames import COORDINATOR, Begin, Heartbeat
from fsql.runtime.cluster.links import Links
from fsql.runtime.cluster.node import Transmit

if TYPE_CHECKING:
    from fsql.runtime.cluster.job_spec import Settings


class WorkerLinks(Links):
    """The links to the other members and to the coordinator."""

    def __init__(self, begin: Begin, settings: Settings, now: float) -> None:
        """Open the links; the first heartbeat is due immediately."""
        addresses = dict(
            zip(begin.members or range(len(begin.addresses)), begin.addresses, strict=True)
        )
        addresses.pop(begin.number, None)
        addresses[COORDINATOR] = begin.coordinator
        super().__init__(begin.job, begin.tick, begin.epoch, begin.number, addresses, settings.link)
        self._begin = begin
        self.heartbeat_every = settings.heartbeat_every
        self.next_heartbeat = now
        self.loaded = 0

    def send(self, now: float) -> list[Transmit]:
        """See `Links.send`; a frame shows that its sender is alive, as a heartbeat does."""
        transmits = super().send(now)
        if any(each.address == self._begin.coordinator for each in transmits):
            self.next_heartbeat = now + self.heartbeat_every
        return transmits

    def send_all_due(self, now: float) -> list[Transmit]:
        """Return the acknowledgements and the repeated frames whose timers have expired."""
        return [transmit for peer in self.due(now) for transmit in self.send_due(peer, now)]

    def heartbeat(self, now: float) -> list[Transmit]:
        """Return a heartbeat if it is due."""
        if now < self.next_heartbeat:
            return []
        self.next_heartbeat = now + self.heartbeat_every
        begin = self._begin
        beat = Heartbeat(begin.job, begin.epoch, begin.number, self.loaded)
        return [Transmit(begin.coordinator, beat)]

    def late_heartbeat(self, now: float) -> list[Transmit]:
        """Return a heartbeat if one has been due for an interval: under steady input no timer fires."""
        return self.heartbeat(now) if now >= self.next_heartbeat + self.heartbeat_every else []
