"""The changes of a bare SELECT as a table on a terminal.

The table is written row by row as changes are released.  The widths of its columns are computed from the
names, the types and the first rows.  Wider text in later rows is cut, with `…`; numbers and times are never
cut.
"""

from __future__ import annotations

import json
import unicodedata
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len

from fsql.compiler.logical import Changes
from fsql.compiler.records import dataclass
from fsql.compiler.sqltypes import STRUCTURED, TEXTUAL, Kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import BinaryIO

    from fsql.compiler.logical import SinkTable
    from fsql.compiler.sqltypes import SqlType

_GAP: Final = "  "
_FIRST_ROWS: Final = 200
"""The number of first rows that determine the widths."""
_WIDTH_MIN: Final = {
    Kind.DATE: len("2026-01-01"),
    Kind.TIME: len("12:00:00"),
    Kind.TIMESTAMP: len("2026-01-01T12:00:00Z"),
    Kind.STRING: 8,
    Kind.BYTES: 8,
    Kind.BIGINT: 4,
    Kind.FLOAT: 6,
    Kind.DOUBLE: 6,
}
"""Typical widths of the values of a type."""
_TIME_WIDTH: Final = len("2026-01-01T12:00:00.000Z")
"""The width of a time where there is room: later rows may have fractions of a second."""
_NARROWEST: Final = 4
_TEXT_WIDTH_MAX: Final = 60
_CUT: Final = "…"
_NULL: Final = "NULL"


class _Number(str):
    """A number in the form in which JSON writes it."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class TextColumn:
    """A column of text: `least` is its typical width, `wanted` that where there is room.

    Values of one that is not `elastic` are never cut.
    """

    name: str
    right: bool
    least: int
    elastic: bool = False
    wanted: int = 0


class ChangeTable:
    """A stream that takes JSON lines and writes the rows of a table."""

    def __init__(self, sink: SinkTable, stream: BinaryIO, width: int, encoding: str) -> None:
        """`stream` is a terminal of `width` cells that takes text in this encoding."""
        self._columns = [text_column(each.name, each.type) for each in sink.columns]
        if sink.changes is not Changes.APPEND:
            self._columns.insert(0, TextColumn(sink.operation_column, right=False, least=2))
        self._stream = stream
        self._width = width
        self._encoding = encoding
        self._widths: list[int] = []

    def write(self, data: memoryview) -> None:
        """Write the rows of whole JSON lines."""
        rows = [self._cells(line) for line in bytes(data).splitlines()]
        text = ""
        if not self._widths:
            self._widths = column_widths(
                self._columns, rows[:_FIRST_ROWS], self._width, _TEXT_WIDTH_MAX
            )
            text = self._head()
        text += "".join(self._line(row) for row in rows)
        self._stream.write(text.encode(self._encoding, "replace"))

    def flush(self) -> None:
        """Flush the stream."""
        self._stream.flush()

    def _cells(self, line: bytes) -> list[str]:
        row = json.loads(line, parse_int=_Number, parse_float=_Number)
        return [_cell(row, each.name) for each in self._columns]

    def _head(self) -> str:
        names = self._line([printable(each.name) for each in self._columns])
        rule = _GAP.join("─" * width for width in self._widths)
        return f"{names}{rule}\n"

    def _line(self, cells: Sequence[str]) -> str:
        parts = [
            _fit(cell, width, column)
            for cell, width, column in zip(cells, self._widths, self._columns, strict=True)
        ]
        return _GAP.join(parts).rstrip() + "\n"


def text_column(name: str, sql_type: SqlType) -> TextColumn:
    """Return the column for values of a type."""
    kind = sql_type.kind
    return TextColumn(
        name,
        right=sql_type.numeric,
        least=_WIDTH_MIN.get(kind, _NARROWEST),
        elastic=kind in (*TEXTUAL, *STRUCTURED),
        wanted=_TIME_WIDTH if kind is Kind.TIMESTAMP else 0,
    )


def _cell(row: Mapping[str, object], name: str) -> str:
    if name not in row:  # A deleted row may have only its key columns.
        return ""
    value = row[name]
    if isinstance(value, str):
        return printable(value)
    return _NULL if value is None else printable(_nested_text(value))


def _nested_text(value: object) -> str:
    """Return the text of a value inside an array."""
    if isinstance(value, list):
        return f"[{','.join(map(_nested_text, value))}]"
    if isinstance(value, _Number):
        return value
    return json.dumps(value, ensure_ascii=False)


def printable(text: str) -> str:
    r"""Return a text with control characters escaped.

    >>> printable("a\n\x1b[2J")
    'a\\n\\x1b[2J'
    """
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() or unicodedata.category(each) == "Zs" else ascii(each)[1:-1]
        for each in text
    )


def column_widths(
    columns: Sequence[TextColumn], rows: Sequence[Sequence[str]], width: int, text_width: int
) -> list[int]:
    """Return the widths of the columns: at most `width` cells together if there are not too many columns.

    A text has at most `text_width` cells.
    """
    widths = []
    for number, column in enumerate(columns):
        longest = max((cell_len(row[number]) for row in rows), default=0)
        least = max(column.least, cell_len(column.name))
        widths.append(max(least, min(longest, text_width) if column.elastic else longest))
    room = width - len(_GAP) * (len(widths) - 1)
    while sum(widths) > room:
        elastic = [n for n, each in enumerate(columns) if each.elastic and widths[n] > _NARROWEST]
        if not elastic:
            break
        widths[max(elastic, key=lambda n: widths[n])] -= 1
    for number, column in enumerate(columns):
        widths[number] += max(0, min(column.wanted - widths[number], room - sum(widths)))
    return widths


def _fit(text: str, width: int, column: TextColumn) -> str:
    """Return a text of exactly `width` cells; one that is not cut may be wider."""
    cells = cell_len(text)
    if cells > width and column.elastic:
        text = _cut(text, width - cell_len(_CUT)) + _CUT
        cells = cell_len(text)
    padding = " " * (width - cells)
    return padding + text if column.right else text + padding


def _cut(text: str, width: int) -> str:
    """Return the longest prefix of a text that fits."""
    used = 0
    for number, each in enumerate(text):
        used += cell_len(each)
        if used > width:
            return text[:number]
    return text
