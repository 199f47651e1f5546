"""The kind of time of each of a job's tables.

A table with a WATERMARK has event time; an option sets the kind explicitly.  The default is static if some
table of the job has event time, and row numbers otherwise.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler.binder.relation import replace_scans
from fsql.compiler.binder.report import refusal
from fsql.compiler.diagnostics import Label
from fsql.compiler.logical import Insert, Job, Scan, Table, TimeKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.binder.catalog import TableEntry


def decide_times(
    inserts: Sequence[Insert], entries: Mapping[int, TableEntry]
) -> tuple[Insert, ...]:
    """Return the INSERTs with the time of every table decided; `entries` are those by ordinal.

    Raises:
        Refusal: E312, if the kinds cannot be combined.
    """
    read = [entries[table.ordinal] for table in Job(tuple(inserts)).tables]
    eventful = [entry for entry in read if entry.time is TimeKind.EVENT]
    if eventful:
        _check_mix(read, eventful[0])
    undecided = TimeKind.START if eventful else TimeKind.OFFSET

    def decided(table: Table) -> Table:
        if entries[table.ordinal].time is not None:
            return table
        return replace(table, time=undecided)

    def decided_scan(scan: Scan) -> Scan:
        return Scan(decided(scan.table), scan.scan_number)

    return tuple(
        Insert(insert.sink, replace_scans(insert.query, decided_scan)) for insert in inserts
    )


def _check_mix(read: Sequence[TableEntry], eventful: TableEntry) -> None:
    for entry in read:
        if entry.time is TimeKind.OFFSET:
            raise refusal(
                "E312",
                f'table "{entry.name}" is numbered by its rows,'
                f' and table "{eventful.name}" has event time',
                entry.option_spans["time"],
                secondary=(Label(eventful.span, "has a WATERMARK"),),
                note="rows of both tables have no common order",
                help="make it a static table: 'time' = 'start'",
            )
