"""Malformed records: why a record cannot become a row, and how that is reported.

A record that cannot become a row is data, not a bug: the reader turns it into a `DeadLetter`, at the record's
position in the order of rows.  The codes are those of `fsql.compiler.diagnostics.codes`, E511 to E524,
E527 and E528.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.formats.forms import guessed_encoding, other_form
from fsql.runtime.ports import VALUE_UNAVAILABLE, DeadLetter

if TYPE_CHECKING:
    from fsql.formats.lines import Lines

NOT_JSON: Final = 511
DUPLICATE_KEY: Final = 512
WRONG_TYPE: Final = 513
NUMBER_OUT_OF_RANGE: Final = 514
NOT_UTF8: Final = 515
TOO_DEEP: Final = 516
TOO_LONG: Final = 517
NOT_AN_OBJECT: Final = 519
INVALID_TIMESTAMP: Final = 520
NULL_NOT_ALLOWED: Final = 521
NOT_CSV: Final = 523
UNKNOWN_OPERATION: Final = 524
UNAVAILABLE: Final = VALUE_UNAVAILABLE
TRUNCATED: Final = 528

_EXCERPT_MAX: Final = 256
EXCERPT_BYTES: Final = 4 * _EXCERPT_MAX
"""The number of bytes of a record on which its excerpt can depend."""


class MalformedError(Exception):
    """A record that cannot become a row: error number, path of the field ("" for the whole), reason."""

    def __init__(self, code: int, reason: str, field: str = "") -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason
        self.field = field


def dead_letter(lines: Lines, line: int, row: int, error: MalformedError) -> DeadLetter:
    """Return the dead letter of the given line, which would have been row number `row` of its split."""
    record = lines.data[lines.starts[line] : lines.ends[line]]
    reason = error.reason
    form = other_form(record) if lines.offset(line) == 0 else None
    if form is not None:
        reason += f"; the file is {form}"
    elif error.code == NOT_UTF8 and (encoding := guessed_encoding(record, at_start=False)):
        reason += f"; it reads as {encoding}"
    return DeadLetter(
        row=int(row),
        line=int(lines.numbers[line]),
        byte=lines.offset(line),
        code=error.code,
        field=error.field,
        reason=reason,
        excerpt=excerpt(record),
    )


def excerpt(record: bytes) -> str:
    r"""Return the beginning of a record, made safe to show: at most 256 characters.

    Control characters and invisible characters are written as escapes, and an ellipsis marks a record that is
    longer.

    >>> excerpt(b"a\x1b[2J\xff")
    'a\\x1b[2J\\xff'
    """
    shown: list[str] = []
    size = 0
    for character in record[:EXCERPT_BYTES].decode("utf-8", "backslashreplace"):
        piece = character if character.isprintable() else _escape(character)
        if size + len(piece) > _EXCERPT_MAX:
            while size > _EXCERPT_MAX - 1:
                size -= len(shown.pop())
            return "".join(shown) + "…"
        shown.append(piece)
        size += len(piece)
    return "".join(shown)


def check_length(length: int, bytes_max: int) -> None:
    """Check that a record of `length` bytes (or more, if it was cut off) may be decoded.

    Raises:
        MalformedError: E517, if it is longer than `bytes_max`.
    """
    if length > bytes_max:
        raise MalformedError(TOO_LONG, f"the record is longer than {bytes_max:,} bytes")


def decode_utf8(record: bytes) -> str:
    """Return the record as text.

    Raises:
        MalformedError: E515, with the offset of the first byte that is not UTF-8.
    """
    try:
        return record.decode()
    except UnicodeDecodeError as error:
        octet = record[error.start]
        reason = f"byte {error.start} of the record, 0x{octet:02x}, is not UTF-8"
        raise MalformedError(NOT_UTF8, reason) from None


def _escape(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
