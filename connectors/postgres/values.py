"""Texts of PostgreSQL as JSON: the values of rows, as the decoder of their columns reads them."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from fsql.compiler.sqltypes import FLOATING, INTEGER_RANGES, Kind, SqlType
from fsql.connectors.postgres.types import JSON_TYPES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    JsonOf: TypeAlias = Callable[[str], bytes]

_ENCODE: Final = msgspec.json.encode
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_BOOLEANS: Final = {"t": b"true", "f": b"false"}
_STRUCTURE: Final = frozenset({Kind.ROW, Kind.MAP, Kind.ARRAY})
_NUMERIC: Final = frozenset({*INTEGER_RANGES, Kind.DECIMAL, *FLOATING})
NULL: Final = b"null"


def json_of(server_type: str, type_: SqlType) -> JsonOf:
    """Return the function that makes JSON of texts of a type of the database, for a column.

    `server_type` is the `typname`, which for arrays is that of their elements after `_`.
    """
    if server_type in JSON_TYPES and type_.kind in _STRUCTURE:
        return _document
    if server_type.startswith("_"):
        element = type_.element if type_.kind is Kind.ARRAY else None
        return _ArrayJson(json_of(server_type[1:], element or type_))
    if server_type == "bool":
        return _boolean
    if server_type == "bytea":
        return _octets
    if type_.kind in _NUMERIC:
        return _number
    return _ENCODE


def _document(text: str) -> bytes:
    """Return a document as it is; a line end within it can only be white space."""
    return text.replace("\n", " ").replace("\r", " ").encode()


def _boolean(text: str) -> bytes:
    return _BOOLEANS.get(text) or _ENCODE(text)


def _octets(text: str) -> bytes:
    return b'"' + base64.b64encode(bytes.fromhex(text.removeprefix("\\x"))) + b'"'


def _number(text: str) -> bytes:
    """Return a number as it is; `NaN` and texts become strings, which the decoder judges."""
    return text.encode() if _NUMBER.fullmatch(text) else _ENCODE(text)


class _ArrayJson:
    """Makes JSON of arrays: `{1,NULL,"a b"}`, which may be nested and begin with bounds."""

    def __init__(self, element: JsonOf) -> None:
        self._element = element

    def __call__(self, text: str, /) -> bytes:
        """Return the array as JSON."""
        body = text[text.index("{") :]
        parts: list[bytes] = []
        for part, is_text in _tokens(body):
            if is_text:
                parts.append(self._element(part))
            elif part == "NULL":
                parts.append(NULL)
            else:
                parts.append(_BRACKETS[part])
        return b"".join(parts)


_BRACKETS: Final = {"{": b"[", "}": b"]", ",": b","}
_TOKEN: Final = re.compile(r'([{},])|"((?:[^"\\]|\\.)*)"|([^{},"]+)', re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


def _tokens(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the tokens of an array, and whether each is the text of an element."""
    for match in _TOKEN.finditer(text):
        mark, in_quotes, bare = match.groups()
        if mark is not None:
            yield mark, False
        elif in_quotes is not None:
            yield _ESCAPED.sub(r"\1", in_quotes), True
        else:
            yield bare, bare != "NULL"
