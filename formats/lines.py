"""Lines: cuts a byte stream into lines, independently of its blocks.

A line ends with a newline or with the stream; one carriage return before the end belongs to the
terminator, and a byte order mark is dropped at the very start of the stream.  Lines, their numbers
and their offsets depend on the bytes only, never on the blocks.

Memory is bounded: a line longer than `bytes_max` is cut, and the rest of it is skipped.  Such a line remains
longer than `bytes_max`, so that the decoder rejects it by its length.
"""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from fsql.compiler.records import dataclass
from fsql.formats.malformed import EXCERPT_BYTES

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from fsql.runtime.arrays import Bools, Ints
    from fsql.runtime.ports import DeadLetter


DecodedRows: TypeAlias = "tuple[list[pa.Array], Ints, list[DeadLetter]]"
"""Columns, the number of each of their rows, and the dead letters; both sorted by row number."""

_NEWLINE: Final = 0x0A
_RETURN: Final = 0x0D
_TERMINATOR_MAX: Final = len(codecs.BOM_UTF8) + 1
"""The bytes of a line that do not count towards its length: the byte order mark, the carriage return."""


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """Consecutive lines of a stream, in one buffer.

    Line i is `data[starts[i]:ends[i]]`, without its terminator; its number (from 1) is `numbers[i]`.  A
    record of several lines counts as one line here, with the number of its first.
    `data[0]` is at offset `byte` of the stream, and the lines extend to `end_byte`, where line number
    `end_number` begins.
    """

    data: bytes
    starts: Ints
    ends: Ints
    numbers: Ints
    byte: int
    end_byte: int
    end_number: int

    def __len__(self) -> int:
        """Return the number of lines."""
        return len(self.starts)

    def content(self, line: int) -> bytes:
        """Return the bytes of a line."""
        return self.data[self.starts[line] : self.ends[line]]

    def contents(self, span: bytes) -> list[bytes]:
        """Return the bytes of every line; `span` is that of these lines."""
        parts = span.split(b"\n")
        if len(parts) == len(self):
            return parts  # includes carriage returns, which all readers treat as white space
        return [self.content(line) for line in range(len(self))]

    def span(self) -> bytes:
        """Return the bytes from the beginning of the first line to the end of the last."""
        return self.data[self.starts[0] : self.ends[-1]] if len(self) else b""

    def count(self, offsets: Ints) -> Ints:
        """Return how many of the sorted `offsets` in the span are in each line."""
        bounds = np.append(self.starts, self.ends[-1:]) - self.starts[:1]
        return np.diff(np.searchsorted(offsets, bounds))

    def offset(self, line: int) -> int:
        """Return the offset of a line in the stream; for `len(self)`, the end of the lines."""
        return self.byte + int(self.starts[line]) if line < len(self) else self.end_byte

    def number(self, line: int) -> int:
        """Return the number of a line; for `len(self)`, that of the line after them."""
        return int(self.numbers[line]) if line < len(self) else self.end_number

    def slice(self, start: int, stop: int) -> Lines:
        """Return lines `[start, stop)`, without copying; bytes between lines belong to the line before."""
        return Lines(
            self.data,
            self.starts[start:stop],
            self.ends[start:stop],
            self.numbers[start:stop],
            self.byte,
            self.offset(stop),
            self.number(stop),
        )

    def copy(self, indexes: Ints) -> Lines:
        """Return some of the lines in a new buffer, as if the stream had no others."""
        records = [self.content(line) for line in indexes.tolist()]
        lengths = np.array([len(record) + 1 for record in records], np.int64)
        ends = np.cumsum(lengths)
        data = b"".join(record + b"\n" for record in records)
        numbers = np.arange(1, len(records) + 1)
        return Lines(data, ends - lengths, ends - 1, numbers, 0, len(data), len(records) + 1)

    def join(self, first: Ints, last: Ints) -> Lines:
        """Return records without gaps; record i consists of lines `first[i]` to `last[i]`, inclusive."""
        stop = int(last[-1]) + 1 if len(last) else 0
        if stop == len(first):
            return self.slice(0, stop)
        return Lines(
            self.data,
            self.starts[first],
            self.ends[last],
            self.numbers[first],
            self.byte,
            self.offset(stop),
            self.number(stop),
        )

    def without_empty(self) -> Lines:
        """Return the lines that are not empty, with their numbers."""
        return self.filter(self.ends > self.starts)

    def filter(self, kept: Bools) -> Lines:
        """Return the lines that are `kept`, with their numbers."""
        if kept.all():
            return self
        return Lines(
            self.data,
            self.starts[kept],
            self.ends[kept],
            self.numbers[kept],
            self.byte,
            self.end_byte,
            self.end_number,
        )


