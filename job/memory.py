"""Tables that a Python program passes to a script, and the rows of the result.

A table is anything with the Arrow PyCapsule interface (`__arrow_c_stream__`: Arrow, pandas, polars,
DuckDB) or a list of dictionaries.  It is declared by a CREATE TABLE statement that is appended to the script,
so that messages can quote it and the lines of the script keep their numbers.

| Arrow                                    | SQL         |
|------------------------------------------|-------------|
| bool                                     | BOOLEAN     |
| int8                                     | TINYINT     |
| int16, int32, int64                      | SMALLINT, INT, BIGINT |
| uint8, uint16, uint32, uint64            | UTINYINT, USMALLINT, UINT, UBIGINT |
| float16, float32                         | FLOAT       |
| float64                                  | DOUBLE      |
| decimal of up to 38 digits               | DECIMAL     |
| string, also large, as views, dictionaries | STRING    |
| binary, also large, of a fixed size, as views | BYTES   |
| date (checked)                           | DATE        |
| time (nanoseconds are cut off)           | TIME        |
| timestamp (checked; without a zone: UTC) | TIMESTAMP |
| list of these                            | ARRAY       |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.durations import duration_us
from fsql.compiler.records import dataclass
from fsql.compiler.sqltypes import (
    DATE_MAX,
    DATE_MIN,
    FLOATING,
    TIMESTAMP_MAX,
    TIMESTAMP_MIN,
    Kind,
    SqlType,
)
from fsql.runtime.arrow_maps import map_parts, maps_by_key
from fsql.runtime.arrow_schema import is_binary, sql_type_of
from fsql.runtime.arrow_types import arrow_type, octets_of_binary
from fsql.runtime.dataflow.barrier import Released
from fsql.runtime.sink import OpenReply, Sequencer, SinkLostError

if TYPE_CHECKING:
    from fsql.connectors.memory.source import GrowingRows
    from fsql.runtime.batch import Root
    from fsql.runtime.cluster.delivery.delivery import Bundle
    from fsql.runtime.ports import Release
    from fsql.runtime.sink import OpenRequest

_MICROSECONDS: Final = timedelta(microseconds=1)
_TIMES: Final = {
    Kind.DATE: (DATE_MIN, DATE_MAX),
    Kind.TIMESTAMP: (TIMESTAMP_MIN, TIMESTAMP_MAX),
}
"""The least and the greatest value of the kinds for which Arrow has more values."""
_WINDOW: Final = 16


class ArrowStream(Protocol):
    """An object with the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return a capsule of an Arrow stream."""


Rows: TypeAlias = ArrowStream | Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of the program as a table of a query.

    Args:
        rows: an object with the Arrow PyCapsule interface, or a list of dictionaries.
        event_time: the event-time column; without one, rows are ordered by their number.
        delay: by how much a row may be older than the greatest event time so far without being late; a
            `timedelta`, or a text such as "5 s" with the units of options of tables.
    """

    rows: Rows
    event_time: str | None = None
    delay: timedelta | str = timedelta(0)


@dataclass(frozen=True, slots=True)
class Memory:
    """The tables that a program passes to a script, their declarations, and the sink of the result."""

    declarations: str
    tables: Mapping[str, pa.Table | GrowingRows]
    result: MemorySink | None = None


def declare_tables(tables: Mapping[str, Table | Rows]) -> Memory:
    """Return the tables with their declarations, for a script.

    Raises:
        FsqlError: E542, if a column has no SQL type, or a value does not fit it.
    """
    declarations: list[str] = []
    converted: dict[str, pa.Table | GrowingRows] = {}
    for name, given in tables.items():
        table = given if isinstance(given, Table) else Table(given)
        rows = _arrow(name, table.rows)
        types = [_sql_type(name, field) for field in rows.schema]
        columns = [
            stored_column(name, field.name, column, sql_type)
            for field, column, sql_type in zip(rows.schema, rows.columns, types, strict=True)
        ]
        converted[name] = pa.table(columns, names=rows.column_names)
        columns_text = columns_of(zip(rows.column_names, map(str, types), strict=True))
        declarations.append(
            declaration(name, [*columns_text, *watermark_of(name, table.event_time, table.delay)])
        )
    return Memory("\n".join(declarations), converted)


