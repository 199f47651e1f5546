"""Items in the form that msgspec encodes and decodes: arrays that begin with a number for their kind.

Most kinds are records of plain values, and their form follows from their fields; kinds that contain batches
have forms written by hand.  The numbers of the kinds are part of the format.
"""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, get_type_hints

import msgspec

from fsql.runtime.batch import Root
from fsql.runtime.cluster import frames
from fsql.runtime.cluster.snapshots.manifest import StateSegment
from fsql.runtime.dataflow.messages import (
    Acknowledgement,
    Address,
    Message,
    MinTime,
    Parcel,
    PortKind,
    Promise,
)
from fsql.runtime.dataflow.metrics import Metrics
from fsql.runtime.dataflow.resume_point import ResumePoint
from fsql.runtime.ports import DeadLetter  # noqa: TC001 - msgspec reads the types of fields
from fsql.runtime.state.encoding import UnreadableSnapshotError, decode_snapshot, encode_snapshot
from fsql.runtime.wire.batches import BatchShape, put_batch, take_batch
from fsql.runtime.wire.errors import MalformedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.runtime.cluster.frames import Item
    from fsql.runtime.wire.parts import PartsReader, PartsWriter

Kind = TypeVar("Kind")

_NAMES: Final = {"Root": Root, "StateSegment": StateSegment, "ResumePoint": ResumePoint}
"""Types that fields of records name although their modules do not import them."""


class MessageForm(msgspec.Struct, frozen=True, array_like=True, tag=0):
    """A message without the buffers of its batch."""

    stage: int
    side: int
    port: PortKind | None
    id: int
    root: Root
    repairs: bool
    batch: BatchShape | None
    dead_letters: tuple[tuple[Root, DeadLetter], ...]
    stops_job: bool = False
    moved: bool = False
    shard: int = -1


class StatePartForm(msgspec.Struct, frozen=True, array_like=True, tag=16):
    """A part of the state of bins that move, with each incremental snapshot as it is stored."""

    tick: int
    state: tuple[tuple[str, bytes], ...]
    last: bool


class RecordForm(Generic[Kind]):
    """Encodes records of one kind as an array of its number and its fields."""

    def __init__(self, kind: type[Kind], number: int) -> None:
        hints = get_type_hints(kind, localns=_NAMES)
        names = list(hints)
        self.kind = kind
        self.form: type[msgspec.Struct] = msgspec.defstruct(
            kind.__name__,
            [(name, hints[name]) for name in names],
            array_like=True,
            tag=number,
            frozen=True,
        )
        self._values = _values_of(names)

    def write(self, record: Kind) -> msgspec.Struct:
        """Return the form of a record."""
        return self.form(*self._values(record))

    def read(self, form: msgspec.Struct) -> Kind:
        """Return the record of a form."""
        return self.kind(*self._values(form))


def _values_of(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return operator.attrgetter(*names)
    if names:
        get = operator.attrgetter(names[0])
        return lambda record: (get(record),)
    return lambda _record: ()


_ITEMS: Final[tuple[RecordForm[Any], ...]] = (
    RecordForm(Acknowledgement, 1),
    RecordForm(Promise, 2),
    RecordForm(MinTime, 3),
    RecordForm(frames.Ready, 4),
    RecordForm(frames.Start, 5),
    RecordForm(frames.Credit, 6),
    RecordForm(frames.AnnounceSnapshot, 7),
    RecordForm(frames.SnapshotAnswer, 8),
    RecordForm(frames.CancelSnapshot, 9),
    RecordForm(frames.SnapshotAcknowledged, 10),
    RecordForm(frames.SnapshotDeclined, 11),
    RecordForm(frames.SnapshotCommitted, 12),
    RecordForm(Metrics, 13),
    RecordForm(frames.Failure, 14),
    RecordForm(frames.Blocked, 15),
    RecordForm(frames.PrepareTick, 17),
    RecordForm(frames.TickPrepared, 18),
    RecordForm(frames.TickDeclined, 19),
    RecordForm(frames.Switch, 20),
    RecordForm(frames.BinsAdopted, 21),
    RecordForm(frames.TickCompleted, 22),
    RecordForm(frames.AbandonTick, 23),
    RecordForm(frames.MemberJoined, 24),
    RecordForm(frames.MemberLeft, 25),
    RecordForm(frames.TickCopied, 26),
    RecordForm(frames.BinsReleased, 27),
    RecordForm(frames.FrontReleased, 28),
    RecordForm(frames.AdoptFront, 29),
    RecordForm(frames.ReleaseShards, 30),
    RecordForm(frames.ShardsReleased, 31),
    RecordForm(frames.SyncShards, 32),
    RecordForm(frames.ShardsSynced, 33),
)
_BY_KIND: Final = {form.kind: form.write for form in _ITEMS}
_BY_FORM: Final = {form.form: form.read for form in _ITEMS}

ItemForm: Final[Any] = functools.reduce(operator.or_, _BY_FORM, MessageForm | StatePartForm)
"""The union of all forms of items."""


def write(item: Item, writer: PartsWriter) -> msgspec.Struct:
    """Return the form of an item, and write the buffers that it has."""
    if isinstance(item, Message):
        parcel = item.parcel
        to = parcel.to
        batch = None if parcel.batch is None else put_batch(parcel.batch, writer)
        return MessageForm(
            to.stage,
            to.side,
            to.port,
            item.id,
            item.root,
            parcel.repairs,
            batch,
            parcel.dead_letters,
            to.stops_job,
            parcel.moved,
            to.shard,
        )
    if isinstance(item, frames.StatePart):
        state = tuple((operator, bytes(encode_snapshot(rows))) for operator, rows in item.state)
        return StatePartForm(item.tick, state, item.last)
    return _BY_KIND[type(item)](item)


def read(form: msgspec.Struct, reader: PartsReader) -> Item:
    """Return the item of a form, and read its buffers.

    Raises:
        MalformedError: if the buffers are not as the form says.
    """
    if isinstance(form, MessageForm):
        batch = None if form.batch is None else take_batch(form.batch, reader)
        to = Address(form.stage, form.side, form.port, form.stops_job, form.shard)
        parcel = Parcel(to, batch, form.repairs, form.dead_letters, form.moved)
        return Message(parcel, form.id, form.root)
    if isinstance(form, StatePartForm):
        try:
            state = tuple((operator, decode_snapshot(data)) for operator, data in form.state)
        except UnreadableSnapshotError as error:
            raise MalformedError(str(error)) from None
        return frames.StatePart(form.tick, state, form.last)
    item: Item = _BY_FORM[type(form)](form)
    return item
