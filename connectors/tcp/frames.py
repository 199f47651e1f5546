"""The frames between a job and a remote consumer; `docs/protocols/tcp_consumer.md` describes them.

A frame is the length of its body (4 bytes, big-endian), the XXH3 hash of the body (16 bytes), and the body: a
line of JSON with the kind of the frame and its fields, followed by the payload.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import msgspec
import xxhash

if TYPE_CHECKING:
    from collections.abc import Iterator

VERSION: Final = 2
BODY_BYTES_MAX: Final = 16 << 20
"""The maximum length of the body of a frame; a job sends payloads of at most `PAYLOAD_BYTES_MAX`."""
PAYLOAD_BYTES_MAX: Final = 4 << 20
_HEAD: Final = struct.Struct(">I16s")


class Challenge(msgspec.Struct, frozen=True, tag="challenge"):
    """From the job, the first frame of a connection: the consumer must prove that it has the key."""

    challenge: str


class Response(msgspec.Struct, frozen=True, tag="response"):
    """From the consumer: its proof, and its own challenge."""

    challenge: str
    proof: str


class Proof(msgspec.Struct, frozen=True, tag="proof"):
    """From the job: the proof that it has the key."""

    proof: str


class Hello(msgspec.Struct, frozen=True, tag="hello"):
    """From the job: an epoch of an output begins, or continues over a new connection.

    The input is replayed from `begins`; the consumer must have received everything below it.
    """

    version: int
    job: str
    output: str
    epoch: int
    delivery: str
    begins: tuple[int, int]


class Welcome(msgspec.Struct, frozen=True, tag="welcome"):
    """From the consumer: it has everything below `position`, and accepts `window` bundles at a time."""

    version: int
    position: tuple[int, int]
    window: int


class Refusal(msgspec.Struct, frozen=True, tag="refused"):
    """From the consumer, before it disconnects; if `lasting`, further attempts will be refused, too."""

    reason: str
    lasting: bool = False


class Part(msgspec.Struct, frozen=True, tag="bundle"):
    """From the job: a part of the encoded rows between two positions; `last` marks the last part."""

    follows: tuple[int, int]
    ends: tuple[int, int]
    part: int
    last: bool
    rows: int


class Have(msgspec.Struct, frozen=True, tag="have"):
    """From the consumer: it has stored everything below `position`."""

    position: tuple[int, int]


class Sync(msgspec.Struct, frozen=True, tag="sync"):
    """From the job: make all acknowledged rows survive a loss of power."""


class Synced(msgspec.Struct, frozen=True, tag="synced"):
    """From the consumer: the answer to `Sync`, when that is done."""


Head: TypeAlias = (
    Challenge | Response | Proof | Hello | Welcome | Refusal | Part | Have | Sync | Synced
)


class Frame(NamedTuple):
    """A received frame: its head, and its payload."""

    head: Head
    payload: memoryview


class BadFrameError(Exception):
    """Bytes are not a valid frame; the text says why."""


_decoder: Final = msgspec.json.Decoder(Head)


def frame_bytes(head: Head, payload: bytes | memoryview = b"") -> list[bytes | memoryview]:
    """Return a frame as pieces to send one after the other."""
    line = msgspec.json.encode(head) + b"\n"
    hasher = xxhash.xxh3_128(line)
    hasher.update(payload)
    start = _HEAD.pack(len(line) + len(payload), hasher.digest()) + line
    return [start, payload] if len(payload) else [start]


class FrameReader:
    """Splits received bytes into frames."""

    def __init__(self, body_bytes_max: int = BODY_BYTES_MAX) -> None:
        self.body_bytes_max = body_bytes_max
        self._data = bytearray()
        self._start = 0

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Yield the frames that `data` completes.

        Raises:
            BadFrameError: if the bytes are not a frame; the reader must not be used afterwards.
        """
        self._data += data
        while (frame := self._next()) is not None:
            yield frame
        del self._data[: self._start]
        self._start = 0

    def _next(self) -> Frame | None:
        if len(self._data) - self._start < _HEAD.size:
            return None
        length, hash_ = _HEAD.unpack_from(self._data, self._start)
        if length > self.body_bytes_max:
            raise BadFrameError(f"a frame of {length:,} bytes")
        body = self._start + _HEAD.size
        if len(self._data) < body + length:
            return None
        self._start = body + length
        return _frame(bytes(self._data[body : self._start]), hash_)


def _frame(body: bytes, hash_: bytes) -> Frame:
    if xxhash.xxh3_128_digest(body) != hash_:
        raise BadFrameError("a frame whose hash does not match")
    line, newline, _ = body.partition(b"\n")
    if not newline:
        raise BadFrameError("a frame without a head")
    try:
        head = _decoder.decode(line)
    except msgspec.MsgspecError as error:
        raise BadFrameError(f"a frame of an unknown kind: {error}") from None
    return Frame(head, memoryview(body)[len(line) + 1 :])
