"""Functions of BYTES, over Python's bytes."""

from __future__ import annotations

import hashlib
from base64 import encodebytes
from typing import TYPE_CHECKING, Any, Final

from fsql.tests.reference.failure import NOT_CASTABLE, OUT_OF_RANGE, FailureError

if TYPE_CHECKING:
    from collections.abc import Callable


def substring(data: bytes, start: int, length: int | None = None) -> bytes:
    """Return the octets at positions `start` to `start + length - 1`, counted from 1."""
    return bytes(
        octet
        for position, octet in enumerate(data, 1)
        if position >= start and (length is None or position < start + length)
    )


def decode(data: bytes, charset: str) -> str | None:
    """Return the text of bytes; NULL if they have none."""
    try:
        return data.decode(charset)
    except UnicodeDecodeError:
        return None


def text_of(data: bytes) -> str:
    """Return the text whose UTF-8 the bytes are.

    Raises:
        FailureError: there is none.
    """
    text = decode(data, "utf-8")
    if text is None:
        raise FailureError(NOT_CASTABLE)
    return text


def padded(data: bytes, length: int) -> bytes:
    """Return the first octets, and zeros up to the length.

    Raises:
        FailureError: there would be more than a million.
    """
    if length > 1_000_000:
        raise FailureError(OUT_OF_RANGE)
    return (data + bytes(max(length - len(data), 0)))[: max(length, 0)]


def base64_of(data: bytes) -> str:
    """Return bytes in Base64."""
    return encodebytes(data).decode().replace("\n", "")


def bytes_of(value: str) -> bytes:
    """Return the bytes that a value of BYTES stands for."""
    return bytes(map(ord, value))


OCTET_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "char_length": len,
    "octet_length": len,
    "concat": lambda a, b: a + b,
    "substring": substring,
    "decode": decode,
    "hex": lambda a: "".join(f"{octet:02X}" for octet in a),
    "to_base64": base64_of,
    "md5": lambda a: hashlib.md5(a).hexdigest(),
    "sha1": lambda a: hashlib.sha1(a).hexdigest(),
    "sha256": lambda a: hashlib.sha256(a).hexdigest(),
    "sha512": lambda a: hashlib.sha512(a).hexdigest(),
    "pad_bytes": padded,
}
"""The functions whose first argument is BYTES, but for comparisons."""


def call_of_octets(function: str, values: list[Any], kinds: list[bool]) -> Any:
    """Return the value of a call; `kinds` says which values are BYTES."""
    given = [bytes_of(each) if octets else each for each, octets in zip(values, kinds, strict=True)]
    result = OCTET_FUNCTIONS[function](*given)
    return result.decode("latin-1") if isinstance(result, bytes) else result
