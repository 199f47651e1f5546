"""The options of format `json`."""

from __future__ import annotations

from typing import Final

from fsql.compiler.connectors import RECORD_LENGTH, Format, Layout

FORMAT: Final = Format(
    "json",
    "one JSON object on each line",
    Layout.LINES,
    takes_changes=True,
    options=(RECORD_LENGTH,),
    notes="""\
Fields are matched to columns by name.  Unknown fields are ignored, missing ones are NULL.  A STRING
column [takes any value](language.md#json-in-a-string): an object or array is its compact text, a number or
boolean is as it is written; nothing else is converted silently.
""",
)
