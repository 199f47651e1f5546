"""Tables whose rows are changes, as upserts or retractions: the kind of each row, and the resulting table.

The kind of a change is in a field that is not a column of the table, as a sink writes it. NULL counts as
`+U`. Without a PRIMARY KEY `-U` and `-D` remove an equal row, and an event with the old row and the new one
removes the one and adds the other at its position.

With a PRIMARY KEY a row replaces that of its key. Of upserts `-D` removes the row of its key, and `-U` is
ignored; an event removes the row of the old key, if it has one and the new row has another. Retractions are
whole rows: a removal has an effect only if it equals the row that is kept, because another row may have got
the key meanwhile. A `-U` and the row after it in its split are one update, at the position of the latter, so
that a row whose key stays is replaced at once. The same holds for the two rows of an event.

    the rows  →  Filter: not -U  →  present unless -D; compared if -D has more than the key  ──┐
              →  Filter: the row before is -U, and this is no update by the same key           ├→  Union
                   →  the row before, not present, compared  ──────────────────────────────────┘
              →  ApplyChanges
"""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from fsql.compiler.binder.changelogs.changes import operation_column
from fsql.compiler.binder.report import not_implemented, refusal
from fsql.compiler.bound.pending import replace_pending
from fsql.compiler.connectors import IMAGES, OLD_KEY, REQUIRED
from fsql.compiler.diagnostics import Label
from fsql.compiler.expression import ColumnRef, Expression, Literal
from fsql.compiler.functions.calls import call, combine_balanced
from fsql.compiler.functions.null_safe import instead_of_null
from fsql.compiler.logical import ApplyChanges, Changes, Filter, Plan, Scan, Union, mark_count
from fsql.compiler.node import walk
from fsql.compiler.planner.rows import project
from fsql.compiler.records import dataclass
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BOOLEAN, STRING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from fsql.compiler.binder.catalog import TableEntry
    from fsql.compiler.binder.context import Context
    from fsql.compiler.schema import Schema
    from fsql.compiler.text.source import Span


_UNAVAILABLE: Final = Column("after.unavailable", STRING)
"""The column with the marks of the values that an event leaves out: see `logical.ApplyChanges`."""
_OPERATION: Final = ColumnRef(STRING, nullable=True, index=0)


@dataclass(frozen=True, slots=True)
class ChangeColumns:
    """The columns that are read from a table, event time as an expression over them, and added options."""

    columns: Schema
    event_time: Expression | None
    options: tuple[tuple[str, str], ...] = ()
    replaced: bool = False
    """See `Table.replaced`."""


def is_change_source(entry: TableEntry) -> bool:
    """Return whether the rows that are read from a table are changes."""
    return _has_envelope(entry) or entry.option("changes") not in {None, Changes.APPEND.value}


def _retracts(entry: TableEntry) -> bool:
    return entry.option("changes") == Changes.RETRACT.value


def _has_envelope(entry: TableEntry) -> bool:
    return entry.format is not None and entry.format.has_envelope


def read_columns(entry: TableEntry, context: Context, span: Span) -> ChangeColumns:
    """Return the columns that are read from a table; if its rows are changes, the kind is the first.

    Raises:
        Refusal: E301, E311, E223.
    """
    if not is_change_source(entry):
        return ChangeColumns(entry.columns, entry.event_time)
    if entry.metadata and not entry.connector.has_message_metadata:
        raise not_implemented(
            "PARTITIONED BY of a table that is read as changes"
            if entry.partitioned_by
            else "metadata columns of a table that is read as changes",
            span,
            help="read it with 'changes' = 'append'",
        )
    if entry.row_time:
        raise not_implemented(
            "PROCTIME() in a table that is read as changes",
            span,
            help="read it with 'changes' = 'append'",
        )
    if entry.primary_key is None:
        _check_whole_rows(entry, span)
    operation = operation_column(entry, Changes.UPSERT, span)
    by_whole_rows = entry.primary_key is None or _retracts(entry)
    if by_whole_rows and _has_envelope(entry):
        return _both_images(entry, operation, context)
    key, required = entry.primary_key or (), _required(entry)
    columns = tuple(
        replace(column, nullable=index in required or (column.nullable and index not in key))
        for index, column in enumerate(entry.columns)
    )
    indexes = ",".join(str(1 + index) for index in required)
    options = ((REQUIRED, indexes),) if required else ()
    event_time = entry.event_time
    if event_time is not None:
        event_time = _over_changes(event_time, columns, context)
    if not _has_envelope(entry):
        read = (Column(operation, STRING), *columns)
        return ChangeColumns(read, event_time, options, bool(key) and _retracts(entry))
    old = tuple(
        replace(columns[i], name=f"before.{columns[i].name}", nullable=True, time_attribute=False)
        for i in key
    )
    option = (OLD_KEY, ",".join(map(str, key)))
    read = (Column(operation, STRING), *columns, *old, _UNAVAILABLE)
    return ChangeColumns(read, event_time, (option, *options))


