"""Hashes, encodings and URLs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.manual.entry import Entry, entry

if TYPE_CHECKING:
    from collections.abc import Mapping

TITLE: Final = "Hashes, encodings and URLs"
INTRODUCTION: Final = """\
Texts are hashed and encoded as UTF-8.
"""

ENTRIES: Final[Mapping[str, Entry]] = {
    "md5": entry("The hash, in hexadecimal digits.", "LEFT(MD5('abc'), 8) = '90015098'"),
    "sha1": entry("The hash, in hexadecimal digits.", "LEFT(SHA1('abc'), 8) = 'a9993e36'"),
    "sha256": entry("The hash, in hexadecimal digits.", "LEFT(SHA256('abc'), 8) = 'ba7816bf'"),
    "sha512": entry("The hash, in hexadecimal digits.", "LEFT(SHA512('abc'), 8) = 'ddaf35a1'"),
    "crc32": entry("The checksum of gzip and PNG.", "CRC32('abc') = 891568578"),
    "to_base64": entry("In Base64.", "TO_BASE64('abc') = 'YWJj'"),
    "from_base64": entry(
        "Of Base64; NULL of what is none, or is no text.", "FROM_BASE64('YWJj') = 'abc'"
    ),
    "hex": entry("The bytes in hexadecimal digits.", "HEX('abc') = '616263'"),
    "unhex": entry(
        "Of hexadecimal digits; NULL of what are none, or are no text.",
        "UNHEX('616263') = 'abc'",
        "UNHEX('zz') IS NULL",
    ),
    "url_encode": entry(
        "As forms are sent (application/x-www-form-urlencoded).", "URL_ENCODE('a b&c') = 'a+b%26c'"
    ),
    "url_decode": entry(
        "Of what forms send; NULL of what is no text.", "URL_DECODE('a+b%26c') = 'a b&c'"
    ),
    "parse_url": entry(
        "A literal part of a URL: PROTOCOL, AUTHORITY, USERINFO, HOST, FILE, PATH, QUERY or REF; of the QUERY, the value of a key. NULL if there is none. Nothing is decoded.",
        "PARSE_URL('http://a.b/c?k=v', 'HOST') = 'a.b'",
        "PARSE_URL('http://a.b/c?k=v', 'QUERY', 'k') = 'v'",
    ),
}
