"""A cheap check that a file still has the data that was read: it compares the last bytes before the offset.

A file that was replaced, truncated or rewritten is detected unless it has the same 64 KiB before the offset.
A change further ahead is not detected; the rows there are already in the state, and are not read again.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import xxhash

from fsql.compiler.diagnostics import Diagnostic, FsqlError

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.runtime.ports import SourceOffset

CHECKED_BYTES: Final = 1 << 16


def add_length(content: str, length: int | None) -> str:
    """Return the `content` of a source offset for a split whose rows depend on its length."""
    return content if length is None or not content else f"{content}@{length}"


def read_length(source_offset: SourceOffset) -> int | None:
    """Return the length that `add_length` has added to a source offset, None if there is none."""
    length = source_offset.content.partition("@")[2]
    return int(length) if length else None


def read_hash(source_offset: SourceOffset) -> str:
    """Return the hash in `source_offset.content`, without a length."""
    return source_offset.content.partition("@")[0]


def content_before(descriptor: int, byte: int) -> str:
    """Return the hash of the last bytes of a file before offset `byte`."""
    start = max(byte - CHECKED_BYTES, 0)
    checked = bytearray()
    while start + len(checked) < byte:
        piece = os.pread(descriptor, byte - start - len(checked), start + len(checked))
        if not piece:
            break
        checked += piece
    return xxhash.xxh3_128_hexdigest(checked)


def check_replayable(
    descriptor: int, path: str | Path, source_offset: SourceOffset, *, lines: bool = True
) -> None:
    """Check that an open file still has the bytes that were read of it before `source_offset`.

    Where its records are `lines`, one has ended there.

    Raises:
        FsqlError: E536, if it does not; E535, if the operating system fails to read.
    """
    try:
        size = os.fstat(descriptor).st_size
        if size < source_offset.byte:
            raise not_replayable(path, source_offset, f"it has {size:,} bytes now")
        known = read_hash(source_offset)
        if known and content_before(descriptor, source_offset.byte) != known:
            raise not_replayable(path, source_offset, "its contents before that have changed")
        if (
            lines
            and 0 < source_offset.byte < size
            and os.pread(descriptor, 1, source_offset.byte - 1) != b"\n"
        ):
            raise not_replayable(path, source_offset, "the line that ended there now continues")
        if read_length(source_offset) not in {None, size}:
            raise not_replayable(
                path, source_offset, "a quoted field was not closed, and now it continues"
            )
    except OSError as error:
        message = f'reading "{path}" failed: {error.strerror}'
        raise FsqlError([Diagnostic("E535", message)]) from None


def check_identity(path: str | Path, identity: str, source_offset: SourceOffset | None) -> None:
    """Check that a file with this identity is the one that was read before.

    Raises:
        FsqlError: E536, if it is not.
    """
    if source_offset is not None and read_hash(source_offset) not in {"", identity}:
        raise not_replayable(path, source_offset, "it is not the file that was read")


def not_replayable(path: str | Path, source_offset: SourceOffset, reason: str) -> FsqlError:
    """Return the error for a source that cannot be read again from an offset on."""
    message = f'source "{path}" cannot be replayed from byte {source_offset.byte:,}: {reason}'
    note = f"the job has read {source_offset.row:,} rows of it and continues after them"
    return FsqlError([Diagnostic("E536", message, notes=(note,))])
