"""The journal of followed files: which bytes of which file each part of a front log has.

A record is a line of JSON and the hash of that line.  Its pieces follow each other in the log, without gaps.
It is synced before a reader of the log sees the bytes of its last piece, so the log is never visible further
than the journal knows.  What follows a torn record is lost; the log is then cut there, and the bytes are read
from the files again.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import msgspec
import xxhash

from fsql.connectors.file.file_layer import FileLayer

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_NAME: Final = "followed"
_FILES: Final = FileLayer()
RECORDS_MIN: Final = 4_096
"""The journal is not rewritten before it has this many records."""


class FileId(msgspec.Struct, frozen=True, order=True):
    """What a file is, whatever its name."""

    device: int
    inode: int


class Piece(msgspec.Struct, frozen=True):
    """Bytes `[begin, end)` of a file, which the log has from its byte `start` on.

    They are whole records.  `size` is how many bytes the log has of them: one more if a line was given the
    end that it lacks, fewer if one was longer than any record may be.  `content` is a hash of what the
    file has before `end`.  A file that is `gone` is not read any more.
    """

    start: int
    size: int
    file: FileId
    path: str
    begin: int
    end: int
    content: str
    gone: bool = False


class FollowJournal:
    """The journal in the directory of a front log; its writer is that of the log."""

    def __init__(self, directory: Path) -> None:
        """Read what there is, which survives the loss of power from then on.

        Raises:
            OSError: if the disk fails.
        """
        self._path = directory / _NAME
        self._descriptor: int | None = None
        self._synced = True
        self._count = 0
        try:
            data = self._path.read_bytes()
            _sync(self._path)
        except FileNotFoundError:
            data = b""
        self.pieces = _pieces(data)
        """The pieces that were known when it was opened."""

    @property
    def end(self) -> int:
        """Return how far the log is known."""
        return self.pieces[-1].start + self.pieces[-1].size if self.pieces else 0

    @property
    def many(self) -> bool:
        """Return whether there are many records, many more than files that are known."""
        return self._count >= RECORDS_MIN

    def write(self, piece: Piece) -> None:
        """Add a piece; it survives the loss of power from the next `sync` on.

        Raises:
            OSError: if the disk fails.
        """
        assert self._descriptor is not None
        data = memoryview(_encoded(piece))
        _FILES.write(self._descriptor, data, _FILES.size(self._descriptor))
        self._count += 1
        self._synced = False

    def write_anew(self, pieces: Iterable[Piece]) -> None:
        """Forget all pieces but these, of which the log has everything that precedes them.

        Raises:
            OSError: if the disk fails.
        """
        records = [_encoded(piece) for piece in pieces]
        new = self._path.with_suffix(".new")
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            _FILES.write(descriptor, memoryview(b"".join(records)), 0)
            _FILES.sync(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        _FILES.replace(new, self._path)
        _FILES.sync_directory(self._path.parent)
        self.close()
        self._descriptor = descriptor
        self._count = len(records)
        self._synced = True

    def sync(self) -> None:
        """Return when all pieces survive the loss of power.

        Raises:
            OSError: if the disk fails.
        """
        if self._descriptor is not None and not self._synced:
            os.fdatasync(self._descriptor)
            self._synced = True

    def close(self) -> None:
        """Close the file."""
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            os.close(descriptor)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _FILES.sync(descriptor)
    finally:
        os.close(descriptor)


def _pieces(data: bytes) -> list[Piece]:
    pieces = []
    for line in data[: data.rfind(b"\n") + 1].splitlines():
        text, _, text_hash = line.rpartition(b" ")
        if text_hash != _hash(text):
            break
        pieces.append(msgspec.json.decode(text, type=Piece))
    return pieces


def _encoded(piece: Piece) -> bytes:
    text = msgspec.json.encode(piece)
    return text + b" " + _hash(text) + b"\n"


def _hash(text: bytes) -> bytes:
    return xxhash.xxh3_64_hexdigest(text).encode()
