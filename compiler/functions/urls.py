"""The parts of URLs, each by a function of its own."""

from __future__ import annotations

from typing import Final

from fsql.compiler.functions.encodings import port_of, url_part
from fsql.compiler.functions.signature import Function, Nullability, Signature
from fsql.compiler.sqltypes import BIGINT, STRING


def _part(name: str, part: str) -> Function:
    signature = Signature((STRING,), STRING, lambda url: url_part(url, part))
    return Function(name, (name.upper(),), (signature,), Nullability.ALWAYS)


def _parameter(url: str, key: str) -> str | None:
    return url_part(url, "QUERY", key)


URLS: Final = (
    _part("url_extract_protocol", "PROTOCOL"),
    _part("url_extract_host", "HOST"),
    _part("url_extract_path", "PATH"),
    _part("url_extract_query", "QUERY"),
    _part("url_extract_fragment", "REF"),
    Function(
        "url_extract_port",
        ("URL_EXTRACT_PORT",),
        (Signature((STRING,), BIGINT, port_of),),
        Nullability.ALWAYS,
    ),
    Function(
        "url_extract_parameter",
        ("URL_EXTRACT_PARAMETER",),
        (Signature((STRING, STRING), STRING, _parameter),),
        Nullability.ALWAYS,
    ),
)
