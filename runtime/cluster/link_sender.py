"""The sending half of a link: the window, and the retransmission of lost frames.

The receiver keeps a frame that arrives early, and repeats its last acknowledgement immediately: two such
acknowledgements, or a timeout, start a repair.  A repair sends the oldest frame again; then, each time this
helps, twice as many as before, of the frames that were in flight when it began.  So a slow receiver costs
one frame for each timeout, and a broken connection full of frames is repaired in a few round trips.

A node that was busy can find that a timer has expired while the acknowledgement is already in its input.  So
an expired timer is checked a second time, after all input is processed, before frames are sent again.  The
timeout is at least twice the time that the peer takes to answer.
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Final

from fsql.compiler.records import dataclass
from fsql.runtime.cluster.item_sizes import item_bytes
from fsql.runtime.dataflow.invariants import InvariantError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.runtime.cluster.frames import Item
    from fsql.runtime.cluster.link_settings import LinkSettings

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
