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
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Final

from fsql.compiler.records import dataclass
from fsql.runtime.cluster.frames import Frame, SnapshotAcknowledged, StatePart
from fsql.runtime.dataflow.invariants import InvariantError
from fsql.runtime.dataflow.messages import Acknowledgement, Message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.runtime.cluster.frames import Item


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


# The sending half of a link: the window, and the retransmission of lost frames.
#
# The receiver keeps a frame that arrives early, and repeats its last acknowledgement immediately: two such
# acknowledgements, or a timeout, start a repair.  A repair sends the oldest frame again; then, each time this
# helps, twice as many as before, of the frames that were in flight when it began.  So a slow receiver costs
# one frame for each timeout, and a broken connection full of frames is repaired in a few round trips.
#
# A node that was busy can find that a timer has expired while the acknowledgement is already in its input.
# So an expired timer is checked a second time, after all input is processed, before frames are sent again.
# The timeout is at least twice the time that the peer takes to answer.


_SIGNS_OF_LOSS: Final = 2
"""This many repeated acknowledgements start a repair; a single one may be a duplicate."""

_SLOWEST_DECAY: Final = 0.9

_LARGE_BYTES: Final = 1 << 20
"""Larger frames get additional time for their transfer."""


@dataclass(slots=True)
class SentFrame:
    """The content of one frame, kept until it is acknowledged."""

    sequence: int
    items: tuple[Item, ...]
    size: int
    sent_at: float


