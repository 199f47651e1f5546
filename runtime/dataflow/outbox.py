"""The output of a step of a worker: messages, and one combined acknowledgement of the whole step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.records import dataclass
from fsql.runtime.dataflow.messages import (
    AckEntry,
    Acknowledgement,
    Ids,
    Kind,
    Message,
    Promise,
    link_number,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fsql.runtime.dataflow.fold import Fold
    from fsql.runtime.dataflow.messages import Parcel

BARRIER = -1
"""The receiver of messages to the barrier; other receivers are workers by number."""

_HOLDS: Final = 0
_FIRST_PEER: Final = 2
"""Peers in message ids: 0 is for the holds of a worker's folds, 1 for the barrier, then the workers."""


@dataclass(frozen=True, slots=True)
class SendMessage:
    """Effect: put a message on the link to `receiver`."""

    receiver: int
    message: Message


Effect = SendMessage | Acknowledgement | Promise


class Outbox:
    """Collects the output of one step after the other."""

    def __init__(self, worker: int, epoch: int) -> None:
        """Start with nothing sent, as a worker of an epoch."""
        self.used: set[int] = set()
        """The stages of the folds that this step has used, whose holds may have changed."""
        self._worker, self._epoch = worker, epoch
        self._ids: dict[int, Ids] = {}
        """The ids of messages, by receiver; workers may join, and no number is used twice in an epoch."""
        self._hold_ids = Ids(epoch, link_number(worker + _FIRST_PEER, _HOLDS))
        self._holds: dict[int, AckEntry] = {}
        self._sent: list[SendMessage] = []
        self._sent_first: list[SendMessage] = []

    def post(self, receiver: int, parcel: Parcel) -> None:
        """Send a parcel."""
        message = Message(parcel, self.ids_for(receiver).next(), parcel.least_root())
        self._sent.append(SendMessage(receiver, message))

    def post_all(self, parts: Iterable[tuple[int, Parcel]]) -> None:
        """Send parcels, each to its receiver."""
        for receiver, parcel in parts:
            self.post(receiver, parcel)

    def ids_for(self, receiver: int) -> Ids:
        """Return the ids of the messages to a receiver."""
        ids = self._ids.get(receiver)
        if ids is None:
            link = link_number(self._worker + _FIRST_PEER, receiver + _FIRST_PEER)
            ids = self._ids[receiver] = Ids(self._epoch, link)
        return ids

    def take_for_workers(self) -> list[SendMessage]:
        """Return the messages to other workers so far, so that these can begin before the step ends."""
        first = [sent for sent in self._sent if sent.receiver != BARRIER]
        self._sent = [sent for sent in self._sent if sent.receiver == BARRIER]
        self._sent_first += first
        return first

    def finish(self, consumed: Sequence[AckEntry], folds: Mapping[int, Fold]) -> list[Effect]:
        """End the step: return the remaining messages, and an acknowledgement of all that were sent."""
        entries = list(consumed)
        for sent in (*self._sent_first, *self._sent):
            message = sent.message
            entries.append(
                AckEntry(message.parcel.to.stage, Kind.MESSAGE, message.root, message.id)
            )
        entries += self._take_changed_holds(folds)
        effects: list[Effect] = [*self._sent]
        self._sent_first, self._sent = [], []
        if entries:
            effects.append(Acknowledgement(tuple(entries)))
        return effects

    def _take_changed_holds(self, folds: Mapping[int, Fold]) -> list[AckEntry]:
        """Return the entries of the ack table for the holds that have changed in this step."""
        moved = []
        for stage in sorted(self.used):
            root, known = folds[stage].hold(), self._holds.get(stage)
            if root == (None if known is None else known.root):
                continue
            if known is not None:
                moved.append(self._holds.pop(stage))
            if root is not None:
                self._holds[stage] = AckEntry(stage, Kind.HOLD, root, self._hold_ids.next())
                moved.append(self._holds[stage])
        self.used.clear()
        return moved