def concatenate(parts: Sequence[Lines]) -> Lines:
    """Return lines that follow each other in a stream; none of them may have been cut off."""
    byte = parts[0].offset(0)
    last = parts[-1]
    return Lines(
        b"".join(
            part.data[part.offset(0) - part.byte : part.end_byte - part.byte] for part in parts
        ),
        np.concatenate([part.starts + (part.byte - byte) for part in parts]),
        np.concatenate([part.ends + (part.byte - byte) for part in parts]),
        np.concatenate([part.numbers for part in parts]),
        byte,
        last.end_byte,
        last.end_number,
    )


class LineJoiner(Protocol):
    """Joins lines into records, if a record can have several lines."""

    decided_by_end: bool
    """Whether the records would differ if the stream continued after its end."""

    def join(self, lines: Lines) -> list[Lines]:
        """Return the records that the next lines complete."""

    def finish(self) -> list[Lines]:
        """Return the records that the end of the stream completes."""


class LineDecoder(Protocol):
    """Decodes lines into rows."""

    def records(self, lines: Lines) -> Lines:
        """Return the lines that are records; the others have no row numbers."""

    @property
    def record_bytes_max(self) -> int:
        """Return the maximum length of a record."""

    def make_joiner(self) -> LineJoiner | None:
        """Return the joiner of lines into records, None if each line is a record."""

    @property
    def has_header(self) -> bool:
        """Return whether the first line is not a row but has the column names."""

    def header_names(self, header: bytes, source: str) -> list[str]:
        """Return the names in the first line of the file `source`.

        Raises:
            FsqlError: E543, if it is malformed.
        """

    def take_header(
        self, header: bytes, source: str, *, ordered: bool, elsewhere: Collection[str] = ()
    ) -> None:
        """Read the first line of `source`, which names it in messages.

        If `ordered`, its columns must be those of the table, in their order: after a failure a stream is
        resumed in the middle, where the header is not available.  Otherwise columns that are named by
        `elsewhere` may be missing; their values are NULL.

        Raises:
            FsqlError: E543, if the columns cannot be found by it.
        """

    @property
    def unknown_fields(self) -> int:
        """Return the number of fields in accepted rows so far that are not columns."""

    @property
    def nulled_fields(self) -> int:
        """Return the number of malformed values replaced by NULL so far, as requested by `on_error`."""

    @property
    def takes_documents(self) -> bool:
        """Return whether a source may have records that are not lines."""

    def document_cutter(self, start: bytes, *, whole: bool) -> RecordCutter | None:
        """Return the cutter for a source with these first bytes, or all of them; None if it has lines.

        The first bytes are at least `RECORD_BYTES_CAP`, unless they show by themselves what the source has.
        """

    def decode(self, lines: Lines, first_row: int) -> DecodedRows:
        """Return the rows of the lines, whose numbers begin with `first_row`."""


class RecordCutter(Protocol):
    """Cuts blocks of a source into records."""

    @property
    def seen_bytes(self) -> int:
        """Return the offset in the source after the last block."""

    @property
    def line_byte(self) -> int:
        """Return the offset in the source of the record that the next block continues."""

    def feed(self, block: bytes) -> list[Lines]:
        """Return the records that `block` completes, in parts."""

    def finish(self) -> list[Lines]:
        """Return the records that the end of the source completes."""


class SingleLineDecoder:
    """The base class of decoders for which each line is a record, and none is a header."""

    has_header = False
    takes_documents = False
    skips_empty_lines: bool

    def records(self, lines: Lines) -> Lines:
        """Return the lines that are records: all, or those that are not empty."""
        return lines.without_empty() if self.skips_empty_lines else lines

    def document_cutter(self, start: bytes, *, whole: bool) -> RecordCutter | None:
        """Return None: sources have lines."""
        del start, whole
        return None

    def make_joiner(self) -> LineJoiner | None:
        """Return None: each line is a record."""
        return None

    def header_names(self, header: bytes, source: str) -> list[str]:
        """Raise an error: this is never called."""
        raise AssertionError((header, source))

    def take_header(
        self, header: bytes, source: str, *, ordered: bool, elsewhere: Collection[str] = ()
    ) -> None:
        """Raise an error: this is never called."""
        raise AssertionError((header, source, ordered, elsewhere))


