"""The places of rows of followed files: file, line and byte.

A stream of followed files consists of pieces.  A job with state has them in the journal next to its front
log, which is read when a row is malformed; other runs keep those of the bytes that have not been read yet.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fsql.connectors import paths
from fsql.connectors.file.following.pieces import FilePiece
from fsql.connectors.live.piece_journal import decode_pieces

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.connectors.live.places import PlacedT

JOURNAL: Final = "followed"


class PassedPlaces:
    """The places in a stream that is read while it is written, in one process."""

    def __init__(self, root: Path) -> None:
        """Name files relative to the directory `root`."""
        self._root = root
        self._pieces: deque[FilePiece] = deque()

    def add(self, piece: FilePiece) -> None:
        """Add a piece, before its bytes can be read."""
        self._pieces.append(piece)

    def locate(self, rows: list[PlacedT], end: int) -> list[PlacedT]:
        """Return rows with their places; see `Places`."""
        del end
        return _located(rows, list(self._pieces), self._root) if rows else rows

    def forget(self, end: int) -> None:
        """Forget the pieces before `end`."""
        while self._pieces and self._pieces[0].stop <= end:
            self._pieces.popleft()


class LoggedPlaces:
    """The places in a front log."""

    def __init__(self, directory: Path, root: Path) -> None:
        """Take the directory of the log, and the directory to which names of files are relative."""
        self._path = directory / JOURNAL
        self._root = root
        self._pieces: list[FilePiece] = []

    def locate(self, rows: list[PlacedT], end: int) -> list[PlacedT]:
        """Return rows with their places; see `Places`.

        Raises:
            FsqlError: E535, if the journal cannot be read.
        """
        if not rows:
            return rows
        if not self._pieces or self._pieces[-1].stop < end:
            try:
                pieces = decode_pieces(self._path.read_bytes(), FilePiece)
            except OSError as error:
                raise paths.io_error("reading", str(self._path), error) from None
            self._pieces = [piece for piece in pieces if piece.size]
        return _located(rows, self._pieces, self._root)

    def forget(self, end: int) -> None:
        """Do nothing: the journal remains."""


def _located(rows: Sequence[PlacedT], pieces: Sequence[FilePiece], root: Path) -> list[PlacedT]:
    starts = [piece.start for piece in pieces]
    located = []
    for each in rows:
        piece = pieces[bisect_right(starts, each.byte) - 1]
        line = piece.line + each.line - piece.log_line
        byte = piece.begin + each.byte - piece.start
        located.append(replace(each, file=_name(piece.path, root), line=line, byte=byte))
    return located


def _name(path: str, root: Path) -> str:
    return Path(path).relative_to(root).as_posix() if Path(path).is_relative_to(root) else path
