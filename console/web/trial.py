"""A trial: one result of a script, computed in a process of its own, and written nowhere.

The process reads a request from standard input, and later requests to change its chart; it writes messages as
lines of JSON, at most `FRAMES_PER_SECOND`.  It ends with its input, at a limit, or when standard input ends.

Contract.  No file, topic or consumer is written, whatever the script says: every statement that writes is
left out, the query of the chosen one is the only one that runs, and tables have no paths for rejected rows.
Even so, the operating system refuses this process to write any file (`RLIMIT_FSIZE` is 0), and files that
exist are not opened for writing.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.diagnostics.render import render_json
from fsql.compiler.parser import parse_script
from fsql.compiler.syntax import CreateTable, Insert, SelectStatement, StatementSet
from fsql.compiler.text.source import SourceText
from fsql.console.web.drawing import View
from fsql.console.web.limits import FRAMES_PER_SECOND, MEMORY_BYTES, limit_this_process, tell
from fsql.console.web.result_kept import KeptResult
from fsql.job.compilation import compile_job
from fsql.job.planning import RunOptions
from fsql.job.run import open_run
from fsql.job.script import Script
from fsql.job.sources import open_splits
from fsql.job.stop import stop_error
from fsql.job.written import REJECTS_PATH
from fsql.runtime.drivers.local import LocalRun

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.syntax import Query, Statement
    from fsql.compiler.text.source import Span
    from fsql.job.compilation import Compiled
    from fsql.runtime.dataflow.metrics import Metrics

SECONDS_MAX: Final = 900.0
ROWS_MAX: Final = 2_000_000
SCRIPT: Final = "script"

Fields = dict[str, Any]


class TrialRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The result `result` of a script, the last one if it is None; relative paths start from `directory`."""

    text: str
    directory: str
    result: int | None = None
    view: View | None = None


class NoResultError(Exception):
    """The script has no result of that number."""


def results_of(statements: Sequence[Statement]) -> list[tuple[str, Query]]:
    """Return the queries of a script whose results can be tried: where they are written to, and the query."""
    found: list[tuple[str, Query]] = []
    for statement in statements:
        match statement:
            case StatementSet(inserts=inserts):
                found += [(_name(insert), insert.query) for insert in inserts]
            case Insert():
                found.append((_name(statement), statement.query))
            case CreateTable(query=query) if query is not None:
                found.append((".".join(part.name for part in statement.name.parts), query))
            case SelectStatement(query=query):
                found.append(("the SELECT", query))
            case _:
                pass
    return found


def _name(insert: Insert) -> str:
    return ".".join(part.name for part in insert.table.parts)


def trial_text(source: SourceText, result: int | None) -> str:
    """Return a script that computes one result and writes nothing; places in declarations are the same.

    Raises:
        FsqlError: if the script does not parse.
        NoResultError: if there is no such result.
    """
    statements = parse_script(source).statements
    results = results_of(statements)
    number = len(results) - 1 if result is None else result
    if not 0 <= number < len(results):
        raise NoResultError
    text = declarations_text(source)
    return f"{text.rstrip()}\n{source.slice(results[number][1].span)};\n"


def declarations_text(source: SourceText) -> str:
    """Return a script without its statements that write or select; all other places are the same.

    Raises:
        FsqlError: if it does not parse.
    """
    text = source.text
    for statement in parse_script(source).statements:
        writes = isinstance(statement, Insert | StatementSet | SelectStatement)
        if writes or (isinstance(statement, CreateTable) and statement.query is not None):
            start, end = statement.span.start, statement.span.end
            end = end + 1 if text[end : end + 1] == ";" else end
            text = _without(text, start, end)
        elif isinstance(statement, CreateTable):
            for option in statement.options:
                if _key(source.slice(option.span)) == REJECTS_PATH:
                    text = _without(text, *_with_comma(text, option.span))
    return text


def _key(option: str) -> str:
    """Return the name of an option, which is quoted or not: `'path' = 'a.jsonl'`."""
    return option.partition("=")[0].strip().strip("'\"").lower()


def _with_comma(text: str, span: Span) -> tuple[int, int]:
    """Return where an option of a list begins and ends, with the comma that belongs to it."""
    after = text[span.end :]
    if after.lstrip().startswith(","):
        return span.start, span.end + len(after) - len(after.lstrip()) + 1
    before = text[: span.start].rstrip()
    return (len(before) - 1 if before.endswith(",") else span.start), span.end