def _over_changes(event_time: Expression, columns: Schema, context: Context) -> Expression:
    """Return event time over changes, which begin with the operation; a deletion lacks required columns."""
    return replace_pending(
        event_time,
        lambda part: (
            ColumnRef(part.type, columns[part.index].nullable, 1 + part.index)
            if isinstance(part, ColumnRef)
            else None
        ),
        context.source_spans,
    )


def _required(entry: TableEntry) -> list[int]:
    """Return the columns that a row needs, but not its deletion: it needs the key, and its event time."""
    key = entry.primary_key
    return [
        index
        for index, each in enumerate(entry.columns)
        if key and index not in key and not each.nullable and not each.time_attribute
    ]


def _both_images(entry: TableEntry, operation: str, context: Context) -> ChangeColumns:
    """Return the columns of events without a key: of the new row and of the old one, which may be missing."""
    width = len(entry.columns)
    new = tuple(replace(each, nullable=True, time_attribute=False) for each in entry.columns)
    old = tuple(replace(each, name=f"before.{each.name}") for each in new)

    def of_either(part: Expression) -> Expression | None:
        if not isinstance(part, ColumnRef):
            return None
        return call(
            "coalesce",
            *(ColumnRef(part.type, nullable=True, index=i + part.index) for i in (1, 1 + width)),
        )

    event_time = entry.event_time
    if event_time is not None:
        event_time = replace_pending(event_time, of_either, context.source_spans)
    key = entry.primary_key or ()
    required = ",".join(
        str(i) for i, each in enumerate(entry.columns) if i in key or not each.nullable
    )
    return ChangeColumns((Column(operation, STRING), *new, *old), event_time, ((IMAGES, required),))


def _check_whole_rows(entry: TableEntry, span: Span) -> None:
    """Check that a table without a key can be read as changes: an equal row is removed.

    Raises:
        Refusal: E301, E311.
    """
    if entry.option("changes") not in {None, Changes.RETRACT.value}:
        raise refusal(
            "E311",
            f'table "{entry.name}" is read as changes, and has no PRIMARY KEY',
            span,
            secondary=(Label(entry.span, "declared without one"),),
            note="a row replaces the row of its key",
            help="add PRIMARY KEY (…) NOT ENFORCED, or write 'changes' = 'retract' for whole rows",
        )
    if entry.metadata:
        raise not_implemented(
            "metadata columns of a table that is read as changes without a PRIMARY KEY",
            span,
            help="add PRIMARY KEY (…) NOT ENFORCED, or read it with 'changes' = 'append'",
        )


def apply_changes(entry: TableEntry, changes: Scan, context: Context, span: Span) -> Plan:
    """Return the table that results from the changes, with the declared columns."""
    schema = changes.schema
    read = (*entry.columns, *(each.column for each in entry.metadata))
    names = [column.name for column in read]
    columns = [ColumnRef(column.type, column.nullable, i) for i, column in enumerate(schema)]
    if entry.primary_key is None:
        rows: Plan = changes
        is_added = call("and", _operation_is_not("-U"), _operation_is_not("-D"))
        if _has_envelope(entry):
            rows = _images(entry, changes, context, span)
            is_added = ColumnRef(BOOLEAN, nullable=False, index=0)
        values = tuple(
            ColumnRef(column.type, column.nullable, i)
            for i, column in enumerate(rows.schema[1:], start=1)
        )
        table = ApplyChanges(rows, values, is_added, (), counted=True)
        context.source_spans.add(table, span)
        return table
    if _retracts(entry):
        return _retractions_by_key(entry, changes, context, span)
    if _has_envelope(entry):
        return _events_by_key(entry, changes, context, span)
    keys = [1 + index for index in entry.primary_key]
    order = [*keys, *(i for i in range(1, len(schema)) if i not in keys)]
    table = ApplyChanges(
        Filter(changes, _operation_is_not("-U")),
        tuple(columns[i] for i in keys),
        _operation_is_not("-D"),
        tuple(columns[i] for i in order[len(keys) :]),
    )
    return project(table, _declared(entry, table, order), names)


