"""The source of connector `nexmark`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.near_names import near_name
from fsql.compiler.sqltypes import INT, TIMESTAMP
from fsql.connectors.generated.pace import Pace
from fsql.connectors.generated.rows import RowSplit
from fsql.connectors.nexmark.events import (
    DATE_TIME,
    EVENT_TYPE,
    KINDS,
    PROPORTION,
    Nexmark,
    event_numbers,
    kind_range,
    rows_of,
)
from fsql.runtime.arrow_types import struct_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from fsql.compiler.logical import Table
    from fsql.compiler.sqltypes import SqlType
    from fsql.connectors.context import ConnectorContext
    from fsql.formats.settings import Settings
    from fsql.runtime.arrays import Ints
    from fsql.runtime.ports import Split

    Maker = Callable[[Ints], pa.Array]


def open_source(table: Table, settings: Settings, context: ConnectorContext) -> Sequence[Split]:
    """Return the one split of the generator.

    Raises:
        FsqlError: E534, if the table has a column that the events do not have.
    """
    kind = settings.text("events")
    events = Nexmark(settings.number("seed"), settings.number("event_rate"))
    makers = [_column(column.name, column.type, kind, events) for column in table.columns]
    count, rate = settings.optional_number("count"), settings.optional_number("rate")
    return [
        RowSplit(
            settings.connector.name,
            lambda rows: [make(event_numbers(kind, rows)) for make in makers],
            None if count is None else rows_of(kind, count),
            None if rate is None else Pace(rate),
            None,
            context.clock,
        )
    ]


def _column(name: str, sql_type: SqlType, kind: str, events: Nexmark) -> Maker:
    """Return the function that makes a column.

    Raises:
        FsqlError: E534.
    """
    if kind != "all":
        return _field(name, sql_type, kind, events)
    lower = name.lower()
    if lower == EVENT_TYPE and sql_type == INT:
        return lambda numbers: pa.array(_types(numbers), pa.int32())
    if lower == DATE_TIME.lower() and sql_type.without_fraction == TIMESTAMP:
        return _field(DATE_TIME, sql_type, "bid", events)
    if lower in KINDS and sql_type.fields:
        return _event(lower, sql_type, events)
    known = {EVENT_TYPE: INT, DATE_TIME: TIMESTAMP}
    raise _column_error(name, sql_type, known, (*known, *KINDS), "the table of all events")


def _types(numbers: Ints) -> Ints:
    """Return 0 for each person, 1 for each auction and 2 for each bid."""
    ends = [sum(kind_range(kind)) for kind in KINDS]
    return np.searchsorted(ends, numbers % PROPORTION, side="right")


def _event(kind: str, sql_type: SqlType, events: Nexmark) -> Maker:
    """Return the function that makes the rows of one kind of event; others are NULL."""
    fields = [_field(name, type_, kind, events) for name, type_ in sql_type.fields]
    own = list(KINDS).index(kind)

    def make(numbers: Ints) -> pa.Array:
        mask = _types(numbers) != own
        return struct_of([field(numbers) for field in fields], sql_type, mask)

    return make


def _field(name: str, sql_type: SqlType, kind: str, events: Nexmark) -> Maker:
    named = {each.lower(): column for each, column in KINDS[kind].items()}
    found = named.get(name.lower())
    if found is None or found[0] != sql_type.without_fraction:
        known = {each: column[0] for each, column in KINDS[kind].items()}
        raise _column_error(name, sql_type, known, known, f"a {kind}")
    return lambda numbers: found[1](events, numbers)


def _column_error(
    name: str, sql_type: SqlType, known: Mapping[str, SqlType], names: Iterable[str], what: str
) -> FsqlError:
    helps: tuple[str, ...] = ()
    wanted: Any = {each.lower(): type_ for each, type_ in known.items()}.get(name.lower())
    if wanted is not None:
        message = f'column "{name}" of {what} is {wanted}, and the table has {sql_type}'
    else:
        message = f'{what} has no column "{name}" of type {sql_type}'
        near = near_name(name, names)
        listed = ", ".join(names)
        helps = (
            (f"a column with a similar name exists: {near}",) if near else (f"there are {listed}",)
        )
    return FsqlError([Diagnostic("E534", message, helps=helps)])
