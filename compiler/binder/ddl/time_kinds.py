"""The kind of time of each of a job's tables.

A table with a WATERMARK has event time; an option sets the kind explicitly.  Without either, a live table has
the arrival times of its rows if a query uses the time of a row.  The default is static if some table of the
job has event time or arrival times, and row numbers otherwise.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fsql.compiler.binder.report import refusal
from fsql.compiler.diagnostics import Label
from fsql.compiler.logical import (
    AssignRowTime,
    Insert,
    Job,
    Plan,
    Scan,
    TimeKind,
    operators,
    tables,
)
from fsql.compiler.planner.rows import column_refs, project, replace_scans

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from fsql.compiler.binder.catalog import TableEntry


_TIMES_OF_CLOCKS: Final = (TimeKind.EVENT, TimeKind.ARRIVAL)


def decide_times(
    inserts: Sequence[Insert], entries: Mapping[int, TableEntry], looked_up: Collection[int]
) -> tuple[Insert, ...]:
    """Return the INSERTs with the kind of time of every table decided; `entries` are the tables by ordinal.

    Those of `looked_up` come before others, although no table has event time.

    Raises:
        Refusal: E312, if the kinds cannot be combined.
    """
    read = [entries[table.ordinal] for table in Job(tuple(inserts)).tables]
    timed = {
        node.table.ordinal
        for insert in inserts
        for node in operators(insert.query)
        if isinstance(node, Scan) and node.table.row_time
    }
    lasting = {
        table.ordinal
        for insert in inserts
        for node in operators(insert.query)
        if isinstance(node, AssignRowTime) and not node.at_rest
        for table in tables(node)
    }
    times = {
        entry.ordinal: _own_time(
            entry, timed=entry.ordinal in timed, lasting=entry.ordinal in lasting
        )
        for entry in read
    }
    eventful = [entry for entry in read if times[entry.ordinal] in _TIMES_OF_CLOCKS]
    if eventful:
        _check_mix(read, eventful[0])
    undecided = TimeKind.START if eventful else TimeKind.OFFSET

    def decide_time(scan: Scan) -> Plan:
        table = scan.table
        own = TimeKind.START if table.ordinal in looked_up else undecided
        time, row_time = times[table.ordinal] or own, table.ordinal in timed
        made = Scan(replace(table, time=time, row_time=row_time), scan.scan_number)
        if row_time == table.row_time:
            return made
        names = [column.name for column in scan.schema]
        return project(made, column_refs(made)[: len(names)], names)

    return tuple(
        Insert(insert.sink, replace_scans(insert.query, decide_time)) for insert in inserts
    )


def _own_time(entry: TableEntry, *, timed: bool, lasting: bool) -> TimeKind | None:
    """Return the kind of time of a table, None if it depends on the other tables.

    Raises:
        Refusal: E327, if a query needs the time of rows that have none.
    """
    if not (timed or lasting) or entry.time in _TIMES_OF_CLOCKS:
        return entry.time
    if entry.time is None and entry.connector.logs_arrival:
        return TimeKind.ARRIVAL
    raise refusal(
        "E327",
        f'rows of table "{entry.name}" have no time '
        + (
            "for PROCTIME() and NOW()"
            if timed
            else "for PROCTIME(), or by which state could expire"
        ),
        entry.span,
        note="without a WATERMARK the rows of a source that can be read again have no time",
        help="declare event time: WATERMARK FOR at AS at - INTERVAL '5' SECOND",
    )


def _check_mix(read: Sequence[TableEntry], eventful: TableEntry) -> None:
    for entry in read:
        if entry.time is TimeKind.OFFSET:
            raise refusal(
                "E312",
                f'table "{entry.name}" is ordered by row number,'
                f' and table "{eventful.name}" has event time',
                entry.option_spans["time"],
                secondary=(Label(eventful.span, "has a WATERMARK"),),
                note="rows of both tables have no common order",
                help="make it a static table: 'time' = 'start'",
            )
