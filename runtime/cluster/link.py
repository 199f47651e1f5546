"""A link: carries items from one node to another and back, within one epoch, over a network that fails.

Contract.  Between two links that know each other's numbers, for what is sent on either:

* What `receive` returns on one side is at each moment a prefix of what was given to `send` on the other:
  nothing is lost, doubled or reordered, whatever the network does with frames.
* If the network lets a frame through now and then, everything sent is received in the end; and when
  everything is acknowledged, both sides fall silent.
* Sent frames that are kept to be sent again hold at most `window_bytes` (or one frame), and at most
  `window_frames` that came early are kept.  What does not fit in the window waits, without bound: see
  `waiting`.

Not promised: that the node on the other side has acted on what was acknowledged, only that its link has
it.  If a node ends, what its link held is gone: that is what epochs and snapshots are for.

A frame that came early is kept, and its arrival is told at once: two such signs, or a timer, start a
repair.  A repair sends the oldest frame again; then, each time this helps, twice as many as before, of
those that were under way when it began.  So one slow receiver costs one frame for each time the timer
runs out, and a broken connection full of frames is mended in a few round trips.

A node that was busy finds a timer run out and the acknowledgement in its input.  So a timer that has run out
asks for a second look, behind what has come meanwhile, before anything is sent again; and a peer that is
slow to answer is given twice the time that it took.

`now` is in seconds of a clock that never goes back; see `fsql.runtime.cluster.node`.
`tests/unit/cluster/test_link.py` has the network that fails.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from fsql.runtime.cluster.frames import Frame, SnapshotAcknowledged
from fsql.runtime.dataflow.invariants import InvariantError
from fsql.runtime.dataflow.messages import Acknowledgement, Message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.runtime.cluster.frames import Item

NEVER: Final = math.inf

_QUARTERS: Final = 4
_SIGNS_OF_LOSS: Final = 2
"""How many acknowledgements without news start a repair; one may be a mere double."""

ITEM_BYTES: Final = 64
_ENTRY_BYTES: Final = 48
_RECORD_BYTES: Final = 256
_EXACT_FROM_BYTES: Final = 65536
"""Columns whose buffers hold more are measured exactly: they may be slices of something large."""


_LARGE_BYTES: Final = 1 << 20
"""Frames of more are given time for their transfer."""


@dataclass(frozen=True, slots=True)
class LinkSettings:
    """Limits and times of a link; the times are in seconds.

    `resend_after` is the least; it doubles with each time that it runs out, up to `resend_after_max`, until
    something is acknowledged that was sent once.  An acknowledgement that finds no frame to go with is sent
    alone after `acknowledge_after`, or at once for every `acknowledge_frames`-th frame and each quarter of
    `window_bytes`, so that no sender has to wait for it.  Large frames are given more time, before they are
    sent again and before their receiver counts as stuck: what they take at `bytes_per_second`.
    """

    window_frames: int = 256
    window_bytes: int = 16 << 20
    resend_after: float = 0.2
    resend_after_max: float = 2.0
    acknowledge_after: float = 0.005
    acknowledge_frames: int = 16
    bytes_per_second: int = 8 << 20


@dataclass(slots=True)
class _Sent:
    """What one frame carries, kept until it is acknowledged."""

    sequence: int
    items: tuple[Item, ...]
    size: int
    at: float


class Link:
    """One end of a link: what node `local` sends to node `peer`, and what it receives from it."""

    __slots__ = (
        "_acknowledge_at",
        "_acknowledged",
        "_bytes",
        "_early",
        "_epoch",
        "_job",
        "_local",
        "_news_at",
        "_overdue",
        "_peer",
        "_received",
        "_repair_count",
        "_repair_next",
        "_repair_until",
        "_resend_at",
        "_resend_wait",
        "_sent",
        "_sequence",
        "_settings",
        "_signs",
        "_slowest",
        "_tick",
        "_unanswered",
        "_unanswered_bytes",
        "_waiting",
        "doubled",
        "due_at",
        "foreign",
        "resent",
    )

    def __init__(
        self, job: str, tick: int, epoch: int, local: int, peer: int, settings: LinkSettings
    ) -> None:
        """Begin a link on which nothing was sent yet, in either direction."""
        self._job, self._tick, self._epoch = job, tick, epoch
        self._local, self._peer = local, peer
        self._settings = settings
        self.foreign = 0
        """Frames that were no frames of this link."""
        self.doubled = 0
        """Frames that had come before."""
        self.resent = 0
        """Frames sent again."""
        self._sequence = 0
        self._acknowledged = 0
        self._sent: deque[_Sent] = deque()
        self._bytes = 0
        self._waiting: deque[tuple[tuple[Item, ...], int]] = deque()
        self._news_at = 0.0
        self._resend_at = 0.0
        self._resend_wait = settings.resend_after
        self._slowest = 0.0
        """How long an answer takes, the slowest of late."""
        self._overdue = False
        """The timer has run out, and was looked at once."""
        self._signs = 0
        self._repair_next = 0
        self._repair_until = 0
        self._repair_count = 1
        self._received = 0
        self._early: dict[int, tuple[Item, ...]] = {}
        self._unanswered = 0
        self._unanswered_bytes = 0
        self._acknowledge_at: float | None = None
        self.due_at = NEVER
        """When `due` will have something."""

    @property
    def unacknowledged(self) -> int:
        """Return how many frames are under way or lost."""
        return len(self._sent)

    @property
    def waiting(self) -> int:
        """Return how many sends wait for the window."""
        return len(self._waiting)

    @property
    def early(self) -> int:
        """Return how many frames are kept because one before them has not come."""
        return len(self._early)

    def stuck_for(self, now: float) -> float:
        """Return for how long nothing was acknowledged of what is under way; 0 if nothing is.

        A node that was stopped must look at what came meanwhile before it asks.
        """
        if not self._sent:
            return 0.0
        return max(0.0, now - max(self._sent[0].at, self._news_at) - self._transfer_seconds())

    def _transfer_seconds(self) -> float:
        """Return how long the oldest frame under way may take because of its size."""
        if not self._sent or self._sent[0].size < _LARGE_BYTES:
            return 0.0
        return self._sent[0].size / self._settings.bytes_per_second

    def next_due(self) -> float | None:
        """Return when `due` will have something, or None if it will not."""
        return None if self.due_at == NEVER else self.due_at

    def _dues_noted(self) -> None:
        """Note when `due` will have something: nodes ask all their links at each step."""
        resend_at = self._resend_at if self._sent else NEVER
        acknowledge_at = NEVER if self._acknowledge_at is None else self._acknowledge_at
        self.due_at = min(resend_at, acknowledge_at)

    def send(self, items: Sequence[Item], now: float) -> list[Frame]:
        """Send items, all in one frame; return the frames to transmit: none while the window is full."""
        if not items:
            return []
        self._waiting.append((tuple(items), sum([item_bytes(item) for item in items])))
        frames = self._transmit(now)
        self._dues_noted()
        return frames

    def receive(self, frame: Frame, now: float) -> tuple[list[Item], list[Frame]]:
        """Return the items whose turn it is, and frames to transmit in answer.

        Raises:
            InvariantError: if the peer acknowledges what was never sent.
        """
        if not self._mine(frame):
            self.foreign += 1
            return [], []
        if frame.acknowledged > self._sequence:
            raise InvariantError(
                f"node {self._peer} acknowledges frame {frame.acknowledged} of {self._sequence}"
            )
        items: list[Item] = []
        if frame.sequence:
            items = self._arrived(frame, now)
        transmit = self._told(frame.acknowledged, alone=not frame.sequence, now=now)
        settings = self._settings
        if (
            self._unanswered >= settings.acknowledge_frames
            or self._unanswered_bytes * _QUARTERS >= settings.window_bytes
        ):
            transmit.append(self._frame(0, ()))
        self._dues_noted()
        return items, transmit

    def due(self, now: float) -> list[Frame]:
        """Return the frames to transmit because their time has come.

        To be called when what had come before is dealt with.
        """
        transmit: list[Frame] = []
        if self._sent and now >= self._resend_at:
            if self._overdue:
                self._resend_wait = min(2 * self._resend_wait, self._settings.resend_after_max)
                transmit = self._repair(now)
            self._overdue = not self._overdue
        if self._acknowledge_at is not None and now >= self._acknowledge_at:
            transmit.append(self._frame(0, ()))
        self._dues_noted()
        return transmit

    def _mine(self, frame: Frame) -> bool:
        return (
            frame.epoch == self._epoch
            and frame.sender == self._peer
            and frame.receiver == self._local
            and frame.job == self._job
            and frame.tick == self._tick
            and frame.sequence >= 0
        )

    # What is received.

    def _arrived(self, frame: Frame, now: float) -> list[Item]:
        self._unanswered += 1
        for item in frame.items:
            if isinstance(item, Message):
                self._unanswered_bytes += item_bytes(item)
        if self._acknowledge_at is None:
            self._acknowledge_at = now + self._settings.acknowledge_after
        sequence = frame.sequence
        if sequence != self._received + 1:
            self._keep(frame)
            return []
        items = list(frame.items)
        self._received = sequence
        while self._early and (after := self._early.pop(self._received + 1, None)) is not None:
            items += after
            self._received += 1
        return items

    def _keep(self, frame: Frame) -> None:
        """Keep a frame that came early, if it may be kept, and tell of it at once."""
        if frame.sequence <= self._received or frame.sequence in self._early:
            self.doubled += 1
            return
        if frame.sequence <= self._received + self._settings.window_frames:
            self._early[frame.sequence] = frame.items
        self._unanswered = self._settings.acknowledge_frames

    # What is sent.

    def _told(self, acknowledged: int, *, alone: bool, now: float) -> list[Frame]:
        """Take note of what the peer has; `alone` says that the frame had nothing else to say."""
        if acknowledged > self._acknowledged:
            return self._news(acknowledged, now)
        if alone and acknowledged == self._acknowledged and self._sent:
            self._signs += 1
            if self._signs == _SIGNS_OF_LOSS:
                return self._repair(now)
        return []

    def _news(self, acknowledged: int, now: float) -> list[Frame]:
        sent = self._sent
        while sent and sent[0].sequence <= acknowledged:
            newest = sent.popleft()
            self._bytes -= newest.size
        if self._bytes < 0 or (self._bytes and not sent):
            raise InvariantError(f"{self._bytes} bytes are under way in {len(sent)} frames")
        if newest.sequence > self._repair_until:
            self._answered_in(now - newest.at)
        self._acknowledged = acknowledged
        self._signs = 0
        self._news_at = now
        self._overdue = False
        self._resend_at = now + self._resend_wait + self._transfer_seconds()
        if acknowledged < self._repair_until:
            self._repair_count *= 2
            return self._repaired() + self._transmit(now)
        return self._transmit(now)

    def _answered_in(self, seconds: float) -> None:
        """Record how long the acknowledgement of a frame took that was sent only once."""
        self._slowest = max(seconds, 0.9 * self._slowest)
        least, most = self._settings.resend_after, self._settings.resend_after_max
        self._resend_wait = min(max(least, 2 * self._slowest), most)

    def _repair(self, now: float) -> list[Frame]:
        """Begin to send again what is under way."""
        self._repair_next = self._sent[0].sequence
        self._repair_until = self._sequence
        self._repair_count = 1
        self._resend_at = now + self._resend_wait + self._transfer_seconds()
        return self._repaired()

    def _repaired(self) -> list[Frame]:
        """Return the next frames of the repair that are not acknowledged by now."""
        oldest = self._sent[0].sequence
        begin = max(self._repair_next, oldest)
        end = min(begin + self._repair_count, self._repair_until + 1)
        self._repair_next = end
        self.resent += end - begin
        again = islice(self._sent, begin - oldest, end - oldest)
        return [self._frame(sent.sequence, sent.items) for sent in again]

    def _transmit(self, now: float) -> list[Frame]:
        """Return what waits, as far as the window allows."""
        frames: list[Frame] = []
        sent, waiting, settings = self._sent, self._waiting, self._settings
        while waiting and len(sent) < settings.window_frames:
            items, size = waiting[0]
            if sent and self._bytes + size > settings.window_bytes:
                break
            waiting.popleft()
            self._sequence += 1
            self._bytes += size
            sent.append(_Sent(self._sequence, items, size, now))
            if len(sent) == 1:
                self._resend_at = now + self._resend_wait + self._transfer_seconds()
            frames.append(self._frame(self._sequence, items))
        return frames

    def _frame(self, sequence: int, items: tuple[Item, ...]) -> Frame:
        self._acknowledge_at = None
        self._unanswered = self._unanswered_bytes = 0
        return Frame(
            self._job,
            self._tick,
            self._epoch,
            self._local,
            self._peer,
            sequence,
            self._received,
            items,
        )


def item_bytes(item: Item) -> int:
    """Return about how many bytes an item takes, in memory and on the wire."""
    if isinstance(item, Message):
        parcel = item.parcel
        total = ITEM_BYTES + 512 * len(parcel.rejects)
        if (batch := parcel.batch) is not None:
            total += len(batch) * 8 * (3 + len(batch.path))
            for column in batch.columns:
                size = column.get_total_buffer_size()
                total += column.nbytes if size > _EXACT_FROM_BYTES else size
        return total
    if isinstance(item, Acknowledgement):
        return ITEM_BYTES + _ENTRY_BYTES * len(item.entries)
    if isinstance(item, SnapshotAcknowledged):
        return ITEM_BYTES + _RECORD_BYTES * (len(item.records) + len(item.fronts))
    return ITEM_BYTES