def _arrow(name: str, rows: Rows) -> pa.Table:
    try:
        given = pa.Table.from_pylist(_with_all_keys(rows)) if isinstance(rows, Sequence) else rows
        table = pa.table(given)
    except (pa.ArrowException, TypeError, ValueError, AttributeError) as error:
        message = f'table "{name}" cannot be read: {error}'
        helps = (
            "pass an Arrow table, a pandas or polars data frame, or a list of dictionaries of one kind",
        )
        raise FsqlError([Diagnostic("E542", message, helps=helps)]) from None
    if not table.num_columns:
        helps = ("pass an Arrow table, or a data frame, which has columns even without rows",)
        raise FsqlError([Diagnostic("E542", f'table "{name}" has no columns', helps=helps)])
    return table


def _with_all_keys(rows: Sequence[object]) -> list[Mapping[str, object]]:
    """Return dictionaries of which the first has the keys of all: Arrow takes the columns from it.

    Raises:
        TypeError: if a row is not a dictionary.
    """
    given: list[Mapping[str, object]] = []
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise TypeError(f"row {number} is of type {type(row).__name__}")
        given.append(row)
    names = dict.fromkeys(name for row in given for name in row)
    return [{**names, **row} for row in given[:1]] + given[1:]


def _sql_type(table: str, field: pa.Field) -> SqlType:
    found = sql_type_of(field.type)
    if found is None:
        message = f'column "{field.name}" of table "{table}" has no SQL type: it is {field.type}'
        helps = ("cast the column before passing the table, or omit it",)
        raise FsqlError([Diagnostic("E542", message, helps=helps)])
    return found


def stored_column(
    table: str, name: str, column: pa.ChunkedArray, sql_type: SqlType
) -> pa.ChunkedArray:
    """Return the column in the Arrow type of its SQL type.

    Raises:
        FsqlError: E542, if a value does not fit.
    """
    wanted = arrow_type(sql_type)
    try:
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if sql_type.contains(Kind.ROW, Kind.BYTES):
            chunks = [_positional(chunk, sql_type) for chunk in column.chunks]
            column = pa.chunked_array(chunks, wanted)
        if pa.types.is_date(column.type):
            column = column.cast(pa.date32())
        if pa.types.is_time(column.type):
            column = column.cast(pa.time64("us"), safe=False)
        converted = column.cast(wanted)
    except pa.ArrowException as error:
        reason = str(error).splitlines()[0]
        message = f'column "{name}" of table "{table}" does not fit {sql_type}: {reason}'
        raise FsqlError([Diagnostic("E542", message)]) from None
    if sql_type.kind in _TIMES:
        low, high = _TIMES[sql_type.kind]
        least, greatest = pc.min_max(converted.cast(pa.int64())).values()
        if least.is_valid and not (least.as_py() >= low and greatest.as_py() <= high):
            message = f'column "{name}" of table "{table}" has times outside of the years 1 to 9999'
            raise FsqlError([Diagnostic("E542", message)])
    if sql_type.kind in FLOATING:  # one canonical NaN
        converted = pc.if_else(pc.is_nan(converted), np.nan, converted)
    return converted


def _positional(array: pa.Array, sql_type: SqlType) -> pa.Array:
    """Return an array in the type of table columns: with other names of fields, and bytes as texts.

    Raises:
        ArrowInvalid: if a map has a key that is NULL or occurs twice.
    """
    mask = array.is_null() if array.null_count else None
    wanted = arrow_type(sql_type)
    if sql_type.fields:
        children = [*map(_positional, array.flatten(), sql_type.field_types)]
        return pa.StructArray.from_arrays(children, fields=list(wanted), mask=mask)
    if sql_type.kind is Kind.MAP:
        return _maps(array, sql_type)
    if sql_type.element is not None:
        lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy()
        offsets = pa.array(np.append(0, np.cumsum(lengths)), pa.int32())
        elements = _positional(array.flatten(), sql_type.element)
        return pa.ListArray.from_arrays(offsets, elements, type=wanted, mask=mask)
    return octets_of_binary(array) if is_binary(array.type) else array.cast(wanted)


