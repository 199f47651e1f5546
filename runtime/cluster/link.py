"""A link: carries items between two nodes in both directions, within one epoch, over an unreliable network.

Contract.  For the two ends of a link, in each direction:

* The items that `receive` has returned at one end are always a prefix of the items that `send` was given at
  the other: nothing is lost, duplicated or reordered, whatever the network does with frames.
* If the network delivers a frame from time to time, everything sent is received eventually.  When everything
  is acknowledged, neither end sends any more.
* The sent frames that are kept for resending hold at most `window_bytes` (or are a single frame), and at most
  `window_frames` frames that arrived early are kept.  Items that do not fit in the window wait, without
  bound: see `waiting`.

Not promised: that the receiving node has processed what was acknowledged, only that its link has received it.
If a node ends, the contents of its links are lost; the next epoch starts from a snapshot.

`now` is in seconds of a monotonic clock; see `fsql.runtime.cluster.node`.
`tests/unit/cluster/test_link.py` simulates a network that fails.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from fsql.runtime.cluster.frames import Frame
from fsql.runtime.cluster.link_receiver import LinkReceiver
from fsql.runtime.cluster.link_sender import LinkSender
from fsql.runtime.dataflow.invariants import InvariantError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.runtime.cluster.frames import Item
    from fsql.runtime.cluster.link_sender import SentFrame
    from fsql.runtime.cluster.link_settings import LinkSettings

NEVER: Final = math.inf


class Link:
    """The end of a link at node `local`; the other end is at node `peer`."""

    __slots__ = (
        "_epoch",
        "_job",
        "_local",
        "_peer",
        "_receiver",
        "_sender",
        "_tick",
        "due_at",
        "foreign",
    )

    def __init__(
        self, job: str, tick: int, epoch: int, local: int, peer: int, settings: LinkSettings
    ) -> None:
        """Start with nothing sent, in either direction."""
        self._job, self._tick, self._epoch = job, tick, epoch
        self._local, self._peer = local, peer
        self._sender = LinkSender(settings)
        self._receiver = LinkReceiver(settings)
        self.foreign = 0
        """Number of frames that were not frames of this link."""
        self.due_at = NEVER
        """When `due` will return frames."""

    @property
    def duplicates(self) -> int:
        """Return the number of duplicate frames received."""
        return self._receiver.duplicates

    @property
    def resent(self) -> int:
        """Return the number of frames that were sent again."""
        return self._sender.resent

    @property
    def frames(self) -> int:
        """Return the number of frames with items that were sent; those that were sent again count once."""
        return self._sender.sequence

    @property
    def bytes_given(self) -> int:
        """Return the size in bytes of all items that were given to `send`."""
        return self._sender.bytes_given

    @property
    def unacknowledged(self) -> int:
        """Return the number of frames in flight or lost."""
        return self._sender.unacknowledged

    @property
    def unacknowledged_bytes(self) -> int:
        """Return the size in bytes of the frames in flight or lost."""
        return self._sender.unacknowledged_bytes

    @property
    def waiting(self) -> int:
        """Return the number of sends that wait for the window."""
        return self._sender.waiting

    @property
    def early(self) -> int:
        """Return the number of received frames that are kept because an earlier one is missing."""
        return len(self._receiver.early)

    def stuck_for(self, now: float) -> float:
        """Return for how long no frame in flight was acknowledged; 0 if none is in flight.

        A node that was stopped must process the input that has arrived meanwhile before it calls this.
        """
        return self._sender.stuck_for(now)

    def next_due(self) -> float | None:
        """Return when `due` will return frames, None for never."""
        return None if self.due_at == NEVER else self.due_at

    def send(self, items: Sequence[Item], now: float) -> list[Frame]:
        """Send items in one frame; return the frames to transmit: none while the window is full."""
        if not items:
            return []
        frames = self._frames(self._sender.send(items, now))
        self._set_timer()
        return frames

    def receive(self, frame: Frame, now: float) -> tuple[list[Item], list[Frame]]:
        """Return the items that are next in order, and frames to transmit in answer.

        Raises:
            InvariantError: if the peer acknowledges what was never sent.
        """
        if not self._is_own(frame):
            self.foreign += 1
            return [], []
        if frame.acknowledged > self._sender.sequence:
            raise InvariantError(
                f"node {self._peer} acknowledges frame {frame.acknowledged} of {self._sender.sequence}"
            )
        items = self._receiver.receive(frame, now) if frame.sequence else []
        alone = not frame.sequence
        sent = self._sender.on_acknowledgement(frame.acknowledged, alone=alone, now=now)
        transmit = self._frames(sent)
        if self._receiver.must_acknowledge:
            transmit.append(self._frame(0, ()))
        self._set_timer()
        return items, transmit

    def due(self, now: float) -> list[Frame]:
        """Return the frames to transmit because their time has come.

        To be called when all input is processed.
        """
        transmit = self._frames(self._sender.resend_due(now))
        acknowledge_at = self._receiver.acknowledge_at
        if acknowledge_at is not None and now >= acknowledge_at:
            transmit.append(self._frame(0, ()))
        self._set_timer()
        return transmit

    def _is_own(self, frame: Frame) -> bool:
        return (
            frame.epoch == self._epoch
            and frame.sender == self._peer
            and frame.receiver == self._local
            and frame.job == self._job
            and frame.tick == self._tick
            and frame.sequence >= 0
        )

    def _set_timer(self) -> None:
        """Compute, once, when `due` will return frames: nodes ask all their links for it at each step."""
        resend_at, acknowledge_at = self._sender.resend_at, self._receiver.acknowledge_at
        due_at = NEVER if resend_at is None else resend_at
        self.due_at = due_at if acknowledge_at is None else min(due_at, acknowledge_at)

    def _frames(self, sent: Sequence[SentFrame]) -> list[Frame]:
        return [self._frame(each.sequence, each.items) for each in sent]

    def _frame(self, sequence: int, items: tuple[Item, ...]) -> Frame:
        self._receiver.on_acknowledged()
        return Frame(
            self._job,
            self._tick,
            self._epoch,
            self._local,
            self._peer,
            sequence,
            self._receiver.received,
            items,
        )
