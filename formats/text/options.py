"""The options of format `text`."""

from __future__ import annotations

from typing import Final

from fsql.compiler.connectors import RECORD_LENGTH, ColumnRule, Format, Layout

FORMAT: Final = Format(
    "text",
    "lines of plain text, each a row of one STRING column",
    Layout.LINES,
    takes_changes=False,
    options=(RECORD_LENGTH,),
    notes="""\
Each line is a row, an empty line a row with an empty string.  NULL is written as an empty line.
""",
    columns=ColumnRule(
        (("STRING",),),
        "a table of format 'text' has one STRING column: the line",
        "declare (line STRING), and split it in a query",
    ),
)
