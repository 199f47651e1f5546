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

A table that is read has a PRIMARY KEY, and is the relation that the events make, as with
`'changes' = 'upsert'`: `c` (create), `u` (update) and `r` (read) give the row in `after`, `d` (delete) takes
away the row with the key of the one in `before`.  An update never changes the key: Debezium writes a deletion
and a creation for that.  Other kinds of events are malformed rows.

What is written has `before` and `after` only: a row that is added as `c`, or as `u` with `before` NULL if it
replaces one of an upsert table, and a row that is taken away as `d`.
""",
)
