"""The options of format `debezium-json`."""

from __future__ import annotations

from typing import Final

from fsql.compiler.connectors import RECORD_LENGTH, Format, Layout

FORMAT: Final = Format(
    "debezium-json",
    "the change events of Debezium, one JSON object on each line",
    Layout.LINES,
    takes_changes=True,
    has_envelope=True,
    options=(RECORD_LENGTH,),
    notes="""\
An event has the fields `op`, `before` and `after`, and others, which are ignored; it may be in a field
`payload`, as Debezium writes it with schemas.  The rows are those of format `json`.

A table that is read with a PRIMARY KEY is the relation that the events make, as with `'changes' =
'upsert'`: `c` (create), `u` (update) and `r` (read) add the row in `after`, `d` (delete) removes the row with
the key of the one in `before`.  An update whose `before` has another key removes the row of that key at once;
without `before`, or if it lacks a column of the key, the key in `after` is all there is, and the row of the
old key stays.  So a key that is not that of the database needs whole rows in `before`: in PostgreSQL
`REPLICA IDENTITY FULL`.  Other kinds of events are malformed rows.

Without a PRIMARY KEY `d` and `u` remove a row that equals the one in `before`, which has to be whole: in
PostgreSQL with `REPLICA IDENTITY FULL`.  An update without it is a malformed row.  Its old row is removed and
its new row added at once.

Output has `before` and `after` only: an added row is `c`, or `u` with `before` NULL if it
replaces one of an upsert table; a removed row is `d`.
""",
)