class LinkSender:
    """The frames that one node sends on a link."""

    __slots__ = (
        "_acknowledged",
        "_acknowledged_at",
        "_bytes",
        "_overdue",
        "_repair_count",
        "_repair_next",
        "_repair_until",
        "_resend_at",
        "_resend_wait",
        "_sent",
        "_settings",
        "_signs",
        "_slowest",
        "_waiting",
        "bytes_given",
        "resent",
        "sequence",
    )

    def __init__(self, settings: LinkSettings) -> None:
        """Start with nothing sent."""
        self._settings = settings
        self.resent = 0
        """Number of frames sent again."""
        self.sequence = 0
        """Sequence number of the newest frame."""
        self.bytes_given = 0
        """Size in bytes of all items that were given to `send`."""
        self._acknowledged = 0
        self._sent: deque[SentFrame] = deque()
        self._bytes = 0
        self._waiting: deque[tuple[tuple[Item, ...], int]] = deque()
        self._acknowledged_at = 0.0
        self._resend_at = 0.0
        self._resend_wait = settings.resend_after
        self._slowest = 0.0
        """How many seconds the slowest recent answer took."""
        self._overdue = False
        """Whether the timer has expired and was checked once."""
        self._signs = 0
        self._repair_next = 0
        self._repair_until = 0
        self._repair_count = 1

    @property
    def unacknowledged(self) -> int:
        """Return the number of frames in flight or lost."""
        return len(self._sent)

    @property
    def unacknowledged_bytes(self) -> int:
        """Return the size in bytes of the frames in flight or lost."""
        return self._bytes

    @property
    def waiting(self) -> int:
        """Return the number of sends that wait for the window."""
        return len(self._waiting)

    @property
    def resend_at(self) -> float | None:
        """Return when the timer expires, None if nothing is in flight."""
        return self._resend_at if self._sent else None

    def stuck_for(self, now: float) -> float:
        """Return for how long no frame in flight was acknowledged; 0 if none is in flight."""
        if not self._sent:
            return 0.0
        since = max(self._sent[0].sent_at, self._acknowledged_at)
        return max(0.0, now - since - self._transfer_seconds())

    def send(self, items: Sequence[Item], now: float) -> list[SentFrame]:
        """Send items in one frame; return the frames to transmit: none while the window is full."""
        size = sum([item_bytes(item) for item in items])
        self.bytes_given += size
        self._waiting.append((tuple(items), size))
        return self._fill_window(now)

    def on_acknowledgement(self, acknowledged: int, *, alone: bool, now: float) -> list[SentFrame]:
        """Record what the peer has received; return the frames to transmit.

        Args:
            acknowledged: the sequence number of the last frame that the peer has.
            alone: whether the frame carried nothing else.
            now: the time.

        Raises:
            InvariantError: if bytes are counted as in flight although no frame is.
        """
        if acknowledged > self._acknowledged:
            return self._on_progress(acknowledged, now)
        if alone and acknowledged == self._acknowledged and self._sent:
            self._signs += 1
            if self._signs == _SIGNS_OF_LOSS:
                return self._begin_repair(now)
        return []

    def resend_due(self, now: float) -> list[SentFrame]:
        """Return the frames to send again if the timer has expired; the first call after it returns none."""
        frames: list[SentFrame] = []
        if self._sent and now >= self._resend_at:
            if self._overdue:
                self._resend_wait = min(2 * self._resend_wait, self._settings.resend_after_max)
                frames = self._begin_repair(now)
            self._overdue = not self._overdue
        return frames

    def _on_progress(self, acknowledged: int, now: float) -> list[SentFrame]:
        sent = self._sent
        while sent and sent[0].sequence <= acknowledged:
            newest = sent.popleft()
            self._bytes -= newest.size
        if self._bytes < 0 or (self._bytes and not sent):
            raise InvariantError(f"{self._bytes} bytes are under way in {len(sent)} frames")
        if newest.sequence > self._repair_until:
            self._adapt_timer(now - newest.sent_at)
        self._acknowledged = acknowledged
        self._signs = 0
        self._acknowledged_at = now
        self._overdue = False
        self._start_timer(now)
        if acknowledged < self._repair_until:
            self._repair_count *= 2
            return self._continue_repair() + self._fill_window(now)
        return self._fill_window(now)

    def _adapt_timer(self, seconds: float) -> None:
        """Adapt the timer to the round trip of a frame that was sent only once."""
        self._slowest = max(seconds, _SLOWEST_DECAY * self._slowest)
        least, most = self._settings.resend_after, self._settings.resend_after_max
        self._resend_wait = min(max(least, 2 * self._slowest), most)

    def _start_timer(self, now: float) -> None:
        self._resend_at = now + self._resend_wait + self._transfer_seconds()

    def _transfer_seconds(self) -> float:
        """Return the time to allow for the transfer of the oldest frame in flight."""
        if not self._sent or self._sent[0].size < _LARGE_BYTES:
            return 0.0
        return self._sent[0].size / self._settings.bytes_per_second

    def _begin_repair(self, now: float) -> list[SentFrame]:
        """Begin to send the frames in flight again."""
        self._repair_next = self._sent[0].sequence
        self._repair_until = self.sequence
        self._repair_count = 1
        self._start_timer(now)
        return self._continue_repair()

    def _continue_repair(self) -> list[SentFrame]:
        """Return the next frames of the repair, without those that were acknowledged meanwhile."""
        oldest = self._sent[0].sequence
        begin = max(self._repair_next, oldest)
        end = min(begin + self._repair_count, self._repair_until + 1)
        self._repair_next = end
        self.resent += end - begin
        return list(islice(self._sent, begin - oldest, end - oldest))

    def _fill_window(self, now: float) -> list[SentFrame]:
        """Return waiting frames, as far as the window allows."""
        frames: list[SentFrame] = []
        sent, waiting, settings = self._sent, self._waiting, self._settings
        while waiting and len(sent) < settings.window_frames:
            items, size = waiting[0]
            if sent and self._bytes + size > settings.window_bytes:
                break
            waiting.popleft()
            self.sequence += 1
            self._bytes += size
            frame = SentFrame(self.sequence, items, size, now)
            sent.append(frame)
            if len(sent) == 1:
                self._start_timer(now)
            frames.append(frame)
        return frames


# The receiving half of a link: puts frames in order, and decides when to acknowledge them.


_QUARTERS: Final = 4


