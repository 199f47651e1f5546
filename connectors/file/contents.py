"""The bytes of files, decompressed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fsql.connectors import paths
from fsql.connectors.file.compression import CompressedBlocks, file_identity
from fsql.connectors.file.options import UTF8
from fsql.connectors.streams.blocks import FileBlocks
from fsql.connectors.streams.replay import check_identity, check_replayable
from fsql.runtime.ports import SourceOffset

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.connectors.file.encodings import EncodedBlocks
    from fsql.connectors.streams.blocks import Blocks


def open_blocks(
    path: Path,
    codec: str | None,
    block_bytes: int,
    source_offset: SourceOffset | None = None,
    *,
    encoding: str = UTF8,
    from_start: bool = False,
) -> Blocks:
    """Return the bytes of a file as UTF-8, from an offset of the decompressed bytes on.

    With `from_start` return all bytes of a file that was read before up to that offset.

    Raises:
        FsqlError: E531, if the file cannot be opened; E535, if it cannot be read; E536, if it is not the
            file that was read before.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise paths.open_error("E531", path, error) from None
    encoded = encoding != UTF8
    skipped = None if from_start else source_offset
    if codec is not None:
        inner = CompressedBlocks(
            descriptor, path, codec, block_bytes, source_offset, from_start=from_start or encoded
        )
        return (
            _decoded(inner, path, encoding, inner.content_before(0), skipped) if encoded else inner
        )
    identity = ""
    try:
        if encoded:
            identity = file_identity(descriptor)
            check_identity(path, identity, source_offset)
        elif source_offset is not None:
            check_replayable(descriptor, path, source_offset, lines=not from_start)
            os.lseek(descriptor, 0 if from_start else source_offset.byte, os.SEEK_SET)
    except BaseException:
        os.close(descriptor)
        raise
    blocks = FileBlocks(descriptor, str(path), block_bytes)
    if not encoded:
        return blocks
    return _decoded(blocks, path, encoding, identity, skipped)


def _decoded(
    inner: Blocks, path: Path, encoding: str, identity: str, source_offset: SourceOffset | None
) -> EncodedBlocks:
    from fsql.connectors.file.encodings import EncodedBlocks  # few files are not UTF-8

    blocks = EncodedBlocks(inner, path, encoding, identity)
    try:
        if source_offset is not None:
            blocks.skip(source_offset)
    except BaseException:
        blocks.close()
        raise
    return blocks


def first_bytes(
    path: Path, codec: str | None, count: int, encoding: str = UTF8
) -> tuple[bytes, bool]:
    """Return at least `count` of the first bytes of a file, and whether these are all.

    Raises:
        FsqlError: E531, if the file cannot be opened; E535, if it cannot be read.
    """
    blocks = open_blocks(path, codec, count, encoding=encoding)
    read = b""
    try:
        while len(read) < count:
            block = blocks.read()
            if not block:
                return read, True
            assert isinstance(block, bytes), "files at rest have no bounds"
            read += block
    finally:
        blocks.close()
    return read, False


def bytes_from(path: Path, codec: str | None, byte: int, count: int) -> bytes:
    """Return up to `count` bytes of a file from an offset of the decompressed bytes on.

    Raises:
        FsqlError: E531, if the file cannot be opened; E535, if it cannot be read.
    """
    blocks = open_blocks(path, codec, count, SourceOffset(0, 0, byte))
    try:
        block = blocks.read()
    finally:
        blocks.close()
    return block if isinstance(block, bytes) else b""
