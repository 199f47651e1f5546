"""The journal of an inflow that can be read again: it records of which pieces a front log consists.

A record is a line of JSON and the hash of that line.  The pieces follow each other in the log, without gaps.
The journal is synced before a reader of the log sees the bytes of its last piece, so readers never see bytes
that the journal lacks.  Records after a torn one are lost; the log is then cut there, and the bytes are read
from the source again.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import msgspec
import xxhash

from fsql.connectors import paths
from fsql.connectors.file.file_layer import FileLayer

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_FILES: Final = FileLayer()
RECORDS_MIN: Final = 4_096
"""The journal is not rewritten before it has this many records, or twice those after it was rewritten."""


class Piece(msgspec.Struct, frozen=True):
    """A part of a source, which is in the log from its byte `start` on, `size` bytes long."""

    start: int
    size: int

    @property
    def stop(self) -> int:
        """Return the offset in the log after it."""
        return self.start + self.size

    def is_in(self, length: int) -> bool:
        """Return whether a log of that length contains the piece, or its beginning."""
        return self.start < length or (self.start == length and self.size == 0)


PieceT = TypeVar("PieceT", bound=Piece)


class PieceJournal(Generic[PieceT]):
    """The journal in the directory of a front log, written by the writer of the log."""

    def __init__(self, directory: Path, name: str, kind: type[PieceT]) -> None:
        """Read the existing journal, the file `name` with pieces of this `kind`, and make it durable.

        Raises:
            FsqlError: E532, if it cannot be read.
        """
        self._path = directory / name
        self._kind = kind
        self._descriptor: int | None = None
        self._synced = True
        self._count = self._long_count = 0
        try:
            data = self._path.read_bytes()
            _sync(self._path)
        except FileNotFoundError:
            data = b""
        except OSError as error:
            raise paths.open_error("E532", directory, error) from None
        self.pieces = decode_pieces(data, kind)
        """The pieces in the journal when it was opened."""

    @property
    def end(self) -> int:
        """Return the offset in the log up to which pieces are recorded."""
        return self.pieces[-1].stop if self.pieces else 0

    @property
    def is_long(self) -> bool:
        """Return whether the journal has enough records that it should be rewritten."""
        return self._count >= self._long_count

    def read(self) -> list[PieceT]:
        """Return the pieces that are in the journal now.

        Raises:
            OSError: if the disk fails.
        """
        return decode_pieces(self._path.read_bytes(), self._kind)

    def write(self, piece: PieceT) -> None:
        """Add a piece; it is durable after the next `sync`.

        Raises:
            OSError: if the disk fails.
        """
        assert self._descriptor is not None
        data = memoryview(_encode(piece))
        _FILES.write(self._descriptor, data, _FILES.size(self._descriptor))
        self._count += 1
        self._synced = False

    def rewrite(self, pieces: Iterable[PieceT]) -> None:
        """Replace all pieces by these, before which the log is complete.

        Raises:
            OSError: if the disk fails.
        """
        records = [_encode(piece) for piece in pieces]
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
        self._long_count = max(RECORDS_MIN, 2 * self._count)
        self._synced = True

    def sync(self) -> None:
        """Make all pieces survive a loss of power.

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


def decode_pieces(data: bytes, kind: type[PieceT]) -> list[PieceT]:
    """Return the pieces in the bytes of a journal, up to a torn one."""
    pieces = []
    for line in data[: data.rfind(b"\n") + 1].splitlines():
        text, _, text_hash = line.rpartition(b" ")
        if text_hash != _hash(text):
            break
        pieces.append(msgspec.json.decode(text, type=kind))
    return pieces


def _encode(piece: Piece) -> bytes:
    text = msgspec.json.encode(piece)
    return text + b" " + _hash(text) + b"\n"


def _hash(text: bytes) -> bytes:
    return xxhash.xxh3_64_hexdigest(text).encode()
