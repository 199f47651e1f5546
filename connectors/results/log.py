"""The log of one result: the released changes of a table, in segments, with the positions between them.

One process writes, the coordinator of the job; any number read at the same time.  A segment is a file of
frames, each with a length and a hash, so that what a reader sees of a frame under way, and what a loss of
power has left of it, is never taken for rows.

| frame    | content                                                                                  |
|----------|------------------------------------------------------------------------------------------|
| HEADER   | the first of each segment: table, columns, key, and the position that the segment follows |
| ROWS     | changes: a record batch with time, origin, operation and the columns                     |
| POSITION | all rows of the table below this position are above, or in segments before               |

Each epoch begins segments of its own, whose numbers begin with that of the epoch, so a process of an older
epoch never writes into those of a newer one.  What it still appends to its own are rows that the newer ones
have as well: the sequence of an output is the same in all epochs, and readers drop rows below the position
that they have.
"""

from __future__ import annotations

import enum
import re
import struct
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
import pyarrow as pa
import xxhash

from fsql.runtime.batch import Root

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from fsql.connectors.file.file_layer import FileLayer

VERSION: Final = 1
SUFFIX: Final = ".results"
ROWS_SUFFIX: Final = ".rows"
"""The suffix of the rows that a reader has written, so that segments before them are not needed."""
FRAME_BYTES_MAX: Final = 1 << 31
_FRAME: Final = struct.Struct("<4sBIQ")
_MAGIC: Final = b"FSQR"
_POSITION: Final = struct.Struct("<qqq")
_NAME: Final = re.compile(
    r"(?P<journal>.+)\.(?P<epoch>\d{10})-(?P<place>\d{8})(?P<suffix>\.results|\.rows)"
)
_READ_BYTES: Final = 1 << 20


class Frame(enum.IntEnum):
    """The kinds of frames."""

    HEADER = 1
    ROWS = 2
    POSITION = 3


class Header(msgspec.Struct, frozen=True):
    """What the rows of a segment are.

    `columns` are names, SQL types and whether values can be NULL; `key` has the indexes of the columns that
    identify a row, None if equal rows can be there several times; `appends` says that rows are only added.
    """

    version: int
    owner: str
    table: str
    columns: tuple[tuple[str, str, bool], ...]
    key: tuple[int, ...] | None
    appends: bool
    follows: tuple[int, int]

    @property
    def root(self) -> Root:
        """Return the position that the segment follows."""
        return Root(*self.follows)


class Position(NamedTuple):
    """A position, and when it was reached, in microseconds since 1970."""

    root: Root
    reached_us: int


class Number(NamedTuple):
    """The number of a segment: the epoch that writes it, and its place among those of the epoch."""

    epoch: int
    place: int


class Segment(NamedTuple):
    """A file of a log: its number, and its path."""

    number: Number
    path: Path


def segment_path(journal: Path, number: Number, suffix: str = SUFFIX) -> Path:
    """Return the path of a segment of the log at the prefix `journal`."""
    return journal.with_name(f"{journal.name}.{number.epoch:010}-{number.place:08}{suffix}")


def segments(journal: Path, suffix: str = SUFFIX) -> list[Segment]:
    """Return the segments of a log, ascending."""
    found = []
    for path in journal.parent.glob(f"{_escaped(journal.name)}.*{suffix}"):
        match = _NAME.fullmatch(path.name)
        if match is not None and match["journal"] == journal.name:
            found.append(Segment(Number(int(match["epoch"]), int(match["place"])), path))
    return sorted(found)


def following(journal: Path, number: Number) -> Number | None:
    """Return the number of the segment that comes after one, None if there is none yet."""
    return next((each.number for each in segments(journal) if each.number > number), None)


def _escaped(name: str) -> str:
    return re.sub(r"([*?[])", r"[\1]", name)


def journals(directory: Path) -> list[Path]:
    """Return the prefixes of all logs in a directory, sorted."""
    names = {
        match["journal"]
        for path in directory.glob(f"*{SUFFIX}")
        if (match := _NAME.fullmatch(path.name)) is not None
    }
    return [directory / name for name in sorted(names)]


def frame_parts(kind: Frame, payload: bytes | pa.Buffer) -> list[memoryview]:
    """Return the bytes of a frame, in pieces."""
    content = memoryview(payload).cast("B")
    head = _FRAME.pack(_MAGIC, kind, len(content), _digest(kind, content))
    return [memoryview(head), content]


def _digest(kind: int, content: memoryview) -> int:
    return xxhash.xxh3_64_intdigest(content, seed=kind)


def header_parts(header: Header) -> list[memoryview]:
    """Return the bytes of a header."""
    return frame_parts(Frame.HEADER, msgspec.json.encode(header))


def position_parts(position: Position) -> list[memoryview]:
    """Return the bytes of a position."""
    return frame_parts(Frame.POSITION, _POSITION.pack(*position.root, position.reached_us))


def row_schema(columns: Sequence[pa.DataType]) -> pa.Schema:
    """Return the schema of the rows of a log whose columns have these types."""
    head = [("time", pa.int64()), ("origin", pa.int64()), ("op", pa.int8())]
    return pa.schema([*head, *((f"c{at}", kind) for at, kind in enumerate(columns))])


def read_position(payload: memoryview) -> Position:
    """Return the content of a POSITION frame."""
    time, origin, reached = _POSITION.unpack(payload)
    return Position(Root(time, origin), reached)


def read_header(payload: memoryview) -> Header:
    """Return the content of a HEADER frame.

    Raises:
        msgspec.MsgspecError: if it is none.
    """
    return msgspec.json.decode(payload, type=Header)


class FrameReader:
    """Reads the frames of one file from an offset on, as far as they are whole."""

    def __init__(self, files: FileLayer, descriptor: int, offset: int = 0) -> None:
        self._files = files
        self._descriptor = descriptor
        self.offset = offset
        """Where the next frame begins."""

    def frames(self) -> Iterator[tuple[Frame, memoryview]]:
        """Yield the frames that are whole now; a later call goes on behind them."""
        buffered, start = b"", self.offset
        while True:
            at = self.offset - start
            if len(buffered) - at < _FRAME.size:
                buffered, start, at = self._read(_FRAME.size)
                if len(buffered) < _FRAME.size:
                    return
            magic, kind, length, digest = _FRAME.unpack_from(buffered, at)
            if magic != _MAGIC or length > FRAME_BYTES_MAX:
                return
            if len(buffered) - at < _FRAME.size + length:
                buffered, start, at = self._read(_FRAME.size + length)
                if len(buffered) < _FRAME.size + length:
                    return
            payload = memoryview(buffered)[at + _FRAME.size : at + _FRAME.size + length]
            if _digest(kind, payload) != digest:
                return
            self.offset += _FRAME.size + length
            yield Frame(kind), payload

    def _read(self, least: int) -> tuple[bytes, int, int]:
        size = max(least, _READ_BYTES)
        return self._files.read(self._descriptor, size, self.offset), self.offset, 0
