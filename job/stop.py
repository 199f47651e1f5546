"""The error of a job that stopped: the row that caused it, and the number of rows released before."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.codes import CODES
from fsql.compiler.diagnostics.numbers import count_text
from fsql.compiler.functions.timestamps import format_timestamp
from fsql.compiler.logical import TimeKind
from fsql.compiler.text.source import SourceText
from fsql.connectors.file.source import FileSplit
from fsql.connectors.file.wrapped import file_of
from fsql.connectors.settings import settings_of
from fsql.formats.remedies import option_for, without_option
from fsql.job.failing_expression import failing_labels
from fsql.job.row_place import place_of
from fsql.runtime.batch import PUNCTUATION, TIME_START, origin_parts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.logical import Table
    from fsql.job.compilation import Compiled
    from fsql.runtime.batch import Root
    from fsql.runtime.dataflow.barrier import Stopped
    from fsql.runtime.ports import DeadLetter, RowPlace, SourceOffset, Split

_OF_EXPRESSIONS: Final = range(501, 511)
"""The codes of expressions that fail on a row; those of malformed rows follow."""
_OUT_OF_RANGE: Final = "E504"
_EXAMINED_BYTES: Final = 1 << 16
"""How many bytes of a file from a malformed record on are looked at."""
_REJECT_HELP: Final = "to skip such rows, set 'on_error' = 'reject' and 'rejects_path' = '…'"


def stop_error(
    stopped: Stopped,
    compiled: Compiled,
    splits: Mapping[int, Sequence[Split]],
    rows_released: int,
    resumed: Mapping[tuple[int, int], SourceOffset] = MappingProxyType({}),
) -> FsqlError:
    """Return the error of a job that stopped.

    It points at the failed expression in the script; if that is unknown, or the row is malformed, it names
    the source of the row instead.  `resumed` has a source offset before the row for splits that may not be
    read from their beginning again, by the ordinal of the table and the number of the split.
    """
    code = f"E{stopped.code}"
    rows = "row was" if rows_released == 1 else "rows were"
    released = f"{count_text(rows_released)} {rows} released before the job stopped"
    if stopped.root.origin == PUNCTUATION:
        when = format_timestamp(stopped.root.time)
        message = f"{CODES[code].title}, in a window that closed at {when}"
        return _locate(compiled, stopped, Diagnostic(code, message, notes=(released,)), "")
    ordinal, number, row = origin_parts(stopped.root.origin)
    table = next(table for table in compiled.job.tables if table.ordinal == ordinal)
    split = splits[ordinal][number]
    which = f"the row is row {count_text(row + 1)} of {_quoted_name(split, table)}"
    notes = [which, released]
    time = _time_note(table, stopped.root)
    if time:
        notes.insert(1, time)
    if stopped.dead_letter is None:
        message = f'{CODES[code].title}, caused by a row of table "{table.name}"'
        place = place_of(split, row, resumed.get((ordinal, number)))
        source = _source_name(split)
        if place is not None:
            source = f"{_source_name(split, place.file)}{_line(place)}"
            notes[notes.index(which)] = f"{which}, at {source}"
        return _locate(compiled, stopped, Diagnostic(code, message, notes=tuple(notes)), source)
    message = f'malformed row of table "{table.name}": {_fault(stopped.dead_letter)}'
    helps = (_remedy(split, table, stopped.dead_letter), _REJECT_HELP)
    at: DeadLetter | RowPlace = stopped.dead_letter
    if stopped.dead_letter.excerpt:
        notes.insert(0, f"the line is {stopped.dead_letter.excerpt}")
    elif stopped.dead_letter.line < 1:
        # The line is correct; the event time that is computed from it is not.
        at = place_of(split, row, resumed.get((ordinal, number))) or at
        if stopped.code in _OF_EXPRESSIONS:
            message += f": {CODES[code].title}"
            needed = "is in the years 2 to 9998" if code == _OUT_OF_RANGE else "cannot be NULL"
            helps = (f"correct the row: event time {needed}", _REJECT_HELP)
    error = Diagnostic(code, message, notes=tuple(notes), helps=helps)
    return FsqlError([error], SourceText(f"{_source_name(split, at.file)}{_line(at)}", ""))


def _remedy(split: Split, table: Table, dead_letter: DeadLetter) -> str:
    """Return what to do about a malformed record: by the bytes of its file, or else by its code."""
    file = file_of(split)
    if isinstance(file, FileSplit) and dead_letter.byte >= 0:
        with suppress(FsqlError):  # the file may be gone
            start = file.bytes_from(dead_letter.byte, _EXAMINED_BYTES)
            option = option_for(start, dead_letter, settings_of(table.options))
            if option is not None:
                return option
    general = CODES[f"E{dead_letter.code}"].fix
    return without_option(dead_letter.code, settings_of(table.options)) or general


def _locate(compiled: Compiled, stopped: Stopped, error: Diagnostic, row_source: str) -> FsqlError:
    """Return the error of a failed expression, with its span if it is known."""
    error = replace(error, helps=(CODES[error.code].fix,))
    labels = failing_labels(compiled, stopped)
    if not labels:
        return FsqlError([error], SourceText(row_source, "") if row_source else None)
    error = replace(error, primary=labels[0], secondary=tuple(labels[1:]))
    return FsqlError([error], compiled.syntax.source)


def _fault(dead_letter: DeadLetter) -> str:
    return (
        f'field "{dead_letter.field}": {dead_letter.reason}'
        if dead_letter.field
        else dead_letter.reason
    )


def _line(row: DeadLetter | RowPlace) -> str:
    """Return line and byte of a row, as far as they are known."""
    if row.line < 1:
        return ""
    return f":{row.line}" + (f" (byte {row.byte:,})" if row.byte >= 0 else "")


def _source_name(split: Split, file: str = "") -> str:
    """Return the path of a file, relative to the working directory; otherwise the split's name.

    `file` names a file of a split that consists of several.
    """
    root = getattr(split, "root", None) if file else None
    path = getattr(split, "path", None) if root is None else root / file
    if path is None:
        return split.name
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else str(Path(relative))


def _quoted_name(split: Split, table: Table) -> str:
    """Return the kind and the name of a file or split, or of the table whose files are one split."""
    if getattr(split, "root", None) is not None:
        return f'table "{table.name}"'
    return f'{"split" if getattr(split, "path", None) is None else "file"} "{_source_name(split)}"'


def _time_note(table: Table, root: Root) -> str:
    if table.time not in {TimeKind.EVENT, TimeKind.ARRIVAL} or root.time == TIME_START:
        return ""
    if table.time is TimeKind.ARRIVAL:
        return f"it came at {format_timestamp(root.time)}"
    return f"event time was {format_timestamp(root.time)}"
