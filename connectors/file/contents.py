"""The bytes of files, decompressed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fsql.connectors import paths
from fsql.connectors.file.compression import CompressedBlocks
from fsql.connectors.streams.blocks import FileBlocks
from fsql.connectors.streams.replay import check_replayable

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.connectors.streams.blocks import Blocks
    from fsql.runtime.ports import SourceOffset


def open_blocks(
    path: Path, codec: str | None, block_bytes: int, source_offset: SourceOffset | None = None
) -> Blocks:
    """Return the bytes of a file, from an offset of the decompressed bytes on.

    Raises:
        FsqlError: E531, if the file cannot be opened; E535, if it cannot be read; E536, if it is not the
            file that was read before.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise paths.open_error("E531", path, error) from None
    if codec is not None:
        return CompressedBlocks(descriptor, path, codec, block_bytes, source_offset)
    try:
        if source_offset is not None:
            check_replayable(descriptor, path, source_offset)
            os.lseek(descriptor, source_offset.byte, os.SEEK_SET)
    except BaseException:
        os.close(descriptor)
        raise
    return FileBlocks(descriptor, str(path), block_bytes)


def first_bytes(path: Path, codec: str | None, count: int) -> bytes:
    """Return up to about `count` of the first bytes of a file: whole lines unless one is longer.

    Raises:
        FsqlError: E531, if the file cannot be opened; E535, if it cannot be read.
    """
    blocks = open_blocks(path, codec, count)
    try:
        data = blocks.read()
    finally:
        blocks.close()
    block = data if isinstance(data, bytes) else b""
    end = block.rfind(b"\n") + 1
    return block[:end] if end and len(block) >= count else block