def _without(text: str, start: int, end: int) -> str:
    """Return a text in which a part is blank, so that all other places stay."""
    blank = "".join("\n" if each == "\n" else " " for each in text[start:end])
    return text[:start] + blank + text[end:]


def run_trial() -> int:
    """Run the trial whose request is the first line of standard input; return an exit code."""
    request = msgspec.json.decode(sys.stdin.buffer.readline(), type=TrialRequest)
    limit_this_process()
    try:
        _Trial(request).run()
    except FsqlError as error:
        diagnostics = json.loads(render_json(error.diagnostics, error.source))
        tell({"error": error.diagnostics[0].message, "diagnostics": diagnostics})
    except NoResultError:
        tell({"error": "the script has no result: end it with a SELECT, or INSERT INTO a table"})
    except MemoryError:
        tell({"error": f"the trial needs more than {MEMORY_BYTES >> 20:,} MiB"})
    except BrokenPipeError:
        return 0
    return 0


def compiled_trial(request: TrialRequest) -> Compiled:
    """Return the compiled script of a trial.

    Raises:
        FsqlError: if it does not compile.
        NoResultError: if there is no such result.
    """
    text = trial_text(SourceText(SCRIPT, request.text), request.result)
    script = Script(SourceText(SCRIPT, text), {}, Path(request.directory), used_stdin=True)
    return compile_job(script)


class _Trial:
    """Runs a query, and tells what it has released."""

    def __init__(self, request: TrialRequest) -> None:
        self._compiled = compiled_trial(request)
        [insert] = self._compiled.job.inserts
        self._result = KeptResult(insert.sink)
        self._view = request.view
        self._views: queue.SimpleQueue[View | None] = queue.SimpleQueue()
        self._told = 0.0
        self._shown = -1
        self._drawn: tuple[int, View | None] = (-1, None)

    def run(self) -> None:
        """Run until the end of the input, a limit, or the end of standard input.

        Raises:
            FsqlError: if the query fails.
        """
        splits = open_splits(self._compiled)
        threading.Thread(target=self._read_views, daemon=True).start()
        result = self._result
        tell(
            {
                "columns": result.columns,
                "changes_kind": result.changes_kind,
                "operation": result.operation,
            }
        )
        until = time.monotonic() + SECONDS_MAX
        ended = "the input has ended"
        with open_run(self._compiled, splits, RunOptions(), result) as run:
            assert isinstance(run, LocalRun)
            for metrics in run.steps():
                self._tell_news(metrics)
                if time.monotonic() > until:
                    ended = f"a trial runs for {SECONDS_MAX / 60:.0f} minutes at most"
                    break
                if metrics.rows_out > ROWS_MAX or result.too_large:
                    ended = "the result has more rows than a trial keeps"
                    break
            self._tell_news(run.metrics, at_end=True)
            if run.stopped is not None:
                raise stop_error(run.stopped, self._compiled, splits, run.metrics.rows_out)
        tell({"ended": ended})
        self._serve_views()

    def _read_views(self) -> None:
        for line in sys.stdin.buffer:
            try:
                self._views.put(msgspec.json.decode(line, type=View))
            except msgspec.MsgspecError:
                continue
        os._exit(0)  # the page has gone

    def _take_views(self) -> None:
        while not self._views.empty():
            self._view = self._views.get()

    def _serve_views(self) -> None:
        """Draw what is asked for, until the page goes."""
        until = time.monotonic() + SECONDS_MAX
        while (left := until - time.monotonic()) > 0:
            try:
                self._view = self._views.get(timeout=left)
            except queue.Empty:
                return
            self._take_views()
            self._tell_plot()

    def _tell_news(self, metrics: Metrics, *, at_end: bool = False) -> None:
        now = time.monotonic()
        if not at_end and now - self._told < 1 / FRAMES_PER_SECOND:
            return
        self._told = now
        self._take_views()
        if self._shown != self._result.released or at_end:
            self._shown = self._result.released
            counts = {
                "rows_in": metrics.rows_in,
                "rows_late": metrics.rows_late,
                "rows_rejected": metrics.rows_rejected,
            }
            tell({**self._result.news(), **counts})
        else:
            tell({"rows_in": metrics.rows_in})
        self._tell_plot()

    def _tell_plot(self) -> None:
        """Draw the chart if it or the result has changed."""
        drawn = (self._result.released, self._view)
        if self._view is None or drawn == self._drawn:
            return
        self._drawn = drawn
        try:
            tell({"plot": self._result.plot(self._view)})
        except ValueError as error:
            tell({"plot": {"kind": "none", "problem": str(error)}})
