"""The codecs of blocks.  Decompression is bounded, whatever length the data claims to have."""

from __future__ import annotations

import bz2
import lzma
import zlib
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from fsql.formats.avro.damage import DamagedError
from fsql.formats.avro.varints import read_varint

if TYPE_CHECKING:
    from collections.abc import Callable

NULL: Final = "null"
DEFLATE: Final = "deflate"
SNAPPY: Final = "snappy"
ZSTANDARD: Final = "zstandard"
OF_OPTION: Final = {"none": NULL, "deflate": DEFLATE, "snappy": SNAPPY, "zstd": ZSTANDARD}
"""The name of the codec in a file, by the value of the option `compression`."""
_CRC_BYTES: Final = 4


def compress(codec: str, data: bytes) -> bytes:
    """Return the compressed contents of a block; equal data gives equal bytes."""
    if codec == DEFLATE:
        deflate = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)
        return deflate.compress(data) + deflate.flush()
    if codec == SNAPPY:
        packed: bytes = pa.compress(data, codec="snappy", asbytes=True)
        return packed + zlib.crc32(data).to_bytes(_CRC_BYTES, "big")
    if codec == ZSTANDARD:
        framed: bytes = pa.Codec("zstd", 3).compress(data, asbytes=True)
        return framed
    assert codec == NULL
    return data


def decompress(codec: str, data: bytes, bytes_max: int) -> bytes:
    """Return the decompressed contents of a block.

    Raises:
        DamagedError: if it cannot be decompressed, or has more than `bytes_max` bytes.
    """
    try:
        return CODECS[codec](data, bytes_max)
    except (ValueError, OSError, EOFError, zlib.error, lzma.LZMAError, pa.ArrowException) as error:
        reason = str(error).partition("\n")[0] or "it ends early"
        raise DamagedError(f"cannot be decompressed by codec {codec}: {reason}") from None


def _inflate(data: bytes, bytes_max: int) -> bytes:
    return _all_of(zlib.decompressobj(-zlib.MAX_WBITS), data, bytes_max)


def _bzip2(data: bytes, bytes_max: int) -> bytes:
    return _all_of(bz2.BZ2Decompressor(), data, bytes_max)


def _xz(data: bytes, bytes_max: int) -> bytes:
    return _all_of(lzma.LZMADecompressor(memlimit=4 * bytes_max), data, bytes_max)


def _all_of(decompressor: Any, data: bytes, bytes_max: int) -> bytes:  # noqa: ANN401 - of three modules
    whole: bytes = decompressor.decompress(data, bytes_max + 1)
    _check_length(len(whole), bytes_max)
    if not decompressor.eof:
        raise ValueError("it ends early")
    return whole


def _unsnappy(data: bytes, bytes_max: int) -> bytes:
    packed, crc = data[:-_CRC_BYTES], data[-_CRC_BYTES:]
    length, _ = read_varint(packed, 0)
    _check_length(length, bytes_max)
    whole: bytes = pa.decompress(packed, decompressed_size=length, codec="snappy", asbytes=True)
    if zlib.crc32(whole).to_bytes(_CRC_BYTES, "big") != crc:
        raise ValueError("its checksum does not match")
    return whole


def _unzstandard(data: bytes, bytes_max: int) -> bytes:
    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        whole: bytes = stream.read(bytes_max + 1)
    _check_length(len(whole), bytes_max)
    return whole


def _check_length(length: int, bytes_max: int) -> None:
    if length > bytes_max:
        raise DamagedError(f"has more than {bytes_max:,} bytes when it is decompressed")


CODECS: Final[dict[str, Callable[[bytes, int], bytes]]] = {
    NULL: lambda data, _: data,
    DEFLATE: _inflate,
    SNAPPY: _unsnappy,
    ZSTANDARD: _unzstandard,
    "bzip2": _bzip2,
    "xz": _xz,
}