def _events_by_key(entry: TableEntry, events: Scan, context: Context, span: Span) -> Plan:
    """Return the table of events by its key: the row of each, and the removal of a key that it changes.

    Both are at the position of the event. The removal has the event time of the new row: in a temporal join
    the version of the old key ends where that of the new key begins.
    """
    again = Scan(events.table, context.scan_numbers.take(1, span))
    context.source_spans.add(again, span)
    width = len(entry.columns)
    columns = [ColumnRef(each.type, each.nullable, i) for i, each in enumerate(events.schema)]
    row, old, marks = columns[1 : 1 + width], columns[1 + width : -1], columns[-1]
    assert entry.primary_key is not None
    key = entry.primary_key
    differs: Expression = Literal(BOOLEAN, nullable=False, value=False)
    for index, before in zip(key, old, strict=True):
        differs = call("or", differs, call("ne", row[index], before))
    differs = call("coalesce", differs, Literal(BOOLEAN, nullable=False, value=False))
    for before in old:
        differs = call("and", call("is_not_null", before), differs)
    moved = Filter(Filter(again, _operation_is_not("-D")), differs)
    left: list[Expression] = list(row)
    for index, before in zip(key, old, strict=True):
        left[index] = _not_null(before)
    names = ["present", *(each.name for each in entry.columns), _UNAVAILABLE.name]
    present = _operation_is_not("-D")
    removed = Literal(BOOLEAN, nullable=False, value=False)
    none = Literal(STRING, nullable=True, value=None)
    rows = Union(
        (
            project(events, [present, *row, marks], names),
            project(moved, [removed, *left, none], names),
        )
    )
    made = [ColumnRef(each.type, each.nullable, i) for i, each in enumerate(rows.schema)]
    keys = [1 + index for index in key]
    order = [*keys, *(i for i in range(1, 1 + width) if i not in keys)]
    places = list(accumulate((mark_count(each.type) for each in entry.columns), initial=0))
    table = ApplyChanges(
        rows,
        tuple(made[i] for i in keys),
        made[0],
        tuple(made[i] for i in order[len(keys) :]),
        unavailable=made[-1],
        marks=tuple(places[i - 1] for i in order[len(keys) :]),
    )
    context.source_spans.add(table, span)
    return project(table, _declared(entry, table, order), names[1:-1])


def _retractions_by_key(entry: TableEntry, changes: Scan, context: Context, span: Span) -> Plan:
    """Return the table of whole rows by its key."""
    again = Scan(changes.table, context.scan_numbers.take(1, span))
    context.source_spans.add(again, span)
    key = entry.primary_key
    assert key is not None
    times = _time_columns(entry).difference(key)
    compared = [i for i in range(len(entry.columns)) if i not in key and i not in times]
    rows = Union(
        (
            _changed_rows(entry, changes, compared),
            _replaced_rows(entry, again, times, compared),
        )
    )
    made = [ColumnRef(each.type, each.nullable, i) for i, each in enumerate(rows.schema)]
    present, whole, *columns = made
    order = [*key, *(i for i in range(len(columns)) if i not in key)]
    table = ApplyChanges(
        rows,
        tuple(columns[i] for i in key),
        present,
        tuple(columns[i] for i in order[len(key) :]),
        whole=whole if compared else None,
        compared=tuple(order.index(i) - len(key) for i in compared),
    )
    context.source_spans.add(table, span)
    names = [each.name for each in rows.schema[2:]]
    return project(table, _declared(entry, table, [1 + i for i in order]), names)


def _changed_rows(entry: TableEntry, changes: Scan, compared: Sequence[int]) -> Plan:
    """Return the new row of each change, and the row that is deleted if that is one row."""
    columns = [ColumnRef(each.type, each.nullable, i) for i, each in enumerate(changes.schema)]
    row = columns[1 : 1 + len(entry.columns)]
    names = ["present", "whole", *(each.name for each in entry.columns)]
    if _has_envelope(entry):
        new = [_read_as(entry, i, each) for i, each in enumerate(row)]
        is_new = Filter(changes, _operation_is_not("-D"))
        return project(is_new, [_truth(value=True), _truth(value=False), *new], names)
    present = _operation_is_not("-D")
    whole = call("and", call("not", present), _any_value(row, compared))
    metadata = columns[1 + len(row) : 1 + len(row) + len(entry.metadata)]
    names += [each.column.name for each in entry.metadata]
    is_change = Filter(changes, _operation_is_not("-U"))
    return project(is_change, [present, whole, *row, *metadata], names)


