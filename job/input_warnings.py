"""Warnings about the input of a job: missing files, and first rows that suggest a wrong declaration.

Only files are checked: a stream can be read only once, by the job.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

import msgspec

from fsql.compiler.diagnostics import Diagnostic, FsqlError, Label
from fsql.compiler.diagnostics.near_names import edit_distance, near_name
from fsql.compiler.functions.timestamps import format_timestamp
from fsql.compiler.logical import (
    AssignEnd,
    AssignSessions,
    Filter,
    Project,
    Rank,
    has_expiring_rows,
    has_late_rows,
    operators,
)
from fsql.compiler.rules.prune_columns.demand import columns_read
from fsql.compiler.sqltypes import Kind
from fsql.connectors.file.evolution import file_differences
from fsql.connectors.file.metadata import record_columns
from fsql.connectors.file.wrapped import file_of
from fsql.connectors.settings import settings_of
from fsql.formats.json.time_units import time_units_of
from fsql.job.option_spans import locate_errors, option_span
from fsql.job.sources import check_sources

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fsql.compiler.logical import Insert, Plan, Table
    from fsql.compiler.schema import Column
    from fsql.connectors.file.evolution import TypedFile
    from fsql.formats.json.time_units import Unit
    from fsql.job.compilation import Compiled
    from fsql.job.sources import Splits
    from fsql.runtime.dataflow.metrics import Metrics
    from fsql.runtime.ports import Split

_PASSING: Final = {"E531", "E543"}
"""Codes of errors that may be resolved before the job runs."""
_LASTING: Final = {"E534", "E539"}
"""Codes of errors that the job has whenever it runs: options that are not valid, and kinds of inputs."""
_CHECKED: Final = {"connector", "format", "changes"}
"""Options of outputs of which the compiler has checked all there is to check."""
_FIRST_BYTES: Final = 1 << 16
_SEARCHED_BYTES: Final = 1 << 25
"""How many bytes of a file are searched for names, if its first rows do not have all fields that are used."""
_FIRST_ROWS: Final = 100
_FILES_MAX: Final = 8
"""How many files of a table are looked at, the first ones by name."""
_FIELDS_SHOWN: Final = 8
_WITH_UNITS: Final = ("json", "debezium-json")
"""The formats whose numbers for times have declared units."""
_FROM_NUMBERS: Final = {
    "s": "TIMESTAMP_MILLIS({} * 1000)",
    "ms": "TIMESTAMP_MILLIS({})",
    "us": "TIMESTAMP_MICROS({})",
    "ns": "TIMESTAMP_MICROS({} / 1000)",
}
"""The expression of a TIMESTAMP of a column of numbers, by their unit."""


def input_diagnostics(compiled: Compiled) -> list[Diagnostic]:
    """Return errors about inputs, and warnings about those that may exist only when the job runs."""
    return _found_by(check_sources, compiled)


def output_diagnostics(compiled: Compiled) -> list[Diagnostic]:
    """Return errors about the options of outputs, and warnings about files that these name."""
    if all(dict(each.sink.options).keys() <= _CHECKED for each in compiled.job.inserts):
        return []
    from fsql.job.sinks import check_sinks  # which imports what writes rows

    return _found_by(check_sinks, compiled)


def _found_by(check: Callable[[Compiled], None], compiled: Compiled) -> list[Diagnostic]:
    try:
        check(compiled)
    except FsqlError as error:
        return [
            replace(each, code="W501") if each.code in _PASSING else each
            for each in error.diagnostics
            if each.code in _PASSING | _LASTING
        ]
    return []


def unkept_rows(compiled: Compiled) -> list[Diagnostic]:
    """Return warnings about tables whose malformed or late rows are counted but written nowhere."""
    warnings = []
    for table in compiled.job.tables:
        options = dict(table.options)
        if options.get("on_error", "stop") != "stop" and "rejects_path" not in options:
            message = f'malformed rows of table "{table.name}" are counted and dropped'
            helps = ("add 'rejects_path' = 'rejects.jsonl'",)
            warnings.append(_at_option(compiled, table.name, "on_error", "W502", message, helps))
    for insert in compiled.job.inserts:
        name = insert.sink.name
        declared = option_span(compiled.syntax, name, "late_path") is not None
        if not declared or "late_path" in dict(insert.sink.options):
            continue  # a SELECT without a table has no options: the summary counts its late rows
        if may_have_late_rows(insert):
            message = f'rows that are too late for table "{name}" are counted and dropped'
            helps = ("add 'late_path' = 'late.jsonl'",)
            warnings.append(_at_option(compiled, name, "late_path", "W505", message, helps))
    return list(dict.fromkeys(warnings))


def may_have_late_rows(insert: Insert) -> bool:
    """Return whether an INSERT has windows or joins for which rows can be late."""
    return any(
        has_late_rows(each) and not has_expiring_rows(each) and not _waits_for_end(each)
        for each in operators(insert.query)
    )


def _waits_for_end(plan: Plan) -> bool:
    """Return whether `plan` orders a whole result: no row comes after the end of the input."""
    below = plan.input if isinstance(plan, Rank | AssignSessions) else None
    while isinstance(below, Filter | Project | Rank):
        below = below.input
    return isinstance(below, AssignEnd)


def _at_option(
    compiled: Compiled, table: str, option: str, code: str, message: str, helps: tuple[str, ...]
) -> Diagnostic:
    span = option_span(compiled.syntax, table, option)
    return Diagnostic(code, message, None if span is None else Label(span), helps=helps)


def first_row_warnings(compiled: Compiled, splits: Splits) -> list[Diagnostic]:
    """Return warnings about the first rows of each table that is read from JSON files.

    Other formats refuse what JSON silently accepts: a number as a timestamp, a missing column.

    Raises:
        FsqlError: E543, if the first rows of a file have none of the columns.
    """
    warnings: list[Diagnostic] = []
    for table in compiled.job.tables:
        format_ = dict(table.options).get("format", "json")
        if format_ == "debezium-json":
            for split in splits[table.ordinal][:1]:
                warnings += _unit_warnings(table, _images(_first_rows(table, split)), split.name)
        if format_ == "json":
            for split in splits[table.ordinal][:_FILES_MAX]:
                with locate_errors(compiled.syntax, table.name, "path"):
                    _check_fields(table, _first_rows(table, split), split.name)
            for split in splits[table.ordinal][:1]:
                seen: set[tuple[str, str]] = set()
                rows = _first_rows(table, split)
                warnings += _misspelt(
                    table, {field for _, row in rows for field in row}, split.name
                )
                for number, row in rows:
                    for warning in _row_warnings(table, row, f'line {number} of "{split.name}"'):
                        if (warning.code, warning.message) not in seen:
                            seen.add((warning.code, warning.message))
                            warnings.append(warning)
                warnings += _unit_warnings(table, rows, split.name)
    return warnings


def file_difference_warnings(compiled: Compiled, splits: Splits) -> Iterator[Diagnostic]:
    """Yield a warning about each table whose files have different columns.

    Raises:
        FsqlError: E531, E535 or E543, if columns cannot be read.
    """
    used = columns_read(compiled.bound)
    for table in compiled.job.tables:
        files = [file_of(split) for split in splits[table.ordinal]]
        typed = [file for file in files if hasattr(file, "column_types")]
        if len(typed) < len(files) or len(files) == 1:
            continue
        columns = [each for each in record_columns(table) if each.name in used[table.name]]
        notes = tuple(file_differences(tuple(columns), cast("Sequence[TypedFile]", typed)))
        if notes:
            message = f'the files of table "{table.name}" have different columns'
            span = option_span(compiled.syntax, table.name, "path")
            label = None if span is None else Label(span)
            yield Diagnostic("W508", message, label, notes=notes)


def _first_rows(table: Table, split: Split) -> list[tuple[int, dict[str, object]]]:
    """Return the first readable rows of a file of JSON, with line numbers; the run reports errors."""
    from fsql.connectors.file.source import FileSplit  # its readers take long to import
    from fsql.formats.json.samples import records_of
    from fsql.formats.json.shapes import records_path

    split = file_of(split)
    if not isinstance(split, FileSplit):
        return []
    rows = []
    try:
        settings = settings_of(table.options)
        path, bytes_max = records_path(settings), settings.record_bytes_max()
        records = records_of(split.first_bytes(_FIRST_BYTES), path, bytes_max)
        for number, record in records[:_FIRST_ROWS]:
            row = msgspec.json.decode(record)
            rows += [(number, row)] if isinstance(row, dict) else []
    except (FsqlError, ValueError, RecursionError, msgspec.MsgspecError):
        pass
    return rows


def _check_fields(table: Table, rows: list[tuple[int, dict[str, object]]], source: str) -> None:
    """Check that one of the first rows of a file has one of the columns: all rows would be NULL.

    Raises:
        FsqlError: E543, if none has.
    """
    names = [column.name for column in record_columns(table)]
    fields = list(dict.fromkeys(field for _, row in rows for field in row))
    if not fields or not names or not {*names}.isdisjoint(fields):
        return
    shown = ", ".join(f'"{field}"' for field in fields[:_FIELDS_SHOWN])
    more = ", …" if len(fields) > _FIELDS_SHOWN else ""
    raise FsqlError(
        [
            Diagnostic(
                "E543",
                f'input "{source}" has none of the columns of table "{table.name}"',
                notes=(f"the fields of its first rows are {shown}{more}",),
                helps=("declare columns that the file has, or name another file",),
            )
        ]
    )


def columns_in_no_row(compiled: Compiled, splits: Splits) -> Iterator[Diagnostic]:
    """Yield warnings about columns of JSON that the job uses, and that no row of its files has."""
    used = columns_read(compiled.bound)
    for table in compiled.job.tables:
        if dict(table.options).get("format", "json") == "json":
            read = used.get(table.name, frozenset())
            yield from _in_no_row(table, read, splits[table.ordinal])


def _in_no_row(table: Table, used: frozenset[str], splits: Sequence[Split]) -> Iterator[Diagnostic]:
    """Yield warnings about columns that the job uses, and that no row of files of moderate size has."""
    if not 0 < len(splits) <= _FILES_MAX:
        return
    # A field whose name differs in case only has a warning of its own.
    missing = {column.name.lower() for column in record_columns(table) if column.name in used}
    has_fields = False
    for split in splits:
        names = _field_names(table, split, missing) if missing else set()
        if names is None:
            return
        has_fields = has_fields or bool(names)
        missing -= names
    for column in record_columns(table):
        if has_fields and column.name in used and column.name.lower() in missing:
            yield Diagnostic(
                "W509",
                f'column "{column.name}" of table "{table.name}" is NULL: no row has a field of that name',
                helps=("declare the column by the name of a field, or do not use it",),
            )


def _field_names(table: Table, split: Split, wanted: set[str]) -> set[str] | None:
    """Return the fields in a file of JSON, in lower case, with all that are `wanted` and may be there.

    Of a file that is not short, the first rows are read, and the others are searched for the texts of names:
    that one occurs does not say that it is a field, but a name that does not occur is none.  Return None if
    the file is longer than what is searched, or is not read as rows of JSON.
    """
    rows = _all_rows(table, split)
    if rows is not None:
        return {field.lower() for row in rows for field in row}
    from fsql.connectors.file.source import FileSplit  # its readers take long to import

    names = {field.lower() for _, row in _first_rows(table, split) for field in row}
    file = file_of(split)
    if not names or not isinstance(file, FileSplit):
        return None
    if wanted <= names:
        return names
    try:
        text = file.first_bytes(_SEARCHED_BYTES)
    except FsqlError:
        return None
    if len(text) >= _SEARCHED_BYTES:
        return None
    text = text.lower()
    escaped = b"\\u" in text  # any character of a name may be written so
    return names | {name for name in wanted if escaped or f'"{name}"'.encode() in text}


def _all_rows(table: Table, split: Split) -> list[dict[str, object]] | None:
    """Return all rows of a short file of JSON; None if it is longer, or has others."""
    from fsql.connectors.file.source import FileSplit  # its readers take long to import
    from fsql.formats.json.samples import records_of
    from fsql.formats.json.shapes import records_path

    file = file_of(split)
    if not isinstance(file, FileSplit):
        return None
    settings = settings_of(table.options)
    try:
        start = file.first_bytes(_FIRST_BYTES)
        if len(start) >= _FIRST_BYTES:
            return None
        records = records_of(start, records_path(settings), settings.record_bytes_max())
        rows = [msgspec.json.decode(record) for _, record in records]
    except (FsqlError, ValueError, RecursionError, msgspec.MsgspecError):
        return None
    return rows if all(isinstance(row, dict) for row in rows) else None


def _misspelt(table: Table, fields: set[str], source: str) -> Iterator[Diagnostic]:
    """Yield warnings about columns that no row has, where the rows have fields with similar names."""
    names = {column.name for column in record_columns(table)}
    others = sorted(fields - names)
    for name in sorted(names - fields):
        near = near_name(name, others)
        if near is None:
            continue
        # A field may be missing in the first rows, so a word that is only somewhat similar is another one.
        slips = edit_distance(name.lower(), near.lower())
        if 0 < slips <= max(1, len(name) // 4):
            yield Diagnostic(
                "W507",
                f'column "{name}" of table "{table.name}" is NULL: no row has a field of that name',
                notes=(f'the first rows of "{source}" were looked at',),
                helps=(f'a field with a similar name exists: "{near}"',),
            )


def _row_warnings(table: Table, row: dict[str, object], where: str) -> Iterator[Diagnostic]:
    columns = record_columns(table)
    names = {column.name for column in columns}
    by_lower = {column.name.lower(): column.name for column in columns}
    for field in row:
        meant = by_lower.get(field.lower())
        if field not in names and meant is not None and meant not in row:
            yield Diagnostic(
                "W503",
                f'field "{field}" of table "{table.name}" is not column "{meant}": case matters',
                notes=(f'{where} has that field, and column "{meant}" is NULL',),
                helps=(f'declare the column as "{field}", with the quotes',),
            )


def _unit_warnings(
    table: Table, rows: list[tuple[int, dict[str, object]]], source: str
) -> Iterator[Diagnostic]:
    """Yield a warning for each column of times whose numbers seem to have another unit."""
    units = time_units_of(dict(table.options))
    for column in record_columns(table):
        numbers = [
            (line, value)
            for line, value in ((line, row.get(column.name)) for line, row in rows)
            if type(value) is int
        ]
        unit = None
        if column.type.kind is Kind.TIMESTAMP:
            likely = [units.likely_timestamp(value) for _, value in numbers]
            found = [at for at, each in zip(numbers, likely, strict=True) if each is not None]
            unit = next((each for each in likely if each is not None), None)
            option, own, since = "timestamp_unit", units.timestamp, "since 1970"
        elif column.type.kind is Kind.TIME:
            unit, found = units.greater_time([value for _, value in numbers]), numbers
            option, own, since = "time_unit", units.time, "of a day"
        if unit is None:
            continue
        line, value = found[0]
        yield Diagnostic(
            "W504",
            f'column "{column.name}" of table "{table.name}" seems to have {unit.word} {since}',
            notes=(
                f"{len(found)} of the first {len(rows)} rows do: {value:,} is read as {own.word}",
                f'that is line {line} of "{source}"',
            ),
            helps=(f"set '{option}' = '{unit.name}'", *_remedies(table, column, unit)),
        )


def _remedies(table: Table, column: Column, unit: Unit) -> Iterator[str]:
    """Yield a remedy for one TIMESTAMP column of several, which need not have the same unit."""
    times = [each for each in record_columns(table) if each.type.kind is Kind.TIMESTAMP]
    if column.type.kind is Kind.TIMESTAMP and len(times) > 1:
        time = _FROM_NUMBERS[unit.name].format(column.name)
        yield f"or declare it as BIGINT, and add a column: time AS {time}"


def _images(rows: list[tuple[int, dict[str, object]]]) -> list[tuple[int, dict[str, object]]]:
    """Return the rows of change events without a schema."""
    images = []
    for line, event in rows:
        payload = event.get("payload")
        if isinstance(event.get("schema"), dict):
            continue
        inside = payload if isinstance(payload, dict) else event
        image = inside.get("after") or inside.get("before")
        images += [(line, image)] if isinstance(image, dict) else []
    return images


def warnings_of(compiled: Compiled, splits: Splits) -> Sequence[Diagnostic]:
    """Return all warnings of a job that is about to run."""
    of_first_rows = first_row_warnings(compiled, splits)
    reported = {warning.message for warning in of_first_rows}
    absent = columns_in_no_row(compiled, splits)
    return (
        *compiled.warnings,
        *unkept_rows(compiled),
        *of_first_rows,
        *(warning for warning in absent if warning.message not in reported),
        *file_difference_warnings(compiled, splits),
    )


def _remedy_of_seconds(table: Table) -> str:
    """Return the remedy for event times in seconds: only numbers of JSON have a unit that is declared."""
    remedy = "multiply seconds by 1000 where milliseconds are read"
    if dict(table.options).get("format", "json") not in _WITH_UNITS:
        return remedy
    return f"set 'timestamp_unit' = 's', or {remedy}"


def time_warnings(
    compiled: Compiled, splits: Splits, metrics: Metrics
) -> Iterator[tuple[Diagnostic, str]]:
    """Return warnings about the event times that have been read, each with the name of its table."""
    for table in compiled.job.tables:
        source = metrics.sources.get(table.name)
        if source is None:
            continue
        if source.in_seconds is not None:
            split, row, time = source.in_seconds
            name = splits[table.ordinal][split].name
            yield (
                Diagnostic(
                    "W504",
                    f'event times of table "{table.name}" seem to be seconds since 1970',
                    notes=(f'row {row + 1:,} of "{name}" is of {format_timestamp(time)}',),
                    helps=(_remedy_of_seconds(table),),
                ),
                table.name,
            )
        if source.far_ahead is not None:
            split, row, time, later = source.far_ahead
            name = splits[table.ordinal][split].name
            yield (
                Diagnostic(
                    "W506",
                    f'row {row + 1:,} of "{name}" in table "{table.name}" is dated {format_timestamp(time)}',
                    notes=(f"a later row is of {format_timestamp(later)}: such rows may be late",),
                    helps=(
                        "let such rows be malformed: 'max_ahead' = '1 d', and 'on_error' = 'reject' to go on",
                    ),
                ),
                table.name,
            )
