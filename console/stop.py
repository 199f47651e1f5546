"""Why a job stopped: the row at fault, down to its line, and what had been released before it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fsql.compiler.codes import CODES
from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.functions.timestamps import format_timestamp
from fsql.compiler.logical import TimeKind
from fsql.compiler.source import SourceText
from fsql.console.numbers import count_text
from fsql.runtime.batch import PUNCTUATION, TIME_START, origin_parts
from fsql.runtime.connectors.files import FileSplit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.logical import Job, Table
    from fsql.runtime.batch import Root
    from fsql.runtime.ports import Reject, Split
    from fsql.runtime.protocol.barrier import Stopped

_REJECT_HELP: Final = "or go on without such rows: 'on_error' = 'reject', 'rejects_path' = '…'"


def stop_error(
    stopped: Stopped, job: Job, splits: Mapping[int, Sequence[Split]], rows_released: int
) -> FsqlError:
    """Return the error that tells why a job stopped.  Its source is the place of the row, as a name."""
    code = f"E{stopped.code}"
    rows = "row was" if rows_released == 1 else "rows were"
    released = f"{count_text(rows_released)} {rows} released before it, and nothing behind it"
    if stopped.root.origin == PUNCTUATION:
        when = format_timestamp(stopped.root.time)
        message = f"{CODES[code].title}, in a window that closed at {when}"
        return FsqlError([Diagnostic(code, message, notes=(released,), helps=(CODES[code].fix,))])
    ordinal, number, row = origin_parts(stopped.root.origin)
    table = next(table for table in job.tables if table.ordinal == ordinal)
    split = splits[ordinal][number]
    notes = [f'row {count_text(row)} of split "{split.name}", counted from 0', released]
    time = _time_note(table, stopped.root)
    if time:
        notes.insert(1, time)
    helps = [CODES[code].fix]
    if stopped.reject is None:
        message = f'{CODES[code].title}, caused by a row of table "{table.name}"'
        where = _place(split)
    else:
        message = f'malformed row of table "{table.name}": {_fault(stopped.reject)}'
        where = f"{_place(split)}{_line(stopped.reject)}"
        helps.append(_REJECT_HELP)
        if stopped.reject.excerpt:
            notes.insert(0, f"it reads {stopped.reject.excerpt}")
    error = Diagnostic(code, message, notes=tuple(notes), helps=tuple(helps))
    return FsqlError([error], SourceText(where, ""))


def _fault(reject: Reject) -> str:
    return f'field "{reject.field}": {reject.reason}' if reject.field else reject.reason


def _line(reject: Reject) -> str:
    """Return line and byte of a malformed row, as far as they are known."""
    if reject.line < 1:
        return ""
    return f":{reject.line}" + (f" (byte {reject.byte:,})" if reject.byte >= 0 else "")


def _place(split: Split) -> str:
    """Return where a split is: the path of a file as one would type it here, else the split's name."""
    if not isinstance(split, FileSplit):
        return split.name
    relative = os.path.relpath(split.path)
    return str(split.path) if relative.startswith("..") else str(Path(relative))


def _time_note(table: Table, root: Root) -> str:
    if table.time is not TimeKind.EVENT or root.time == TIME_START:
        return ""
    return f"event time had come to {format_timestamp(root.time)}"
