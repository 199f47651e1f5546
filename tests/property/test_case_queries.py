"""Every query of the case files, over random rows: all ways of running it release the same.

The case files show what queries bind to; this runs them.  Their tables have no input of their own, so rows
are drawn by column type, with few distinct values, NULLs where a column allows them, and times that meet.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

import pytest

from fsql.compiler.connectors import IMAGES, OLD_KEY
from fsql.compiler.logical import TimeKind, mark_count
from fsql.compiler.pipeline import compile_script
from fsql.compiler.sqltypes import Kind
from fsql.compiler.text.source import SourceText
from fsql.connectors.declared import DECLARED
from fsql.tests.case_files import read_cases
from fsql.tests.property.cases import Case
from fsql.tests.property.check import check
from fsql.tests.property.inputs import OPERATIONS, change_of_rows
from fsql.tests.property.values import random_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.expression import Value
    from fsql.compiler.logical import Table
    from fsql.compiler.schema import Column
    from fsql.tests.property.inputs import Row, Splits

_CASES: Final = Path(__file__).parents[1] / "cases"
_COMMANDS: Final = ("bind", "explain", "optimize")

_ROWS: Final = 8
_DRAWS_MAX: Final = 4
"""A query that releases nothing, or ends with the error of a row, is run again over other rows."""

_NOON: Final = 1_700_000_000_000_000


def queries() -> list[tuple[str, str]]:
    """Return the scripts of the case files that compile, with the file and line of each."""
    found = []
    for path in sorted(_CASES.glob("*/*.test")):
        tables = ""
        for case in read_cases(path.read_text(encoding="utf-8")):
            command = case.command.split()[0]
            if command == "tables":
                tables += case.input
            elif command in _COMMANDS:
                name = f"{path.relative_to(_CASES)}:{case.line}"
                found.append((name, tables + case.input))
    return found


def rows_of(random: Random, table: Table, rows_max: int = _ROWS) -> list[Row]:
    """Return random rows of a table; its times go on from row to row, now and then back.

    All texts of a table may be times, at a clock change of Europe.
    If the time of the table is the arrival of rows, it stands behind the values of each, and never goes back.
    """
    if IMAGES in dict(table.options):
        return _events_of(random, table, rows_max)
    clock = arrival = _NOON
    times = random.random() < 0.25
    rows: list[Row] = []
    old_key = dict(table.options).get(OLD_KEY, "").split(",")
    place, kinds = _operation(table)
    there: list[tuple[Value, ...]] = []
    for _ in range(random.randint(0, rows_max)):
        clock += random.choice((0, 1, 1, 5, -3)) * 1_000_000
        arrival = max(arrival, clock)
        row = tuple(_value(random, column, clock, times=times) for column in table.columns)
        if place is not None:
            change = random.choice(kinds), *row[:place], *row[place + 1 :]
            kind, *values = change_of_rows(random, change, there)
            row = (*values[:place], kind, *values[place:])
        if OLD_KEY in dict(table.options):
            kind = random.choice(("+U", "+U", "-D"))
            *values, _ = row
            old, values = values[-len(old_key) :], values[1 : -len(old_key)]
            if kind == "-D" or random.random() < 0.3:
                old = [None] * len(old_key)
            row = (kind, *values, *old, _marks(random, table, len(values), kind))
        rows.append((*row, arrival) if table.time is TimeKind.ARRIVAL else row)
    return rows


def _marks(random: Random, table: Table, width: int, kind: str) -> str | None:
    """Return which values of an event of `width` columns are left out, None if none is."""
    if kind == "-D" or random.random() < 0.6:
        return None
    count = sum(mark_count(column.type) for column in table.columns[1 : 1 + width])
    return "".join(random.choice("001") for _ in range(count))


def _events_of(random: Random, table: Table, rows_max: int) -> list[Row]:
    """Return random changes of a table without a key, with the new row and the old one of each."""
    width = len(table.columns) // 2
    absent: tuple[Value, ...] = (None,) * width
    there: list[tuple[Value, ...]] = []
    events: list[Row] = []
    for _ in range(random.randint(0, rows_max)):
        kind = random.choice(("+I", "+U", "-D")) if there else "+I"
        new = old = absent
        if kind != "+I":
            old = there.pop(random.randrange(len(there)))
        if kind != "-D":
            clock = _NOON + len(events) * 1_000_000
            columns = table.columns[1 : 1 + width]
            new = tuple(_value(random, column, clock, times=False) for column in columns)
            there.append(new)
        events.append((kind, *new, *old))
    return events


def _operation(table: Table) -> tuple[int | None, Sequence[Value]]:
    """Return which column of a table has the kinds of changes, and what they are."""
    if dict(table.options).get("changes", "append") != "append":
        return 0, OPERATIONS
    named = [i for i, each in enumerate(table.columns) if each.name == "op"]
    return next(iter(named), None), ("INSERT", "INSERT", "UPDATE_AFTER", "UPDATE_BEFORE", "DELETE")


def _value(random: Random, column: Column, clock: int, *, times: bool) -> Value:
    if column.type.kind is Kind.TIMESTAMP:
        return clock
    if column.type.kind is Kind.STRING and times:
        return f"2023-10-29 0{random.randrange(4)}:30:00"
    if column.type.kind in {Kind.INT, Kind.BIGINT} and random.random() < 0.9:
        return random.choice((1, 2, 3, 120))
    value = random_value(random, column.type, awkward=0.0)
    while value is None and not column.nullable:
        value = random_value(random, column.type, awkward=0.0)
    return value


def test_there_are_many() -> None:
    assert len(queries()) > 100


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_every_query_of_the_case_files(part: int) -> None:
    for name, text in queries()[part::8]:
        job = compile_script(SourceText(name, text), DECLARED).logical
        random = Random(name)
        for _ in range(_DRAWS_MAX):
            inputs: dict[int, Splits] = {
                table.ordinal: [rows_of(random, table) for _ in range(random.randint(1, 3))]
                for table in job.tables
            }
            case = Case(name, text, job, inputs)
            if any(case.expected.released):
                break
        check(case, schedules=1)