def _replaced_rows(
    entry: TableEntry, changes: Scan, times: Collection[int], compared: Sequence[int]
) -> Plan:
    """Return the old row of each change, unless its new row has the same key.

    It has the event time of the new row: in a temporal join the version of the old key ends where that of the
    new key begins.
    """
    width, metadata = len(entry.columns), len(entry.metadata)
    columns = [ColumnRef(each.type, each.nullable, i) for i, each in enumerate(changes.schema)]
    row, added, old = columns[1 : 1 + width], columns[1 + width :][:metadata], columns[-width:]
    key = entry.primary_key or ()
    is_update = _operation_is_not("-D")
    if _has_envelope(entry):
        exists = _operation_is_not("+I")
        whole = call("or", is_update, _any_value(old, compared))
    else:
        old = columns[-width - metadata :][:width]
        exists = call("is_not_null", old[key[0]])
        is_update = call("and", is_update, _operation_is_not("-U"))
        whole = _truth(value=True)
    stays = is_update
    for index in key:
        same = call("eq", row[index], old[index])
        stays = call("and", stays, call("coalesce", same, _truth(value=False)))
    removed = Filter(Filter(changes, exists), call("not", stays))
    left: list[Expression] = [_read_as(entry, i, each) for i, each in enumerate(old)]
    for index in times:
        new = _read_as(entry, index, row[index])
        left[index] = call("coalesce", row[index], left[index]) if _has_envelope(entry) else new
    names = ["present", "whole", *(each.name for each in entry.columns)]
    names += [each.column.name for each in entry.metadata]
    return project(removed, [_truth(value=False), whole, *left, *added], names)


def _time_columns(entry: TableEntry) -> set[int]:
    """Return the columns from which event time is computed."""
    parts = () if entry.event_time is None else walk(entry.event_time)
    return {each.index for each in parts if isinstance(each, ColumnRef)}


def _any_value(row: Sequence[Expression], indexes: Sequence[int]) -> Expression:
    """Return whether a row has a value in one of the columns."""
    found = [call("is_not_null", row[index]) for index in indexes]
    return combine_balanced("or", found) if found else _truth(value=False)


def _read_as(entry: TableEntry, index: int, value: ColumnRef) -> Expression:
    """Return a value of a column that is NOT NULL where the column of the table of changes is."""
    key, column = entry.primary_key or (), entry.columns[index]
    required = index in key or (column.time_attribute and not column.nullable)
    return _not_null(value) if required and value.nullable else value


def _declared(entry: TableEntry, table: ApplyChanges, order: Sequence[int]) -> list[Expression]:
    """Return the columns of a table in the order of their declaration, NOT NULL as they are declared.

    `order` has the columns that are read, of which the first is the kind of a change, in that of the table.
    """
    required = _required(entry)
    declared: list[Expression] = []
    for index in range(len(order)):
        place = order.index(1 + index)
        column = table.schema[place]
        value = ColumnRef(column.type, column.nullable, place)
        declared.append(_not_null(value) if index in required else value)
    return declared


def _images(entry: TableEntry, events: Scan, context: Context, span: Span) -> Plan:
    """Return the new row and the old row of each event, with whether it is the new one."""
    again = Scan(events.table, context.scan_numbers.take(1, span))
    context.source_spans.add(again, span)
    width = len(entry.columns)
    branches = []
    for scan, lacks, added, first in ((events, "-D", True, 1), (again, "+I", False, 1 + width)):
        image: list[Expression] = []
        for index, each in enumerate(entry.columns):
            value = ColumnRef(each.type, nullable=True, index=first + index)
            image.append(value if each.nullable else _not_null(value))
        has = Literal(BOOLEAN, nullable=False, value=added)
        names = ["added", *(each.name for each in entry.columns)]
        branches.append(project(Filter(scan, _operation_is_not(lacks)), [has, *image], names))
    return Union(tuple(branches))


def _not_null(value: Expression) -> Expression:
    """Return a value that is not NULL in the rows that are left: the other argument is never used."""
    return call("coalesce", value, instead_of_null(value.type))


def _truth(*, value: bool) -> Literal:
    return Literal(BOOLEAN, nullable=False, value=value)


def _operation_is_not(operation: str) -> Expression:
    differs = call("ne", _OPERATION, Literal(STRING, nullable=False, value=operation))
    return call("coalesce", differs, Literal(BOOLEAN, nullable=False, value=True))