class LineEncoder(Protocol):
    """Encodes rows as lines; `header` precedes the first.

    `label_at` is the byte of a line at which the label of its operation begins, if the lines have labels.
    """

    header: bytes
    label_at: int

    def encode(
        self, columns: Sequence[pa.Array], operations: NDArray[np.int8] | None
    ) -> Sequence[pa.Buffer]:
        """Return whole lines, in order, in one or more buffers."""

    def encode_rows(
        self, columns: Sequence[pa.Array], operations: NDArray[np.int8] | None
    ) -> Sequence[pa.LargeBinaryArray]:
        """Return the line of each row, with its end, in one or more arrays; bytes as from `encode`."""


def line_array(text: pa.Buffer, bounds: NDArray[np.signedinteger]) -> pa.LargeBinaryArray:
    """Return the lines of a text; `bounds` has the beginning of each, and the end of the last."""
    offsets = pa.py_buffer(np.ascontiguousarray(bounds, np.int64))
    return pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(bounds) - 1, [None, offsets, text]
    )


class LineCutter:
    """Cuts blocks of a stream into lines, and keeps an unfinished line for the next block."""

    def __init__(self, bytes_max: int, byte: int = 0, number: int = 1) -> None:
        """Begin at offset `byte` of the stream, where line `number` begins."""
        self._kept_max = max(bytes_max, EXCERPT_BYTES) + _TERMINATOR_MAX + 1
        self._kept: list[bytes] = []
        self._kept_bytes = 0
        self._skips_line = False
        self._byte = byte
        self._number = number
        self._seen_bytes = byte

    @property
    def seen_bytes(self) -> int:
        """Return the offset in the stream after the last block."""
        return self._seen_bytes

    @property
    def line_byte(self) -> int:
        """Return the offset in the stream of the line that the next block continues."""
        return self._byte

    def feed(self, block: bytes) -> list[Lines]:
        """Return the lines that `block` completes, in at most two parts."""
        self._seen_bytes += len(block)
        finished = []
        if self._skips_line:
            end = block.find(b"\n") + 1
            if not end:
                return []
            finished.append(self._flush(self._seen_bytes - len(block) + end))
            block = block[end:]
        end = block.rfind(b"\n") + 1
        if end:
            data = b"".join((*self._kept, block[:end]))
            self._kept, self._kept_bytes = [], 0
            finished.append(self._cut(data, self._byte + len(data)))
        if end < len(block):
            self._keep(block[end:])
        return finished

    def finish(self) -> list[Lines]:
        """Return the line that the end of the stream completes, if there is one."""
        return [self._flush(self._seen_bytes)] if self._kept else []

    def _keep(self, part: bytes) -> None:
        self._kept.append(part)
        self._kept_bytes += len(part)
        if self._kept_bytes > self._kept_max:
            self._kept = [b"".join(self._kept)[: self._kept_max]]
            self._kept_bytes = self._kept_max
            self._skips_line = True

    def _flush(self, end_byte: int) -> Lines:
        """Return the kept bytes as a line that ends at `end_byte` of the stream."""
        data = b"".join(self._kept)
        self._kept, self._kept_bytes, self._skips_line = [], 0, False
        return self._cut(data + b"\n", end_byte)

    def _cut(self, data: bytes, end_byte: int) -> Lines:
        """Return the lines of `data`, which ends with a newline."""
        octets = np.frombuffer(data, np.uint8)
        ends = np.flatnonzero(octets == _NEWLINE)
        starts = np.empty_like(ends)
        starts[0] = 0
        np.add(ends[:-1], 1, out=starts[1:])
        if self._byte == 0 and data.startswith(codecs.BOM_UTF8):
            starts[0] = len(codecs.BOM_UTF8)
        if b"\r" in data:
            ends = ends - ((ends > starts) & (octets[ends - 1] == _RETURN))
        numbers = np.arange(self._number, self._number + len(ends))
        byte, self._byte = self._byte, end_byte
        self._number += len(ends)
        return Lines(data, starts, ends, numbers, byte, end_byte, self._number)
