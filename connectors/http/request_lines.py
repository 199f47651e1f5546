"""The body of a request as lines: the records that the decoders of formats read."""

from __future__ import annotations

import zlib
from typing import Final

import msgspec

_SPACE: Final = b" \t\r\n"
_GZIP: Final = 31
"""The parameter of zlib for data with the header of gzip."""
_LINE_ENDS: Final = bytes.maketrans(b"\r\n", b"  ")
"""Line ends in JSON are between values, never within them."""


class BodyError(Exception):
    """A body has no records that can be told apart; the message says why."""


class BodyTooLongError(Exception):
    """A body has more bytes than it may have."""


def decompressed(body: bytes, bytes_max: int) -> bytes:
    """Return the content of a body that gzip has compressed.

    Raises:
        BodyError: if it is damaged.
        BodyTooLongError: if the content has more bytes than it may have.
    """
    parts: list[bytes] = []
    size = 0
    while body:
        stream = zlib.decompressobj(_GZIP)
        try:
            parts.append(stream.decompress(body, bytes_max + 1 - size))
        except zlib.error as error:
            raise BodyError(f"the body cannot be decompressed: {error}") from None
        size += len(parts[-1])
        if size > bytes_max:
            raise BodyTooLongError
        if not stream.eof:
            raise BodyError("the body cannot be decompressed: its end is missing")
        body = stream.unused_data
    return b"".join(parts)


def lines_of(body: bytes, *, is_json: bool) -> bytes:
    """Return the records of a body as lines, the last with its end.

    JSON may be one array of records, or one record, over any number of lines.

    Raises:
        BodyError: if an array is not valid.
    """
    if is_json:
        first = body.lstrip(_SPACE)[:1]
        if first == b"[":
            return _elements(body)
        if first == b"{" and b"\n" in body.strip(_SPACE) and _is_document(body):
            body = body.translate(_LINE_ENDS)
    return body if not body or body.endswith(b"\n") else body + b"\n"


def _elements(body: bytes) -> bytes:
    try:
        elements = msgspec.json.decode(body, type=list[msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BodyError(f"the array is not valid JSON: {error}") from None
    return b"".join(bytes(each).translate(_LINE_ENDS) + b"\n" for each in elements)


def _is_document(body: bytes) -> bool:
    """Return whether the body is one JSON value."""
    try:
        msgspec.json.decode(body, type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True
