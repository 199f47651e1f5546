"""The receiving half of a link: puts frames in order, and decides when to acknowledge them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.runtime.cluster.item_sizes import item_bytes
from fsql.runtime.dataflow.messages import Message

if TYPE_CHECKING:
    from fsql.runtime.cluster.frames import Frame, Item
    from fsql.runtime.cluster.link_settings import LinkSettings

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