class LinkReceiver:
    """The frames that one node has received on a link, and how much of it is not acknowledged yet."""

    __slots__ = (
        "_settings",
        "_unacknowledged",
        "_unacknowledged_bytes",
        "acknowledge_at",
        "duplicates",
        "early",
        "received",
    )

    def __init__(self, settings: LinkSettings) -> None:
        """Start with nothing received."""
        self._settings = settings
        self.received = 0
        """Sequence number of the last frame before which none is missing."""
        self.early: dict[int, tuple[Item, ...]] = {}
        """Frames that are kept because an earlier one is missing."""
        self.duplicates = 0
        """Number of frames that had been received before."""
        self.acknowledge_at: float | None = None
        """When to send an acknowledgement alone, None if there is nothing to acknowledge."""
        self._unacknowledged = 0
        self._unacknowledged_bytes = 0

    @property
    def must_acknowledge(self) -> bool:
        """Return whether enough was received that it must be acknowledged immediately."""
        settings = self._settings
        return (
            self._unacknowledged >= settings.acknowledge_frames
            or self._unacknowledged_bytes * _QUARTERS >= settings.window_bytes
        )

    def receive(self, frame: Frame, now: float) -> list[Item]:
        """Return the items that are next in order, of this frame and of frames that arrived early."""
        self._unacknowledged += 1
        for item in frame.items:
            if isinstance(item, Message):
                self._unacknowledged_bytes += item_bytes(item)
        if self.acknowledge_at is None:
            self.acknowledge_at = now + self._settings.acknowledge_after
        if frame.sequence != self.received + 1:
            self._keep(frame)
            return []
        items = list(frame.items)
        self.received = frame.sequence
        while self.early and (after := self.early.pop(self.received + 1, None)) is not None:
            items += after
            self.received += 1
        return items

    def _keep(self, frame: Frame) -> None:
        """Keep a frame that arrived early, if there is room for it, and acknowledge immediately."""
        if frame.sequence <= self.received or frame.sequence in self.early:
            self.duplicates += 1
            return
        if frame.sequence <= self.received + self._settings.window_frames:
            self.early[frame.sequence] = frame.items
        self._unacknowledged = self._settings.acknowledge_frames

    def on_acknowledged(self) -> None:
        """Record that a frame is sent: every frame acknowledges all that was received."""
        self.acknowledge_at = None
        self._unacknowledged = self._unacknowledged_bytes = 0


# Limits and times of links.


@dataclass(frozen=True, slots=True)
class LinkSettings:
    """Limits and times of a link; the times are in seconds.

    `resend_after` is the minimum timeout after which a frame is sent again.  The timeout doubles each time it
    expires, up to `resend_after_max`, until a frame is acknowledged that was sent only once.  If no frame
    can carry an acknowledgement, it is sent alone after `acknowledge_after`, or immediately after
    `acknowledge_frames` frames or a quarter of `window_bytes`, so that no sender has to wait for it.
    Large frames have more time before they are sent again and before their receiver counts as stuck: the time
    that their transfer takes at `bytes_per_second`.
    """

    window_frames: int = 256
    window_bytes: int = 16 << 20
    resend_after: float = 0.2
    resend_after_max: float = 2.0
    acknowledge_after: float = 0.005
    acknowledge_frames: int = 16
    bytes_per_second: int = 8 << 20


# The memory that the items of frames take.


ITEM_BYTES: Final = 64
_DEAD_LETTER_BYTES: Final = 512
_ENTRY_BYTES: Final = 48
_SEGMENT_BYTES: Final = 256
_EXACT_FROM_BYTES: Final = 65536
"""Columns with larger buffers are measured exactly, because they may be slices of large ones."""


def item_bytes(item: Item) -> int:
    """Return the approximate size of an item in bytes, in memory and on the wire."""
    if isinstance(item, Message):
        parcel = item.parcel
        total = ITEM_BYTES + _DEAD_LETTER_BYTES * len(parcel.dead_letters)
        if (batch := parcel.batch) is not None:
            total += len(batch) * 8 * (3 + len(batch.path))
            for column in batch.columns:
                size = column.get_total_buffer_size()
                total += column.nbytes if size > _EXACT_FROM_BYTES else size
        return total
    if isinstance(item, Acknowledgement):
        return ITEM_BYTES + _ENTRY_BYTES * len(item.entries)
    if isinstance(item, SnapshotAcknowledged):
        return ITEM_BYTES + _SEGMENT_BYTES * (len(item.segments) + len(item.fronts))
    if isinstance(item, StatePart):
        return ITEM_BYTES + sum(snapshot.rows.nbytes for _, snapshot in item.state)
    return ITEM_BYTES
