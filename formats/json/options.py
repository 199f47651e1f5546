"""The options of format `json`."""

from __future__ import annotations

from typing import Final

from fsql.compiler.connectors import RECORD_LENGTH, Format, Layout, Option, OptionKind

RECORDS: Final = "json.records"
"""The option with the path of the records in documents."""

_UNITS: Final = ("s", "ms", "us", "ns")
TIME_UNITS: Final = (
    Option(
        "timestamp_unit",
        OptionKind.CHOICE,
        "unit of a number for a TIMESTAMP, since 1970",
        _UNITS,
        default="ms",
    ),
    Option(
        "time_unit",
        OptionKind.CHOICE,
        "unit of a number for a TIME, since midnight",
        _UNITS,
        default="us",
    ),
)
"""The options of formats whose times may be numbers."""

FORMAT: Final = Format(
    "json",
    "one JSON object on each line; of files also objects on several lines, and arrays of objects",
    Layout.LINES,
    takes_changes=True,
    options=(
        RECORD_LENGTH,
        *TIME_UNITS,
        Option(
            RECORDS,
            OptionKind.TEXT,
            "where the rows are in documents of a file: `$.Records` for the objects in the array"
            " `Records` of each document, `$` for the documents themselves",
            at_rest=True,
        ),
    ),
    notes="""\
Fields are matched to columns by name.  Unknown fields are ignored, missing ones are NULL.  A STRING
column [takes any value](language.md#json-in-a-string): an object or array is its compact text, a number or
boolean is as it is written; nothing else is converted silently.

A number for a TIMESTAMP counts from 1970, in the unit `timestamp_unit`, one for a TIME from midnight, in the
unit `time_unit`, and one for a DATE is days since 1970.  Nanoseconds are cut off to microseconds.  Numbers in
the first rows of a file that seem to have another unit are a warning (`FSQL-W504`); one that is not of the
years 1 to 9999, or not of a day, makes a malformed row (`FSQL-E520`).

A file need not have one object on each line.  Its beginning shows whether it has: objects may follow each
other in any layout, pretty-printed for example, and may be the elements of an array.  A row is one object,
and its place is where that begins.  With `'json.records' = '$.Records'` each value of the file is a document,
and the rows are the objects in its array `Records`; a deeper one is `$.detail.items`, and a name that is not
a word is written `$['the items']`.  A document may have any length: `max_record_bytes` is for each of its
records, and memory does not grow with it.  A document without that member is a malformed row, and null there
is no row.  Where a document is broken between its records, what follows cannot be read: all of it is one
malformed row.  A file that begins with lines has lines to its end; say `'json.records' = '$'` where only
later records take several.  Other inputs, and files that are followed, have lines.
""",
)