def _maps(array: pa.MapArray, sql_type: SqlType) -> pa.ListArray:
    parts = map_parts(array)
    keys, values = _positional(parts.keys, sql_type.key), _positional(parts.values, sql_type.value)
    maps = maps_by_key(parts._replace(keys=keys, values=values), sql_type)
    if maps.null_count > array.null_count:
        raise pa.ArrowInvalid("a map has a key that is NULL or occurs twice")
    return maps


def columns_of(columns: Iterable[tuple[str, str]]) -> list[str]:
    """Return the columns of a CREATE TABLE statement: names and types, as SQL text."""
    return [f"{quote(name)} {sql_type}" for name, sql_type in columns]


def watermark_of(table: str, event_time: str | None, delay: timedelta | str) -> list[str]:
    """Return the WATERMARK of a CREATE TABLE statement, if the table has an event time.

    Raises:
        FsqlError: E542, if the delay is not a duration.
    """
    if event_time is None:
        return []
    time, delay_us = quote(event_time), _delay_us(table, delay)
    seconds = f"{delay_us // 10**6}.{delay_us % 10**6:06d}"
    return [f"WATERMARK FOR {time} AS {time} - INTERVAL '{seconds}' SECOND"]


def _delay_us(table: str, delay: object) -> int:
    found = None
    if isinstance(delay, str):
        found = duration_us(delay)
    elif isinstance(delay, timedelta) and delay >= timedelta(0):
        found = delay // _MICROSECONDS
    if found is None:
        message = f'the delay of table "{table}" is not a duration: it is {delay!r}'
        helps = ('write datetime.timedelta(seconds=5) or "5 s"',)
        raise FsqlError([Diagnostic("E542", message, helps=helps)])
    return found


def declaration(name: str, parts: Iterable[str], options: str = "") -> str:
    """Return the CREATE TABLE statement of a table of the program."""
    return (
        f"CREATE TABLE {quote(name)} ({', '.join(parts)}) WITH ('connector' = 'memory'{options});"
    )


def quote(name: str) -> str:
    """Return a name quoted for SQL, whatever its characters."""
    return '"' + name.replace('"', '""') + '"'


class MemorySink:
    """Buffers the result of a query: releases, in order, until they are fetched."""

    def __init__(self) -> None:
        self._releases: list[Release] = []
        self._sequencer: Sequencer | None = None
        self._acknowledged: list[Root] = []

    def fetch(self) -> list[Release]:
        """Return the releases since the last call."""
        releases, self._releases = self._releases, []
        return releases

    @property
    def missing_reason(self) -> str | None:
        """Return None: the sink is always present."""
        return None

    @property
    def descriptor(self) -> int | None:
        """Return None: acknowledgements are immediate."""
        return None

    def open(self, opening: OpenRequest) -> OpenReply:
        """Begin an epoch, with an empty result."""
        self._sequencer = Sequencer(opening.begins)
        return OpenReply(opening.begins, _WINDOW)

    def deliver(self, bundle: Bundle) -> None:
        """Store a bundle, or a part of one.

        Raises:
            SinkLostError: if it does not follow the last one.
        """
        if self._sequencer is None:
            raise SinkLostError("the result is closed")
        if self._sequencer.accepts(bundle.follows, bundle.ends, bundle.part):
            if bundle.contents is not None:
                assert isinstance(bundle.contents, Released)
                self._releases.append(bundle.contents.release)
            if not bundle.last:
                return
            self._sequencer.on_stored(bundle.ends)
        self._acknowledged.append(self._sequencer.position)

    def take_acknowledged(self) -> Sequence[Root]:
        """Return the positions stored since the last call."""
        acknowledged, self._acknowledged = self._acknowledged, []
        return acknowledged

    def wait(self, seconds: float) -> None:
        """Return immediately: no delivery is in progress."""

    def sync(self) -> None:
        """Return immediately: the result is in memory only."""

    def close(self) -> None:
        """Refuse further bundles; stored releases can still be fetched."""
        self._sequencer = None
