"""Warnings about the input of a job: what is not there, and what the first rows show to be meant otherwise.

Only files are looked at: a stream can be read once, and not before the job runs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import msgspec

from fsql.compiler.diagnostics import Diagnostic, FsqlError, Label
from fsql.compiler.sqltypes import Kind
from fsql.connectors.file.source import FileSplit
from fsql.job.places import option_span
from fsql.job.run import open_splits

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from fsql.compiler.logical import Table
    from fsql.job.compilation import Compiled
    from fsql.job.run import Splits

_PASSING: Final = {"E531", "E543"}
"""What a file that is there when the job runs may mend."""
_FIRST_BYTES: Final = 1 << 16
_EPOCH_SECONDS: Final = range(10**9, 10**11)
"""Seconds of the years 2001 to 5138; as milliseconds they are of 1970 to 1973."""


def missing_inputs(compiled: Compiled) -> list[Diagnostic]:
    """Return warnings of inputs that cannot be opened now, and may be there when the job runs."""
    try:
        open_splits(compiled)
    except FsqlError as error:
        return [replace(each, code="W501") for each in error.diagnostics if each.code in _PASSING]
    return []


def unkept_rows(compiled: Compiled) -> list[Diagnostic]:
    """Return warnings of tables whose malformed rows are counted, and written nowhere."""
    warnings = []
    for table in compiled.job.tables:
        options = dict(table.options)
        if options.get("on_error") == "reject" and "rejects_path" not in options:
            span = option_span(compiled.syntax, table.name, "on_error")
            message = f'malformed rows of table "{table.name}" are counted and dropped'
            helps = ("add 'rejects_path' = 'rejects.jsonl'",)
            label = None if span is None else Label(span)
            warnings.append(Diagnostic("W502", message, label, helps=helps))
    return warnings


def first_row_warnings(compiled: Compiled, splits: Splits) -> list[Diagnostic]:
    """Return warnings of what the first row of each table that is read from JSON files shows."""
    warnings: list[Diagnostic] = []
    for table in compiled.job.tables:
        if dict(table.options).get("format", "json") == "json":
            for split in splits[table.ordinal][:1]:
                row = _first_row(split.path) if isinstance(split, FileSplit) else None
                if row is not None:
                    warnings += _of_row(table, row, str(split.name))
    return warnings


def _first_row(path: Path) -> dict[str, object] | None:
    """Return the first row of a file of JSON lines, None if it cannot be read; then the run says why."""
    try:
        with path.open("rb") as file:
            line = file.readline(_FIRST_BYTES)
        row = msgspec.json.decode(line)
    except (OSError, ValueError, RecursionError, msgspec.MsgspecError):
        return None
    return row if isinstance(row, dict) else None


def _of_row(table: Table, row: dict[str, object], split: str) -> Iterator[Diagnostic]:
    names = {column.name for column in table.columns}
    by_lower = {column.name.lower(): column.name for column in table.columns}
    for field in row:
        meant = by_lower.get(field.lower())
        if field not in names and meant is not None and meant not in row:
            yield Diagnostic(
                "W503",
                f'field "{field}" of table "{table.name}" is not column "{meant}": case matters',
                notes=(f'the first row of "{split}" has that field, and column "{meant}" is NULL',),
                helps=(f'declare the column as "{field}", with the quotes',),
            )
    for column in table.columns:
        value = row.get(column.name)
        if column.type.kind is Kind.TIMESTAMP and type(value) is int and value in _EPOCH_SECONDS:
            yield Diagnostic(
                "W504",
                f'column "{column.name}" of table "{table.name}" seems to have seconds since 1970',
                notes=(
                    f'the first row of "{split}" has {value}, which is read as milliseconds: 1970',
                ),
                helps=(
                    f"declare it as BIGINT, and compute TIMESTAMP_MILLIS({column.name} * 1000)",
                ),
            )


def warnings_of(compiled: Compiled, splits: Splits) -> Sequence[Diagnostic]:
    """Return all warnings of a job that is about to run."""
    return (*compiled.warnings, *unkept_rows(compiled), *first_row_warnings(compiled, splits))
