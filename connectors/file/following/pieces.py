"""The pieces of followed files that a front log consists of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fsql.connectors.live.piece_journal import Piece

if TYPE_CHECKING:
    from collections.abc import Sequence


class FileId(msgspec.Struct, frozen=True, order=True):
    """The identity of a file, independent of its name."""

    device: int
    inode: int


class FilePiece(Piece, frozen=True):
    """Bytes `[begin, end)` of a file: complete records.

    `size` is one more than their length if a missing line end was added, less if a line was longer than the
    maximum of a record.  `content` is a hash of the bytes before `end`.  A file that is `gone` is not read
    any more.  The piece has `lines` lines, of which the first is number `line` of the file and number
    `log_line` of the log.
    """

    file: FileId
    path: str
    begin: int
    end: int
    content: str
    gone: bool = False
    line: int = 1
    lines: int = 0
    log_line: int = 1

    @property
    def next_line(self) -> int:
        """Return the number in the file of the line after the piece."""
        return self.line + self.lines

    @property
    def is_base(self) -> bool:
        """Return whether it is of no file: only the pieces after it tell how far files have been read."""
        return not self.path

    def merge(self, later: FilePiece) -> FilePiece | None:
        """Return this piece and a later one as one, None if there are other bytes between them."""
        follows = later.file == self.file and later.path == self.path
        follows = follows and (self.stop, self.end) == (later.start, later.begin)
        if not follows or self.size != self.end - self.begin:
            return None
        return msgspec.structs.replace(
            self,
            size=self.size + later.size,
            end=later.end,
            content=later.content,
            lines=self.lines + later.lines,
        )


def base_piece(length: int, log_line: int) -> FilePiece:
    """Return a piece of no file at the end of a log, which has lines before number `log_line`."""
    return FilePiece(length, 0, FileId(0, 0), "", 0, 0, "", gone=True, log_line=log_line)


def index_of_base(pieces: Sequence[FilePiece]) -> int:
    """Return the index of the last piece that is a base, 0 if there is none."""
    return max((index for index, piece in enumerate(pieces) if piece.is_base), default=0)


def pieces_after(pieces: Sequence[FilePiece], first_byte: int) -> list[FilePiece]:
    """Return the pieces with bytes after an offset of the log, adjacent ones of one file as one."""
    needed: list[FilePiece] = []
    for piece in pieces:
        if piece.size and piece.stop > first_byte:
            merged = needed[-1].merge(piece) if needed else None
            needed[-1:] = [merged] if merged else [*needed[-1:], piece]
    return needed
