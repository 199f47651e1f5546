"""Whether a source of JSON has lines or documents, and where the records are in documents.

A document is a value of the source.  An object is a record, an array has records as its elements.  With a
path, the records are those at the path in each document.
"""

from __future__ import annotations

import enum
import re
from codecs import BOM_UTF8
from typing import TYPE_CHECKING, Final, TypeAlias

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.formats.json.options import RECORDS

if TYPE_CHECKING:
    from fsql.formats.settings import Settings

MemberPath: TypeAlias = tuple[str, ...]
"""The names of members, from that of the document on."""

WHITE: Final = b" \t\r\n"
TOKEN: Final = re.compile(
    rb'[ \t\r\n]*(?:("(?:[^"\\\x00-\x1f]|\\.)*")|([{}\[\],:])|([^\s{}\[\],:"]+))', re.DOTALL
)
"""A string, a sign, or a word: a number, `true`, `false` or `null`."""
_WORD: Final = re.compile(rb"-?[0-9][0-9.eE+-]*|true|false|null")
_ARRAY: Final = re.compile(rb'"([A-Za-z_]\w*)"[ \t\r\n]*:[ \t\r\n]*\[[ \t\r\n]*\{')
_PATH: Final = re.compile(r"\$((?:\.[^\W\d][\w-]*|\['[^']+'\]|\[\"[^\"]+\"\])*)(?:\[\*\])?")
_MEMBER: Final = re.compile(r"\.([^\W\d][\w-]*)|\['([^']+)'\]|\[\"([^\"]+)\"\]")


def parse_path(text: str) -> MemberPath | None:
    """Return the names in a path of members; None if it is not such a path.

    >>> parse_path("$.detail['the records'][*]")
    ('detail', 'the records')
    """
    match = _PATH.fullmatch(text)
    if match is None:
        return None
    return tuple(next(filter(None, names)) for names in _MEMBER.findall(match[1]))


def path_text(path: MemberPath) -> str:
    """Return a path as the option has it."""
    return "$" + "".join(
        f".{name}" if re.fullmatch(r"[^\W\d][\w-]*", name) else f"['{name}']" for name in path
    )


def records_path(settings: Settings) -> MemberPath | None:
    """Return the path of the records in documents; None if a table does not give it.

    Raises:
        FsqlError: E534, if it is not one of members.
    """
    if settings.connector.option(RECORDS) is None or not settings.gives(RECORDS):
        return None
    text = settings.text(RECORDS)
    path = parse_path(text)
    if path is None:
        message = f'option "{RECORDS}" is not a path of members: {text}'
        helps = (f"write the names of members after a point: '{RECORDS}' = '$.Records'",)
        raise FsqlError([Diagnostic("E534", message, helps=helps)])
    return path


def arrays_of_objects(text: bytes) -> list[str]:
    """Return the names of members, at any depth, whose values seem to be arrays of objects."""
    return [name.decode() for name in _ARRAY.findall(text)]


class _NotJsonError(Exception):
    """A text is not the beginning of a value of JSON."""


class Next(enum.Enum):
    """What may follow in a document; the member's value is used in messages."""

    VALUE = "a value"
    VALUE_OR_END = "a value or the end of the array"
    KEY = "a key"
    KEY_OR_END = "a key or the end of the object"
    COLON = "a colon"
    COMMA_OR_END = "a comma or a closing bracket"


VALUES: Final = (Next.VALUE, Next.VALUE_OR_END)
KEYS: Final = (Next.KEY, Next.KEY_OR_END)


_OPENING: Final = (b"{", b"[")
CLOSING: Final = {b"}": _OPENING[0][0], b"]": _OPENING[1][0]}
EMPTY: Final = {b"}": Next.KEY_OR_END, b"]": Next.VALUE_OR_END}


def begins_document(start: bytes, *, whole: bool) -> bool | None:
    r"""Return whether a source with these first bytes, or all of them, has documents that are not lines.

    Lines of JSON begin with a line that is a value of its own, or is malformed: then the next line does not
    continue it.  The result is None if more bytes are needed.

    >>> begins_document(b'{"a":\n 1}', whole=True), begins_document(b'{"a":\n{"a": 1}\n{', whole=True)
    (True, False)
    """
    text = start.removeprefix(BOM_UTF8).lstrip(WHITE)
    undecided = False if whole else None
    if text[:1] == b"[":
        inside = text[1:].lstrip(WHITE)[:1]
        return inside in (b"{", b"]") if inside else undecided
    if text[:1] != b"{":
        return False if text else undecided
    try:
        end = _value_end(text)
    except _NotJsonError:
        return False
    newline = text.find(b"\n")
    if end is None:
        return True if newline >= 0 and text[newline:].strip(WHITE) else undecided
    if 0 <= newline < end:
        return True
    after = text[end : None if newline < 0 else newline].lstrip(WHITE)[:1]
    return after in (b"{", b"[") if after or newline >= 0 else undecided


def _value_end(  # noqa: C901 - one for each sign
    text: bytes,
) -> int | None:
    """Return where the object ends with which a text begins; None if the text ends before.

    Raises:
        _NotJsonError: if it is not JSON.
    """
    stack = bytearray()
    expected = Next.VALUE
    at = 0
    while match := TOKEN.match(text, at):
        string, sign, word = match.groups()
        at = match.end()
        if word and at < len(text) and not _WORD.fullmatch(word):
            raise _NotJsonError
        if string and expected in KEYS:
            expected = Next.COLON
        elif (string or word or sign in _OPENING) and expected in VALUES:
            expected = Next.COMMA_OR_END
            if sign:
                stack += sign
                expected = Next.KEY_OR_END if sign == b"{" else Next.VALUE_OR_END
        elif sign in CLOSING and expected in (Next.COMMA_OR_END, EMPTY[sign]):
            if not stack or stack.pop() != CLOSING[sign]:
                raise _NotJsonError
            expected = Next.COMMA_OR_END
        elif sign == b":" and expected is Next.COLON:
            expected = Next.VALUE
        elif sign == b"," and expected is Next.COMMA_OR_END:
            expected = Next.KEY if stack[-1:] == b"{" else Next.VALUE
        else:
            raise _NotJsonError
        if not stack:
            return at
    rest = text[at:].lstrip(WHITE)
    # What may be left is a string that the text cuts off.
    if rest and (rest[:1] != b'"' or re.search(rb"[\x00-\x1f]", rest)):
        raise _NotJsonError
    return None
