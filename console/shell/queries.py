"""Runs a query of the shell, and shows its result: on a terminal as a table, elsewhere as JSON lines."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TYPE_CHECKING

from fsql.compiler.diagnostics.numbers import counted_text, seconds_text
from fsql.compiler.logical import Changes
from fsql.console.before_run import print_listening
from fsql.console.interrupt import Interrupt, Interrupted
from fsql.console.shell.preview import Preview, PreviewEndedError
from fsql.console.shell.session import own_warnings
from fsql.console.standard_output import shows_tables
from fsql.job.planning import RunOptions
from fsql.job.program_queries import order_of_result
from fsql.job.run import open_run
from fsql.job.sources import open_splits
from fsql.job.stop import stop_error

if TYPE_CHECKING:
    from fsql.connectors.context import OutputStream
    from fsql.connectors.file.output_files import Existing
    from fsql.console.reporter import Reporter
    from fsql.console.shell.live_table import LiveTable
    from fsql.job.compilation import Compiled
    from fsql.runtime.dataflow.metrics import Metrics


def run_query(
    compiled: Compiled,
    reporter: Reporter,
    form: str | None,
    preview: int | None,
    existing: Existing,
) -> int | None:
    """Run the job of a statement; return the exit code of the shell if a signal requests its end.

    `form` is the format of a result, as with `fsql run`; `preview` is the number of changes
    after which a SELECT ends.  The first Ctrl-C ends the query.

    Raises:
        FsqlError: the error that ended the query; rows released before it have been shown or written.
    """
    splits = open_splits(compiled)
    warnings = own_warnings(compiled)
    if warnings and not reporter.quiet:
        reporter.diagnostics(warnings, compiled.script.source)
    (sink, *_) = (insert.sink for insert in compiled.job.inserts)
    selects = sink.name == "stdout" and len(compiled.job.inserts) == 1
    shown = _stream(compiled, form, reporter)
    live = None if shown is sys.stdout.buffer else _live(shown)
    stream = Preview(shown, preview) if preview is not None and selects else shown
    begun = time.monotonic()
    metrics: Metrics | None = None
    ended = ""
    code = None
    try:
        with (
            Interrupt() as interrupt,
            open_run(compiled, splits, RunOptions(existing=existing), stream) as run,
        ):
            metrics = run.metrics
            print_listening(compiled, reporter)
            run.run(lambda _: interrupt.check())
            if run.stopped is not None:
                raise stop_error(run.stopped, compiled, splits, metrics.rows_out)
    except Interrupted as interrupted:
        ended = "; ended by a signal"
        code = None if interrupted.exit_code == _BY_CTRL_C else interrupted.exit_code
    except PreviewEndedError:
        ended = "; the preview ends here"
    finally:
        left = None if live is None else live.close()
    assert metrics is not None
    released = stream.rows if isinstance(stream, Preview) else metrics.rows_out
    _report(reporter, released, left, time.monotonic() - begun, ended)
    return code


_BY_CTRL_C = 130


def _report(
    reporter: Reporter, released: int, left: int | None, seconds: float, ended: str
) -> None:
    """Print the number of released rows, and the number of current rows of an updating result."""
    fields = {"rows_out": released, "seconds": round(seconds, 3), "ended": bool(ended)}
    counted = counted_text(released, "row")
    if left is not None:
        counted = f"{counted_text(left, 'row')} after {counted_text(released, 'change')}"
    reporter.inform("summary", fields, f"{counted}, in {seconds_text(seconds)}{ended}\n")


def _stream(compiled: Compiled, form: str | None, reporter: Reporter) -> OutputStream:
    """Return the stream that shows the rows of a bare SELECT."""
    sink = compiled.job.inserts[0].sink
    if sink.name != "stdout" or not shows_tables(form, reporter):
        return sys.stdout.buffer
    if sink.changes is not Changes.APPEND and sys.stdout.isatty():
        from rich.console import Console

        from fsql.console.shell.live_table import LiveTable

        console = Console(no_color=not reporter.coloured, highlight=False)
        return LiveTable(sink, console, order_of_result(compiled))
    from fsql.console.change_table import ChangeTable

    width = shutil.get_terminal_size().columns
    return ChangeTable(sink, sys.stdout.buffer, width, sys.stdout.encoding)


def _live(stream: OutputStream) -> LiveTable | None:
    from fsql.console.shell.live_table import LiveTable

    return stream if isinstance(stream, LiveTable) else None
