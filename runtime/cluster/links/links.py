"""The links of one node in one epoch, and the items that wait for the next frame on each.

A step puts items; at its end `send` puts all items for one peer in one frame.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.runtime.cluster.frames import COORDINATOR, Begin, Heartbeat
from fsql.runtime.cluster.links.link import Link
from fsql.runtime.cluster.node import Transmit
from fsql.runtime.dataflow.outbox import BARRIER, SendMessage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fsql.runtime.cluster.frames import Frame, Item
    from fsql.runtime.cluster.job_spec import Settings
    from fsql.runtime.cluster.links.link import LinkSettings
    from fsql.runtime.dataflow.outbox import Effect


_BEHIND_BYTES: Final = 4 << 20
"""In bytes, because rows go in many small frames, which are acknowledged together."""


class Links:
    """The links from node `local` to its peers, by the peers' numbers."""

    def __init__(
        self,
        job: str,
        tick: int,
        epoch: int,
        local: int,
        addresses: Mapping[int, str],
        settings: LinkSettings,
    ) -> None:
        """Open a link to each peer; `addresses` has the addresses of the peers."""
        self._job, self._tick, self._epoch, self._local = job, tick, epoch, local
        self._settings = settings
        self.by_peer: dict[int, Link] = {}
        self.addresses: dict[int, str] = {}
        self._items: dict[int, list[Item]] = {}
        self._answered: dict[int, None] = {}
        """The peers that `receive` has answered in this step, in the order of the answers."""
        for peer, address in addresses.items():
            self.add(peer, address)

    def add(self, peer: int, address: str) -> None:
        """Open a link to another peer, unless there is one."""
        if peer not in self.by_peer:
            self.by_peer[peer] = Link(
                self._job, self._tick, self._epoch, self._local, peer, self._settings
            )
            self.addresses[peer] = address

    def remove(self, peer: int) -> None:
        """Close the link to a peer, and drop the items that were put for it."""
        self.by_peer.pop(peer, None)
        self.addresses.pop(peer, None)
        self._items.pop(peer, None)
        self._answered.pop(peer, None)

    @property
    def have_waiting(self) -> bool:
        """Return whether any link has items that wait for its window."""
        return any(link.waiting for link in self.by_peer.values())

    def is_behind(self, peer: int) -> bool:
        """Return whether a peer has much of what was sent to it still to acknowledge."""
        link = self.by_peer[peer]
        return bool(link.waiting) or link.unacknowledged_bytes > _BEHIND_BYTES

    def next_timer(self) -> float:
        """Return when a link will have frames to send because of a timer, infinity for never."""
        return min([link.due_at for link in self.by_peer.values()])

    def put_effects(self, effects: Iterable[Effect]) -> None:
        """Put the output of a step of a worker: messages, and items for the coordinator."""
        for effect in effects:
            if isinstance(effect, SendMessage):
                receiver = COORDINATOR if effect.receiver == BARRIER else effect.receiver
                self.put(receiver, effect.message)
            else:
                self.put(COORDINATOR, effect)

    def put(self, peer: int, item: Item) -> None:
        """Add an item to the next frame to a peer."""
        self._items.setdefault(peer, []).append(item)

    def put_all(self, item: Item | None) -> None:
        """Add an item, if there is one, to the next frame to each peer."""
        if item is not None:
            for peer in self.by_peer:
                self.put(peer, item)

    def put_each(self, peers: Iterable[int], item: Item) -> None:
        """Add an item to the next frame to each of `peers`."""
        for peer in peers:
            self.put(peer, item)

    def discard(self) -> None:
        """Drop all items that were put but not sent."""
        self._items.clear()

    def receive(self, frame: Frame, now: float) -> tuple[list[Item], list[Transmit]]:
        """Return the items that are next in order, and frames to transmit in answer.

        Raises:
            InvariantError: if the peer acknowledges what was never sent.
        """
        items, frames = self.by_peer[frame.sender].receive(frame, now)
        if frames:
            self._answered[frame.sender] = None
        return items, self._to(frame.sender, frames)

    def receivers(self) -> list[int]:
        """Return the peers to which this step sends a frame."""
        return list(self._items | self._answered)

    def send(self, now: float) -> list[Transmit]:
        """Put all items of this step for each peer in one frame; return the frames to transmit."""
        outgoing, self._items = self._items, {}
        self._answered.clear()
        effects: list[Transmit] = []
        for peer, items in outgoing.items():
            effects += self._to(peer, self.by_peer[peer].send(items, now))
        return effects

    def due(self, now: float) -> list[int]:
        """Return the peers for which a timer of their link has expired."""
        return [peer for peer, link in self.by_peer.items() if link.due_at <= now]

    def send_due(self, peer: int, now: float) -> list[Transmit]:
        """Return the acknowledgement and the repeated frames for a peer that `due` has returned."""
        return self._to(peer, self.by_peer[peer].due(now))

    def _to(self, peer: int, frames: Iterable[Frame]) -> list[Transmit]:
        address = self.addresses[peer]
        return [Transmit(address, frame) for frame in frames]


# The links of a worker in one epoch.  Heartbeats go to the coordinator when no frame does.


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
