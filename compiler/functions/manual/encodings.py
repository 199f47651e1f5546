"""Hashes, encodings and URLs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.manual.entry import ManualEntry, entry

if TYPE_CHECKING:
    from collections.abc import Mapping

TITLE: Final = "Hashes, encodings and URLs"
INTRODUCTION: Final = """\
Texts are hashed and encoded as UTF-8, BYTES as they are.
"""

ENTRIES: Final[Mapping[str, ManualEntry]] = {
    "md5": entry("The MD5 hash, in hexadecimal digits.", "LEFT(MD5('abc'), 8) = '90015098'"),
    "sha1": entry("The SHA-1 hash, in hexadecimal digits.", "LEFT(SHA1('abc'), 8) = 'a9993e36'"),
    "sha256": entry(
        "The SHA-256 hash, in hexadecimal digits.", "LEFT(SHA256('abc'), 8) = 'ba7816bf'"
    ),
    "sha512": entry(
        "The SHA-512 hash, in hexadecimal digits.", "LEFT(SHA512('abc'), 8) = 'ddaf35a1'"
    ),
    "crc32": entry("The CRC-32 checksum, as in gzip and PNG.", "CRC32('abc') = 891568578"),
    "to_base64": entry("The bytes in Base64.", "TO_BASE64('abc') = 'YWJj'"),
    "from_base64": entry(
        "The text whose UTF-8 bytes are given in Base64; NULL if the argument is not Base64, or the bytes are not UTF-8.",
        "FROM_BASE64('YWJj') = 'abc'",
    ),
    "hex": entry(
        "The bytes in hexadecimal digits; of an integer its digits, as by TO_HEX.",
        "HEX('abc') = '616263'",
        "HEX(31) = '1F'",
    ),
    "unhex": entry(
        "The text whose UTF-8 bytes are given in hexadecimal digits; NULL if the argument is not hexadecimal, or the bytes are not UTF-8.",
        "UNHEX('616263') = 'abc'",
        "UNHEX('zz') IS NULL",
    ),
    "encode": entry(
        "The BYTES of a text in a character set, the literal UTF-8, US-ASCII, ISO-8859-1, UTF-16BE or UTF-16LE; `?` for characters that the set does not have. With `hex` or `base64` instead, as in PostgreSQL, it is the text that writes BYTES, or the UTF-8 of a literal, in small hexadecimal digits or in Base64 without line breaks; of a hash such as `SHA256(x)` it is the form of its octets.",
        "ENCODE('é', 'UTF-8') = X'c3a9'",
        "ENCODE('é', 'US-ASCII') = X'3f'",
        "ENCODE(X'00ff', 'hex') = '00ff'",
        "ENCODE(X'00ff', 'base64') = 'AP8='",
        "ENCODE(SHA256('abc'), 'hex') = SHA256('abc')",
    ),
    "to_bytes": entry(
        "The BYTES that a text writes in an encoding, the literal hex, base64, utf8 or ascii; NULL if it is not in that encoding.",
        "TO_BYTES('c3A9', 'hex') = X'c3a9'",
        "TO_BYTES('w6k=', 'base64') = X'c3a9'",
        "TO_BYTES('c', 'hex') IS NULL",
    ),
    "decode": entry(
        "The text of BYTES in a character set, one of those of ENCODE; NULL if they are not valid in it. DECODE with two arguments is the same function. With `hex` or `base64`, as in PostgreSQL, `DECODE(text, 'hex')` is the BYTES that a text writes; another text fails the row (FSQL-E503).",
        "CONVERT_FROM(X'e9', 'ISO-8859-1') = 'é'",
        "DECODE(X'e9', 'UTF-8') IS NULL",
        "DECODE('00ff', 'hex') = X'00ff'",
    ),
    "url_encode": entry(
        "The text as HTML forms encode it (application/x-www-form-urlencoded).",
        "URL_ENCODE('a b&c') = 'a+b%26c'",
    ),
    "url_decode": entry(
        "The text that was encoded by URL_ENCODE; NULL if the decoded bytes are not UTF-8.",
        "URL_DECODE('a+b%26c') = 'a b&c'",
    ),
    "parse_url": entry(
        "A part of a URL: the literal PROTOCOL, AUTHORITY, USERINFO, HOST, FILE, PATH, QUERY or REF. With a third argument, the value of that key in the QUERY. NULL if there is none. Nothing is decoded.",
        "PARSE_URL('http://a.b/c?k=v', 'HOST') = 'a.b'",
        "PARSE_URL('http://a.b/c?k=v', 'QUERY', 'k') = 'v'",
    ),
    "sha224": entry(
        "The SHA-224 hash, in hexadecimal digits.", "LEFT(SHA224('abc'), 8) = '23097d22'"
    ),
    "sha384": entry(
        "The SHA-384 hash, in hexadecimal digits.", "LEFT(SHA384('abc'), 8) = 'cb00753f'"
    ),
    "sha2": entry(
        "The SHA-2 hash of 224, 256, 384 or 512 bits, in hexadecimal digits; 0 stands for 256. NULL for other numbers.",
        "SHA2('abc', 256) = SHA256('abc')",
    ),
    "xxh64": entry(
        "The hash XXH64 with the seed 0, as a BIGINT. It is fast and not cryptographic.",
        "XXH64('abc') = 4952883123889572249",
    ),
    "url_extract_protocol": entry(
        "The protocol of a URL; NULL if there is none.",
        "URL_EXTRACT_PROTOCOL('http://a.b/c') = 'http'",
    ),
    "url_extract_host": entry(
        "The host of a URL; NULL if there is none.", "URL_EXTRACT_HOST('http://a.b:80/c') = 'a.b'"
    ),
    "url_extract_port": entry(
        "The port of a URL; NULL if there is none.", "URL_EXTRACT_PORT('http://a.b:80/c') = 80"
    ),
    "url_extract_path": entry(
        "The path of a URL; NULL if there is none.", "URL_EXTRACT_PATH('http://a.b/c?d') = '/c'"
    ),
    "url_extract_query": entry(
        "The query of a URL; NULL if there is none.",
        "URL_EXTRACT_QUERY('http://a.b/c?d=1') = 'd=1'",
    ),
    "url_extract_fragment": entry(
        "The fragment of a URL; NULL if there is none.",
        "URL_EXTRACT_FRAGMENT('http://a.b/c#d') = 'd'",
    ),
    "url_extract_parameter": entry(
        "The value of a key of the query of a URL; NULL if there is none. Nothing is decoded.",
        "URL_EXTRACT_PARAMETER('http://a.b/c?d=1', 'd') = '1'",
    ),
}
