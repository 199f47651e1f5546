"""Integers of variable length: seven bits per byte, the low bits first; Avro encodes signs in zigzag."""

from __future__ import annotations

from typing import Final

from fsql.formats.avro.damage import DamagedError

_BYTES_MAX: Final = 10


def encode_long(value: int) -> bytes:
    """Return an integer of 64 bits in Avro's encoding.

    >>> encode_long(-65).hex()
    '8101'
    """
    rest = (value << 1) ^ (value >> 63)
    data = bytearray()
    while rest > 0x7F:
        data.append(rest & 0x7F | 0x80)
        rest >>= 7
    data.append(rest)
    return bytes(data)


def read_varint(data: bytes, start: int) -> tuple[int, int]:
    """Return the unsigned integer at byte `start` of `data`, and the offset of its end.

    Raises:
        DamagedError: if the data ends within it, or it has more than 10 bytes.
    """
    value = 0
    for count, octet in enumerate(data[start : start + _BYTES_MAX]):
        value |= (octet & 0x7F) << (7 * count)
        if octet < 0x80:
            return value, start + count + 1
    whole = start + _BYTES_MAX <= len(data)
    raise DamagedError("has a number without an end" if whole else "ends early")


def zigzag(value: int) -> int:
    """Return the signed integer that an unsigned one encodes."""
    return (value >> 1) ^ -(value & 1)
