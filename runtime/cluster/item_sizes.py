"""The memory that the items of frames take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.runtime.cluster.frames import SnapshotAcknowledged, StatePart
from fsql.runtime.dataflow.messages import Acknowledgement, Message

if TYPE_CHECKING:
    from fsql.runtime.cluster.frames import Item

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
