"""Frames and datagrams as parts, and back.

The first part begins with the length of the header: 4 bytes, little-endian.  The header is a MessagePack
array that begins with a number for the kind.  The small buffers follow it, aligned; each large buffer is a
further part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from fsql.runtime.cluster.frames import Begin, Datagram, Frame, Goodbye, Heartbeat, Hello
from fsql.runtime.wire.errors import MalformedError
from fsql.runtime.wire.items import ItemForm, RecordForm, read, write
from fsql.runtime.wire.parts import PartsReader, PartsWriter, padding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Buffer

_LENGTH_BYTES: Final = 4


class FrameForm(msgspec.Struct, frozen=True, array_like=True, tag=0):
    """A frame without the buffers of its items."""

    job: str
    tick: int
    epoch: int
    sender: int
    receiver: int
    sequence: int
    acknowledged: int
    items: list[ItemForm]


_DATAGRAMS: Final[tuple[RecordForm[Any], ...]] = (
    RecordForm(Hello, 1),
    RecordForm(Begin, 2),
    RecordForm(Heartbeat, 3),
    RecordForm(Goodbye, 4),
)
_BY_KIND: Final = {form.kind: form.write for form in _DATAGRAMS}
_BY_FORM: Final = {form.form: form.read for form in _DATAGRAMS}

_encoder: Final = msgspec.msgpack.Encoder()


def _decoder() -> msgspec.msgpack.Decoder[Any]:
    union: Any = FrameForm
    for form in _BY_FORM:
        union |= form
    return msgspec.msgpack.Decoder(union)


_DECODER: Final = _decoder()


def encode(what: Frame | Datagram) -> list[Buffer]:
    """Encode a frame or datagram as parts, which share its memory: it must not be changed afterwards."""
    writer = PartsWriter()
    form: msgspec.Struct
    if isinstance(what, Frame):
        form = FrameForm(
            what.job,
            what.tick,
            what.epoch,
            what.sender,
            what.receiver,
            what.sequence,
            what.acknowledged,
            [write(item, writer) for item in what.items],
        )
    else:
        form = _BY_KIND[type(what)](what)
    header = _encoder.encode(form)
    length = len(header).to_bytes(_LENGTH_BYTES, "little")
    pad = padding(_LENGTH_BYTES + len(header))
    return [b"".join([length, header, pad, *writer.small]), *writer.large]


def decode(parts: Sequence[Buffer]) -> Frame | Datagram:
    """Decode a frame or datagram from its parts; its columns may share their memory.

    Raises:
        MalformedError: if the parts are malformed.
    """
    if not parts:
        raise MalformedError("there is no part")
    first = memoryview(parts[0])
    end = _LENGTH_BYTES + int.from_bytes(first[:_LENGTH_BYTES], "little")
    begin = end + len(padding(end))
    if begin > len(first):
        raise MalformedError("the header is cut off")
    try:
        form = _DECODER.decode(first[_LENGTH_BYTES:end])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedError(f"the header is not valid: {error}") from None
    reader = PartsReader(first[begin:], parts[1:])
    if not isinstance(form, FrameForm):
        reader.finish()
        datagram: Datagram = _BY_FORM[type(form)](form)
        return datagram
    frame = Frame(
        form.job,
        form.tick,
        form.epoch,
        form.sender,
        form.receiver,
        form.sequence,
        form.acknowledged,
        tuple([read(item, reader) for item in form.items]),
    )
    reader.finish()
    return frame
