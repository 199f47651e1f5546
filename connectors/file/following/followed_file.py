"""One followed file: the offset up to which it has been read, and the complete records after it."""

from __future__ import annotations

import os
from codecs import BOM_UTF8
from typing import TYPE_CHECKING, Final, NamedTuple

from fsql.connectors.file.following.pieces import FileId
from fsql.connectors.streams.replay import content_before

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.connectors.file.following.pieces import FilePiece
    from fsql.connectors.file.following.records import WholeRecords

_SEARCHED_BYTES: Final = 1 << 20


class LogPart(NamedTuple):
    """Bytes for the log, and their range `[begin, end)` in the file."""

    data: bytes
    begin: int
    end: int


class FollowedFile:
    """A file, identified by its inode: its name may change."""

    def __init__(self, path: Path, descriptor: int, offset: int = 0, content: str = "") -> None:
        """Take the descriptor; the bytes before `offset` have been read, and have the hash `content`."""
        self.id = id_of(os.fstat(descriptor))
        self.path = path
        self.offset = offset
        self.content = content
        self.line = 1
        """The number of the next line."""
        self.removed = False
        """Whether the file was removed, so that it cannot grow any more."""
        self.renamed = False
        """Whether it was renamed to a name that is not followed."""
        self._descriptor: int | None = descriptor
        self._searched = 0

    @classmethod
    def at(cls, path: Path, piece: FilePiece | None = None) -> FollowedFile:
        """Open the file at a path, positioned after a piece of it.

        Raises:
            OSError: if it cannot be opened.
        """
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        if piece is None:
            return cls(path, descriptor)
        file = cls(path, descriptor, piece.end, piece.content)
        file.line = piece.next_line
        return file

    @property
    def is_open(self) -> bool:
        """Return whether the file is open; an open file can be read even after it is renamed or removed."""
        return self._descriptor is not None

    @property
    def names_count(self) -> int:
        """Return the number of names (links) of the open file."""
        return os.fstat(self._open()).st_nlink

    def open(self) -> None:
        """Open the file by its name, unless it is open.

        Raises:
            OSError: if it cannot be opened.
        """
        self._open()

    def size(self) -> int:
        """Return the length of the file.

        Raises:
            OSError: if it cannot be determined.
        """
        return os.fstat(self._open()).st_size if self.is_open else self.path.stat().st_size

    def is_unchanged(self) -> bool:
        """Return whether the file still has the bytes that were read, by the hash of the last of them.

        Raises:
            OSError: if the disk fails.
        """
        descriptor = self._open()
        if os.fstat(descriptor).st_size < self.offset:
            return False
        return not self.content or content_before(descriptor, self.offset) == self.content

    def read(self, begin: int, end: int) -> bytes:
        """Return bytes of the file, fewer only at its end.

        Raises:
            OSError: if the disk fails.
        """
        pieces = []
        while begin < end and (piece := os.pread(self._open(), end - begin, begin)):
            pieces.append(piece)
            begin += len(piece)
        return b"".join(pieces)

    def next_part(self, records: WholeRecords, size: int, *, with_header: bool) -> LogPart | None:
        """Return the next complete records of the first `size` bytes, None if there is none yet.

        A line that is longer than the maximum of a record is cut.  If the file was `removed`, its last line
        is terminated.  With `with_header`, the header is returned as a separate part.

        Raises:
            FsqlError: E543, if the header is not that of the table.
            OSError: if the disk fails.
        """
        if self.offset == 0:
            header = self._pass_header(records, size)
            if header is None or (header.data and with_header):
                return header
            self.offset = header.end
            self.line += header.data.count(b"\n")
        data = self.read(self.offset, min(size, self.offset + records.block_bytes))
        length = records.length(data)
        if not length and len(data) == records.block_bytes:
            return self._long_line(data[: records.kept_bytes], size)
        if length or not self.removed:
            data = data[:length]
        end = self.offset + len(data)
        if data and not data.endswith(b"\n"):
            data += b"\n"
        return LogPart(data, self.offset, end) if data else None

    def seek(self, offset: int) -> None:
        """Continue at an offset before which everything has been read.

        Raises:
            OSError: if the disk fails.
        """
        self.offset, self.content = offset, content_before(self._open(), offset)

    def restart(self) -> None:
        """Read the file from its beginning."""
        self.offset, self.content, self.line, self._searched = 0, "", 1, 0

    def take_over(self, other: FollowedFile) -> None:
        """Continue with another file, which begins with the bytes that were read of this file."""
        self.close()
        self.id, self.path, self._descriptor = other.id, other.path, other._open()

    def close(self) -> None:
        """Close the file; it is opened by its name when more of it is read."""
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            os.close(descriptor)

    def _open(self) -> int:
        if self._descriptor is None:
            self._descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        return self._descriptor

    def _pass_header(self, records: WholeRecords, size: int) -> LogPart | None:
        """Return the header, None if it is not complete yet."""
        data = self.read(0, min(size, records.kept_bytes + len(BOM_UTF8)))
        begin = len(BOM_UTF8) if data.startswith(BOM_UTF8) else 0
        if not records.has_header:
            return LogPart(b"", 0, begin) if data else None
        end = data.find(b"\n") + 1
        if not end and (not data or (len(data) < records.kept_bytes and not self.removed)):
            return None
        header = data[begin : end or len(data)]
        records.check_header(header.rstrip(b"\n"), str(self.path))
        return LogPart(header, begin, begin + len(header))

    def _long_line(self, kept: bytes, size: int) -> LogPart | None:
        """Return the beginning of a line that is too long, None if the line is not complete yet."""
        offset = max(self._searched, self.offset + len(kept))
        while offset < size and (block := self.read(offset, min(size, offset + _SEARCHED_BYTES))):
            newline = block.find(b"\n")
            if newline >= 0:
                return LogPart(kept + b"\n", self.offset, offset + newline + 1)
            offset += len(block)
        self._searched = offset
        return LogPart(kept + b"\n", self.offset, size) if self.removed else None


def id_of(status: os.stat_result) -> FileId:
    """Return the identity of a file."""
    return FileId(status.st_dev, status.st_ino)
