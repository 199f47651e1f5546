"""The pieces of followed files that a front log consists of."""

from __future__ import annotations

import msgspec

from fsql.connectors.live.piece_journal import Piece


class FileId(msgspec.Struct, frozen=True, order=True):
    """The identity of a file, independent of its name."""

    device: int
    inode: int


class FilePiece(Piece, frozen=True):
    """Bytes `[begin, end)` of a file: complete records.

    `size` is one more than their length if a missing line end was added, less if a line was longer than the
    maximum of a record.  `content` is a hash of the bytes before `end`.  A file that is `gone` is not read
    any more.
    """

    file: FileId
    path: str
    begin: int
    end: int
    content: str
    gone: bool = False
