"""The rows of a bare SELECT on standard output: as a table or as JSON lines."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fsql.compiler.logical import Job, SinkTable
    from fsql.connectors.context import OutputStream
    from fsql.console.reporter import Reporter

FORMATS: Final = ("table", "json")


def open_standard_output(job: Job, form: str | None, reporter: Reporter) -> OutputStream:
    """Return the stream for a job's rows on standard output.

    It shows the rows of a bare SELECT as a table if `form` is "table", or if none is given, standard output
    is a terminal and messages are not JSON.  Otherwise it is standard output itself.
    """
    select = _bare_select(job)
    if select is None or not shows_tables(form, reporter):
        return sys.stdout.buffer
    # The table needs rich, which is slow to import.
    from fsql.console.change_table import ChangeTable

    width = shutil.get_terminal_size().columns
    return ChangeTable(select, sys.stdout.buffer, width, sys.stdout.encoding)


def shows_tables(form: str | None, reporter: Reporter) -> bool:
    """Return whether rows on standard output are shown as a table instead of as JSON lines."""
    if form is not None:
        return form == "table"
    return sys.stdout.isatty() and not reporter.json


def _bare_select(job: Job) -> SinkTable | None:
    """Return the sink of a bare SELECT if nothing else is written to standard output."""
    sinks = [each.sink for each in job.inserts if dict(each.sink.options)["connector"] == "stdout"]
    if len(sinks) != 1 or sinks[0].name != "stdout" or dict(sinks[0].options)["format"] != "json":
        return None
    return sinks[0]
