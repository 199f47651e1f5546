"""Encodings of strings: hashes, Base64, hexadecimal, URLs.  Text is encoded as UTF-8."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import zlib
from typing import Final
from urllib.parse import quote, unquote_to_bytes

from fsql.compiler.functions.octets import (
    base64_of,
    charset_error,
    decode,
    encode,
    encoding_error,
    hex_of,
    octets_in_text,
    pad,
    parse_base64,
    parse_hex,
    to_bytes,
)
from fsql.compiler.functions.signature import Function, Nullability, Signature
from fsql.compiler.sqltypes import BIGINT, BYTES, STRING


def _from_base64(text: str) -> str | None:
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError):
        return None


def _from_hex(text: str) -> str | None:
    try:
        return binascii.unhexlify(text).decode()
    except (binascii.Error, ValueError):
        return None


def _url_decode(text: str) -> str | None:
    try:
        return unquote_to_bytes(text.replace("+", " ")).decode()
    except ValueError:
        return None


_URL: Final = re.compile(
    r"(?:(?P<PROTOCOL>[^:/?#]+):)?(?://(?P<AUTHORITY>[^/?#]*))?"
    r"(?P<FILE>(?P<PATH>[^?#]*)(?:\?(?P<QUERY>[^#]*))?)(?:#(?P<REF>.*))?",
    re.DOTALL,
)
"""The parts of any URL, after RFC 3986; it matches every text, in linear time."""

_URL_PARTS: Final = ("PROTOCOL", "AUTHORITY", "USERINFO", "HOST", "FILE", "PATH", "QUERY", "REF")


def _url_part_error(part: str) -> str | None:
    return None if part in _URL_PARTS else f"a part of PARSE_URL is {', '.join(_URL_PARTS)}"


def url_part(url: str, part: str, key: str | None = None) -> str | None:
    """Return a part of a URL, or the value of a key of its query; NULL if it has none."""
    found = _URL.fullmatch(url)
    assert found is not None
    if part in {"USERINFO", "HOST"}:
        user, at, address = (found["AUTHORITY"] or "").rpartition("@")
        if part == "USERINFO":
            return user if at else None
        host, colon, port = address.rpartition(":")
        return (host if colon and (port.isdecimal() or not port) else address) or None
    value: str | None = found[part]
    if key is None or value is None:
        return value if part != "PATH" else value or None
    pairs = (pair.partition("=") for pair in value.split("&")) if part == "QUERY" else ()
    return next((text for name, sign, text in pairs if sign and name == key), None)


def port_of(url: str) -> int | None:
    """Return the port of a URL, NULL if it has none."""
    authority = url_part(url, "AUTHORITY") or ""
    _, colon, port = authority.rpartition("@")[2].rpartition(":")
    return int(port) if colon and port.isascii() and port.isdigit() and len(port) <= 5 else None


_TEXT: Final = (STRING,)
_OCTETS: Final = (BYTES,)


def _digest(name: str) -> Function:
    def digest(text: str) -> str:
        return hashlib.new(name, text.encode(), usedforsecurity=False).hexdigest()

    def digest_of_octets(octets: str) -> str:
        return hashlib.new(name, to_bytes(octets), usedforsecurity=False).hexdigest()

    signatures = (Signature(_TEXT, STRING, digest), Signature(_OCTETS, STRING, digest_of_octets))
    return Function(name, (name.upper(),), signatures)


ENCODINGS = (
    _digest("md5"),
    _digest("sha1"),
    _digest("sha256"),
    _digest("sha512"),
    Function(
        "crc32", ("CRC32",), (Signature(_TEXT, BIGINT, lambda text: zlib.crc32(text.encode())),)
    ),
    Function(
        "to_base64",
        ("TO_BASE64",),
        (
            Signature(_TEXT, STRING, lambda text: base64.b64encode(text.encode()).decode()),
            Signature(_OCTETS, STRING, base64_of),
        ),
    ),
    Function(
        "hex",
        ("HEX",),
        (
            Signature(_TEXT, STRING, lambda text: text.encode().hex().upper()),
            Signature(_OCTETS, STRING, hex_of),
        ),
    ),
    Function(
        "encode",
        ("ENCODE", "CONVERT_TO"),
        (Signature((STRING, STRING), BYTES, encode),),
        literal_check=charset_error,
    ),
    Function(
        "decode",
        ("DECODE", "CONVERT_FROM"),
        (Signature((BYTES, STRING), STRING, decode),),
        Nullability.ALWAYS,
        literal_check=charset_error,
    ),
    Function(
        "to_bytes",
        ("TO_BYTES",),
        (Signature((STRING, STRING), BYTES, octets_in_text),),
        Nullability.ALWAYS,
        literal_check=encoding_error,
        literal_word="encoding",
    ),
    Function("octets_of_hex", (), (Signature(_TEXT, BYTES, parse_hex, fallible=True),)),
    Function("octets_of_base64", (), (Signature(_TEXT, BYTES, parse_base64, fallible=True),)),
    Function("pad_bytes", (), (Signature((BYTES, BIGINT), BYTES, pad, fallible=True),)),
    Function(
        "url_encode",
        ("URL_ENCODE", "URL_ENCODE_PARAM"),
        (
            Signature(
                _TEXT,
                STRING,
                lambda text: quote(text, safe="*").replace("%20", "+").replace("~", "%7E"),
            ),
        ),
    ),
    Function(
        "from_base64",
        ("FROM_BASE64",),
        (Signature(_TEXT, STRING, _from_base64),),
        Nullability.ALWAYS,
    ),
    Function("unhex", ("UNHEX",), (Signature(_TEXT, STRING, _from_hex),), Nullability.ALWAYS),
    Function(
        "url_decode",
        ("URL_DECODE", "URL_DECODE_PARAM"),
        (Signature(_TEXT, STRING, _url_decode),),
        Nullability.ALWAYS,
    ),
    Function(
        "parse_url",
        ("PARSE_URL",),
        (
            Signature((STRING, STRING), STRING, url_part),
            Signature((STRING, STRING, STRING), STRING, url_part),
        ),
        Nullability.ALWAYS,
        literal_check=_url_part_error,
        literal_index=1,
        literal_word="part",
    ),
)
