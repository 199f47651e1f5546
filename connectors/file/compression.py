"""Compressed files of lines: detection, reading and writing.

A file is always read from its beginning: a reader that resumes decompresses and skips the earlier part.  A
written file consists of one member (gzip) or frame (zstd) for each bundle of rows, so that it remains
readable after a failure; other programs read the concatenation as one file.
"""

from __future__ import annotations

import gzip
import io
import lzma
import os
import re
from typing import TYPE_CHECKING, Final, Protocol

import xxhash

from fsql.compiler.connectors import COMPRESSION_SUFFIXES
from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.connectors import paths
from fsql.connectors.streams.replay import CHECKED_BYTES, check_identity, not_replayable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fsql.runtime.cluster.delivery.delivery import Contents
    from fsql.runtime.ports import SourceOffset
    from fsql.runtime.sink import ContentsEncoder

AUTO: Final = "auto"
NONE: Final = "none"
_GZIP_LEVEL: Final = 6
_MAGIC: Final = {
    "gzip": rb"\x1f\x8b\x08",
    "zstd": rb"\x28\xb5\x2f\xfd",
    "bz2": rb"BZh[1-9](1AY&SY|\x17rE8P\x90)",
    "lz4": rb"\x04\x22\x4d\x18",
    "xz": rb"\xfd7zXZ\x00",
}
"""How files begin, by codec."""
_MAGIC_BYTES: Final = 16


def codec_of(path: Path, option: str) -> str | None:
    """Return the codec of a file that is written: by the option, or else by its name; None if uncompressed.

    Raises:
        FsqlError: E534, if such files are only read.
    """
    if option not in {AUTO, NONE, *COMPRESSION_SUFFIXES.values()}:
        message = f"files with 'compression' = '{option}' are read, and not written"
        raise FsqlError([Diagnostic("E534", message, helps=("write 'compression' = 'zstd'",))])
    if option == AUTO:
        return COMPRESSION_SUFFIXES.get(path.suffix.lower())
    return None if option == NONE else option


def codec_in(path: Path, option: str) -> str | None:
    """Return the codec of a file that is read: by its first bytes, unless the option names one.

    Names mislead: archives are renamed, and a server may decompress a file and keep its name.

    Raises:
        FsqlError: E531, if the file cannot be opened.
    """
    if option != AUTO:
        return None if option == NONE else option
    try:
        with path.open("rb") as file:
            start = file.read(_MAGIC_BYTES)
    except OSError as error:
        raise paths.open_error("E531", path, error) from None
    for codec, magic in _MAGIC.items():
        if re.match(magic, start, re.DOTALL):
            return codec
    return None


class Readable(Protocol):
    """A stream of bytes."""

    def read(self, size: int, /) -> bytes:
        """Return up to `size` bytes, b"" at the end."""


class CompressedBlocks:
    """The bytes of a compressed file, from an offset of the decompressed stream on."""

    def __init__(
        self,
        descriptor: int,
        path: Path,
        codec: str,
        block_bytes: int,
        source_offset: SourceOffset | None,
        *,
        from_start: bool = False,
    ) -> None:
        """Take the descriptor of the file, positioned at its beginning, and continue at `source_offset`.

        With `from_start` only check that it is the file that was read before.

        Raises:
            FsqlError: E535, if it cannot be read; E536, if it is not the file that was read before.
        """
        self._path = path
        self._block_bytes = block_bytes
        self._file = io.FileIO(descriptor, "r")
        try:
            self._identity = file_identity(descriptor)
            check_identity(path, self._identity, source_offset)
            self._stream = _decompressed(self._file, codec)
            self._skip(None if from_start else source_offset)
        except OSError as error:
            raise self._read_error(error) from None
        except BaseException:
            self._file.close()
            raise

    def read(self) -> bytes:
        """Return the next block, b"" at the end.

        Raises:
            FsqlError: E535, if the file cannot be read, or is damaged.
        """
        try:
            data: bytes = self._stream.read(self._block_bytes)
        except (
            OSError,
            EOFError,
            ValueError,
            lzma.LZMAError,
        ) as error:  # ArrowInvalid is a ValueError
            raise self._read_error(error) from None
        return data

    def content_before(self, byte: int) -> str:
        """Return the identity of the whole file, because a compressed file is not expected to grow."""
        del byte
        return self._identity

    def bytes_passed(self, byte: int) -> int:
        """Return the number of compressed bytes that were read."""
        del byte
        return self._file.tell()

    def bytes_lost(self, byte: int) -> int:
        """Return 0: a file can be read again."""
        del byte
        return 0

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _skip(self, source_offset: SourceOffset | None) -> None:
        rest = 0 if source_offset is None else source_offset.byte
        while source_offset is not None and rest:
            passed = self._stream.read(min(rest, self._block_bytes))
            if not passed:
                raise not_replayable(self._path, source_offset, "it ends before that")
            rest -= len(passed)

    def _read_error(self, error: Exception) -> FsqlError:
        self._file.close()
        reason = str(error)
        message = f'reading "{self._path}" failed: {reason[:1].lower()}{reason[1:]}'
        helps = (
            "restore the file, if it is damaged or not yet complete",
            "declare 'compression' = 'none', if the file is not compressed",
        )
        return FsqlError([Diagnostic("E535", message, helps=helps)])


class CompressedLines:
    """Encodes and compresses lines: one member or frame for each bundle, or part of a bundle."""

    def __init__(self, lines: ContentsEncoder, codec: str) -> None:
        self._lines = lines
        self._codec = codec
        self.header = bytes(self._compress([lines.header])) if lines.header else b""

    def __call__(self, contents: Contents) -> Sequence[memoryview]:
        """Return the lines, compressed."""
        return [memoryview(self._compress(self._lines(contents)))]

    def _compress(self, lines: Sequence[bytes | memoryview]) -> bytes:
        data = b"".join(lines)
        if self._codec == "gzip":
            return gzip.compress(data, _GZIP_LEVEL, mtime=0)
        import pyarrow as pa

        compressed: bytes = pa.compress(data, self._codec, asbytes=True)
        return compressed


def _decompressed(file: io.FileIO, codec: str) -> Readable:
    """Return the decompressed bytes of a file; Arrow has no xz."""
    if codec == "xz":
        return lzma.open(file)
    import pyarrow as pa  # most files are not compressed

    return pa.CompressedInputStream(pa.PythonFile(file, "r"), codec)


def file_identity(descriptor: int) -> str:
    """Return a hash of the length, the first bytes and the last bytes of a file."""
    size = os.fstat(descriptor).st_size
    hasher = xxhash.xxh3_128(str(size).encode())
    for start in (0, max(size - CHECKED_BYTES, 0)):
        hasher.update(os.pread(descriptor, CHECKED_BYTES, start))
    return hasher.hexdigest()
