"""The options of format `debezium-json`."""

from __future__ import annotations

from typing import Final

from fsql.compiler.connectors import RECORD_LENGTH, Format, Layout, Option, OptionKind
from fsql.formats.json.options import TIME_UNITS

FORMAT: Final = Format(
    "debezium-json",
    "the change events of Debezium, one JSON object on each line",
    Layout.LINES,
    takes_changes=True,
    has_envelope=True,
    options=(
        RECORD_LENGTH,
        *TIME_UNITS,
        Option(
            "unavailable_value",
            OptionKind.TEXT,
            "the placeholder for values that events leave out: `unavailable.value.placeholder` of Debezium",
            default="__debezium_unavailable_value",
            elsewhere=("unavailable.value.placeholder", "debezium.unavailable.value.placeholder"),
        ),
    ),
    notes="""\
An event has the fields `op`, `before` and `after`, and others, which are ignored; it may be in a field
`payload`, as Debezium writes it with schemas.  The rows are those of format `json`, except for values whose
type the schema names.

A table that is read with a PRIMARY KEY is the relation that the events make, as with `'changes' =
'upsert'`: `c` (create), `u` (update) and `r` (read) add the row in `after`, `d` (delete) removes the row with
the key of the one in `before`.  An update whose `before` has another key removes the row of that key at once;
without `before`, or if it lacks a column of the key, the key in `after` is all there is, and the row of the
old key stays.

So a key that is not that of the database needs whole rows in `before`: in PostgreSQL `REPLICA IDENTITY FULL`.
If such a key can go from one row to another, write `'changes' = 'retract'`: then a row in `before` removes
the row of its key only if it equals that in all columns but the event time.  In a `d` it may also have the
key, and the event time, alone.  The state has all columns of the rows then.

A tombstone, which is `null`, is passed over: it follows the deletion of its row.  So is a message that an
application has written to the log (`m`).  A truncation (`t`) is a malformed row (`FSQL-E528`): it names no
key, and the rows that it removes are kept by key.  Debezium writes none unless `skipped.operations` of the
connector says so.  A new job that begins with the events after it has the right rows, since the table is
empty there; with `'on_error' = 'reject'` the job goes on, and the removed rows stay.  Other kinds of events
are malformed rows too, such as those of heartbeats and transactions, which have topics of their own.

**Schemas.**  Where an event has a `schema` (`schemas.enable` of the JSON converter), values are read by the
type that it names, of Debezium (`io.debezium.time.…`, `io.debezium.data.…`) or of Kafka Connect:

| type | value | column |
|---|---|---|
| `Date` | days since 1970 | DATE, TIMESTAMP |
| `Time`, `MicroTime`, `NanoTime` | milliseconds, microseconds, nanoseconds of a day | TIME |
| `Timestamp`, `MicroTimestamp`, `NanoTimestamp` | the same since 1970 | TIMESTAMP |
| `ZonedTimestamp`, `ZonedTime`, `IsoTimestamp`, `IsoTime`, `IsoDate` | text | that time in UTC |
| `Decimal`, `VariableScaleDecimal` | an integer in Base64, with a scale | DECIMAL, any number |
| `Bits` | octets in Base64, the lowest first | STRING (`101`), integers, BOOLEAN, BYTES |
| `Json` | text | STRING; ROW, MAP and ARRAY get what is in the text |
| `Enum`, `EnumSet`, `Uuid`, `Xml`, `Interval` | text | STRING |
| `Point`, `Geometry`, `Geography` | an object | STRING: its JSON; ROW |
| other names, `Year`, `MicroDuration` | as without a schema | |

Without a schema, numbers are read as by format `json`: days for a DATE, and the units of `timestamp_unit` and
`time_unit`, which depend on `time.precision.mode` of the connector and on the columns of the database.

A STRING column gets a time, a day or a decimal as fsql writes it, and a column of integers the number of a
time as it is.  This holds within arrays, maps and rows as well.  Nanoseconds are cut off.  A time in a column
of another kind of time is a malformed row.

**Values that are left out.**  PostgreSQL does not log a long value again (TOAST) if the row changes and it
does not; Debezium writes `__debezium_unavailable_value` in its place, or what `unavailable_value` says.  The
column then keeps the value of the row that the event replaces, or gets that of `before`, if it is there.  It
does so for every type: the placeholder may be a text, bytes, an array, a map or a field of a ROW.

```json
{"before": null, "after": {"id": 1, "title": "a", "body": "a long text"}, "op": "c"}
{"before": null, "after": {"id": 1, "title": "b", "body": "__debezium_unavailable_value"}, "op": "u"}
```

After the second event the row of `1` has the title `b` and the body `a long text`.  An event that leaves out
a value where no row has it is a malformed row (`FSQL-E527`): the events begin in the middle, or the event
changes the key.  With `'on_error' = 'null_field'` it is a reject as well, since NULL would be another value.
Where no earlier row has the value, the reject has the number of its row and no line, since it is found where
the rows of the table are kept.  In format `json` the placeholder is a text like any other.

Without a PRIMARY KEY `d` and `u` remove a row that equals the one in `before`, which has to be whole: in
PostgreSQL with `REPLICA IDENTITY FULL`.  An update without it is a malformed row, and so
is one that leaves out a value which `before` does not have.  Its old row is removed and
its new row added at once.

Output has `before` and `after` only: an added row is `c`, or `u` with `before` NULL if it
replaces one of an upsert table; a removed row is `d`.
""",
)
