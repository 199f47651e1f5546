"""Frames and datagrams as parts, and back.

The first part has a number of 4 bytes, little-endian: the length of the header that follows.  The
header is MessagePack: an array that begins with a number for the kind.  After it, aligned, follow the
small buffers, and then, as parts, the large ones.
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
    """A frame; the buffers of its items are elsewhere."""

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
    """Return a frame or datagram as parts, which share its memory: it must not change any more."""
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
    """Return the frame or datagram that is encoded in parts.  Its columns may share their memory.

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
