"""Charts of the results that a running job has released, drawn by a process of its own.

The process reads requests from standard input, each a line of JSON that shows a chart, changes it or takes it
away, and writes what charts show, at most `FRAMES_PER_SECOND`.  It ends when standard input ends.

Contract.  The job is not asked for anything: a table with the connector `results` is read from its log, a
file of JSON lines from the file.  So a chart shows what was released, and no more.  This process may not
write files, and it rests nine times as long as it works, up to two seconds.  A chart is known by the names
of its job, its result and its columns, and stays when the query of the result is changed.

Of a line, only what differs from the last time is told: its points up to the first that is new are kept by
the reader.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.compiler.connectors import FORMAT
from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.records import dataclass
from fsql.connectors.file.compression import codec_of
from fsql.connectors.file.options import CONNECTOR as FILE
from fsql.connectors.results.options import CONNECTOR as RESULTS
from fsql.connectors.settings import settings_of
from fsql.console.web.drawing import (
    SERIES_MAX,
    View,
    bars,
    check_view,
    columns_of,
    drawn_lines,
    text_of,
)
from fsql.console.web.limits import FRAMES_PER_SECOND, MEMORY_BYTES, limit_this_process, tell
from fsql.console.web.result_kept import ROWS_SHOWN, KeptResult
from fsql.deployment.directory import JobDirectory
from fsql.job.compilation import compile_job
from fsql.job.file_uses import FileUses
from fsql.job.plan_file import script_of_plan
from fsql.job.results.job_results import JobResults
from fsql.job.results.plain_values import plain

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from fsql.compiler.logical import SinkTable
    from fsql.console.web.drawing import Floats
    from fsql.job.compilation import Compiled

FRAME_SECONDS: Final = 1 / FRAMES_PER_SECOND
REST: Final = 9.0
"""For each second that is worked, the process rests so many."""
REST_SECONDS_MAX: Final = 2.0
PLAN_SECONDS: Final = 1.0
FIRST_BYTES: Final = 64 << 20
"""Of a longer file that only grows, this much of its end is read at first."""
FILE_BYTES_MAX: Final = 512 << 20
READ_BYTES: Final = 8 << 20
CHARTS_MAX: Final = 40

Fields = dict[str, Any]


class ChartRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Show `view` of a result as a chart; None takes the chart away."""

    chart: str
    result: str
    view: View | None = None


def drawable(compiled: Compiled, sink: SinkTable) -> Path | str | None:
    """Return from where a result can be drawn: None for its log, a file, or a text that says why not."""
    settings = settings_of(sink.options)
    connector = settings.connector.name
    if connector == RESULTS.name:
        return None
    remedy = f"write the query to a table WITH ('connector' = '{RESULTS.name}') as well"
    if connector != FILE.name:
        return f"no charts are drawn from connector {connector}: {remedy}"
    uses = FileUses(compiled).of(sink.name, "path")
    lines_of_json = settings.text(FORMAT.key) == FORMAT.default and sink.shards is None
    if not uses or uses[0].directory or not lines_of_json:
        return f"charts are drawn from single files of JSON lines: {remedy}"
    if codec_of(uses[0].path, settings.text("compression")) is not None:
        return f"no charts are drawn from compressed files: {remedy}"
    return uses[0].path


def results_of_job(compiled: Compiled) -> list[Fields]:
    """Return the results of a job with their columns, and why one cannot be drawn."""
    found = {}
    for insert in compiled.job.inserts:
        where = drawable(compiled, insert.sink)
        found[insert.sink.name] = {
            "name": insert.sink.name,
            "changes_kind": insert.sink.changes.value,
            "columns": columns_of(insert.sink.columns),
            "problem": where if isinstance(where, str) else None,
        }
    return list(found.values())


def run_job_charts(directory: Path) -> int:
    """Draw charts of the job in a directory until standard input ends; return an exit code."""
    limit_this_process(processor_seconds=None)
    charts = _Charts(JobDirectory(directory))
    threading.Thread(target=charts.read_requests, daemon=True).start()
    try:
        charts.run()
    except MemoryError:
        tell({"error": f"the charts need more than {MEMORY_BYTES >> 20:,} MiB"})
    except BrokenPipeError:
        return 0
    return 0


@dataclass(slots=True)
class _Chart:
    result: str
    view: View
    drawn: Hashable = None
    """The state of the result and the view for which it was drawn."""
    told: Fields | None = None


class _Charts:
    """The charts, and what they are drawn from."""

    def __init__(self, job: JobDirectory) -> None:
        self._job = job
        self._requests: queue.SimpleQueue[ChartRequest] = queue.SimpleQueue()
        self._charts: dict[str, _Chart] = {}
        self._results = JobResults(job.state)
        self._plan = ""
        self._looked = float("-inf")
        self._sources: dict[str, _LoggedResult | _WrittenResult | str] = {}

    def read_requests(self) -> None:
        """Take requests until there are no more, and end the process then."""
        for line in sys.stdin.buffer:
            try:
                self._requests.put(msgspec.json.decode(line, type=ChartRequest))
            except msgspec.MsgspecError:
                continue
        os._exit(0)  # the page has gone

    def run(self) -> None:
        """Draw for ever."""
        rest = 0.0
        while True:
            self._take_requests(rest)
            began = time.monotonic()
            self._look_at_plan(began)
            for name in list(self._charts):
                self._draw(name, self._charts[name])
            rest = min(REST_SECONDS_MAX, max(FRAME_SECONDS, REST * (time.monotonic() - began)))

    def _take_requests(self, seconds: float) -> None:
        """Take requests for some time; a new one ends it early."""
        until = time.monotonic() + seconds
        while True:
            left = until - time.monotonic()
            try:
                request = self._requests.get(timeout=max(0.0, left) if self._charts else None)
            except queue.Empty:
                return
            known = self._charts.get(request.chart)
            if request.view is None:
                self._charts.pop(request.chart, None)
            elif known is not None and known.result == request.result:
                known.view = request.view
            elif len(self._charts) < CHARTS_MAX:
                self._charts[request.chart] = _Chart(request.result, request.view)
            if self._requests.empty():
                return

    def _look_at_plan(self, now: float) -> None:
        """Forget what was read if the job has another plan: its results may have other columns."""
        if now - self._looked < PLAN_SECONDS:
            return
        self._looked = now
        try:
            plan = self._job.deployment().plan
        except FsqlError:  # it was dropped
            return
        if plan != self._plan:
            self._plan = plan
            self._sources = {}
            for chart in self._charts.values():
                chart.drawn = None

    def _draw(self, name: str, chart: _Chart) -> None:
        """Tell what a chart shows, if it has changed."""
        try:
            source = self._source(chart.result)
            if isinstance(source, str):
                plot: Fields = {"kind": "none", "problem": source}
                state: Hashable = source
            else:
                state = source.read()
                if (state, chart.view) == chart.drawn:
                    return
                check_view(chart.view, source.roles)
                plot = source.plot(chart.view)
        except (FsqlError, ValueError) as error:
            said = error.diagnostics[0].message if isinstance(error, FsqlError) else str(error)
            state, plot = said, {"kind": "none", "problem": said}
        chart.drawn = (state, chart.view)
        if plot != chart.told:
            tell({"chart": name, "plot": _difference(chart.told, plot)})
            chart.told = plot

    def _source(self, result: str) -> _LoggedResult | _WrittenResult | str:
        found = self._sources.get(result)
        if found is None:
            found = self._sources[result] = self._opened(result)
        return found

    def _opened(self, result: str) -> _LoggedResult | _WrittenResult | str:
        path = self._job.plan_of(self._job.deployment())
        compiled = compile_job(script_of_plan(str(path), path.read_bytes(), {}))
        for insert in compiled.job.inserts:
            if insert.sink.name == result:
                where = drawable(compiled, insert.sink)
                if where is None:
                    return _LoggedResult(self._results, insert.sink)
                return where if isinstance(where, str) else _WrittenResult(where, insert.sink)
        return f'the job does not write "{result}" any more'


def _difference(told: Fields | None, plot: Fields) -> Fields:
    """Return a plot without the points that the reader has: of each line, `kept` of its first ones."""
    if told is None or plot["kind"] != "line" or told["kind"] != "line":
        return plot
    if any(told[name] != plot[name] for name in ("start", "end")):
        return plot
    known = {series["name"]: series["points"] for series in told["series"]}
    series = []
    for line in plot["series"]:
        before, points = known.get(line["name"], []), line["points"]
        same = 0
        for old, new in zip(before, points, strict=False):
            if old != new:
                break
            same += 1
        series.append({"name": line["name"], "kept": same, "points": points[same:]})
    return {**plot, "series": series}


class _LoggedResult:
    """A result with a log: its rows as columns."""

    def __init__(self, results: JobResults, sink: SinkTable) -> None:
        self._results = results
        self._table = sink.name
        self.roles: dict[str, str] = {}
        self._names: list[str] = []

    def read(self) -> Hashable:
        """Read what the job has released, and return in which state the result is."""
        as_of = self._results.refresh()
        names = [schema.table for schema in self._results.tables()]
        if self._table not in names:
            raise ValueError("nothing of it has been released yet")
        schema = self._results.schema(self._table)
        self._names = schema.names
        self.roles = {column["name"]: column["role"] for column in columns_of(schema.columns)}
        return as_of.root

    def plot(self, view: View) -> Fields:
        """Return what a chart shows."""
        columns = dict(zip(self._names, self._results.all_rows(self._table), strict=True))
        count = len(next(iter(columns.values())))
        dropped = self._results.dropped_rows(self._table)
        if view.kind == "table":
            return self._rows(columns, count)
        y = _floats(columns[view.y])
        known = np.isfinite(y)
        if view.kind == "bar":
            names = _names(columns.get(view.by or ""), count)
            values = dict(zip(_chosen(names, known), y[known].tolist(), strict=True))
            return bars(view, values)
        x = np.arange(dropped, dropped + count, dtype=np.float64)
        if view.x is not None:
            x = _floats(columns[view.x])
            known &= np.isfinite(x)
        lines, more = _lines(x[known], y[known], columns.get(view.by or ""), known)
        drawn = drawn_lines(view, lines, more, int(known.sum()), in_steps=True)
        return {**drawn, "time": view.x is not None and self.roles[view.x] == "time"}

    def _rows(self, columns: dict[str, pa.Array], count: int) -> Fields:
        first = max(0, count - ROWS_SHOWN)
        newest = {name: column.slice(first).to_pylist() for name, column in columns.items()}
        rows = [
            {name: plain(values[at]) for name, values in newest.items()}
            for at in reversed(range(count - first))
        ]
        return {"kind": "table", "rows": rows, "row_count": count}


def _floats(column: pa.Array) -> Floats:
    """Return numbers, or times as seconds since 1970; NaN for NULL."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        found = pc.cast(column, pa.timestamp("us", kind.tz)).cast(pa.int64()).cast(pa.float64())
        return _with_nan(found) / 1e6
    if pa.types.is_date(kind):
        days = column.cast(pa.date32()).cast(pa.int32()).cast(pa.float64())
        return _with_nan(days) * 86_400
    return _with_nan(pc.cast(column, pa.float64(), safe=False))


def _with_nan(column: pa.Array) -> Floats:
    found: Floats = column.to_numpy(zero_copy_only=False)
    return found


def _lines(
    x: Floats, y: Floats, by: pa.Array | None, known: NDArray[np.bool_]
) -> tuple[dict[str, tuple[Floats, Floats]], int]:
    """Return the lines with the most points by their names, and how many there are beside them."""
    if by is None:
        return ({"": (x, y)} if len(x) else {}), 0
    coded = by.filter(pa.array(known)).dictionary_encode(null_encoding="encode")
    codes = coded.indices.to_numpy()
    counts = np.bincount(codes, minlength=len(coded.dictionary))
    names = [text_of(plain(value)) for value in coded.dictionary.to_pylist()]
    most = sorted(np.flatnonzero(counts).tolist(), key=lambda code: (-counts[code], names[code]))
    lines = {}
    for code in most[:SERIES_MAX]:
        own = codes == code
        lines[names[code]] = (x[own], y[own])
    return lines, max(0, len(most) - SERIES_MAX)


def _names(by: pa.Array | None, count: int) -> list[str]:
    if by is None:
        return [str(number) for number in range(count)]
    return [text_of(plain(value)) for value in by.to_pylist()]


def _chosen(names: Sequence[str], known: NDArray[np.bool_]) -> list[str]:
    return [names[at] for at in np.flatnonzero(known).tolist()]


class _WrittenResult:
    """A result that is written as lines of JSON to a file."""

    def __init__(self, path: Path, sink: SinkTable) -> None:
        self._path = path
        self._sink = sink
        self._begin()
        self.roles = {column["name"]: column["role"] for column in self._kept.columns}

    def _begin(self) -> None:
        self._kept = KeptResult(self._sink)
        self._at = -1
        self._file = -1

    def read(self) -> Hashable:
        """Read what was written since, and return in which state the result is.

        Raises:
            ValueError: if it cannot be read.
        """
        try:
            with self._path.open("rb") as file:
                status = os.fstat(file.fileno())
                if self._at > status.st_size or self._file not in {-1, status.st_ino}:
                    self._begin()  # another file, or an earlier position
                self._file = status.st_ino
                if self._at < 0:
                    self._at = self._first(file.fileno(), status.st_size)
                while content := os.pread(file.fileno(), READ_BYTES, self._at):
                    whole = content.rfind(b"\n") + 1
                    if not whole:
                        break
                    self._kept.write(memoryview(content)[:whole])
                    self._at += whole
        except FileNotFoundError:
            raise ValueError("nothing of it has been released yet") from None
        except OSError as error:
            raise ValueError(f"{self._path} cannot be read: {error.strerror}") from None
        if self._kept.too_large:
            raise ValueError("the result has more rows than a chart reads from a file")
        return self._file, self._at

    def _first(self, descriptor: int, size: int) -> int:
        """Return where the first line begins that is read."""
        if self._sink.changes.value != "append":
            if size > FILE_BYTES_MAX:
                raise ValueError(f"the file has more than {FILE_BYTES_MAX >> 20} MiB of changes")
            return 0
        if size <= FIRST_BYTES:
            return 0
        at = size - FIRST_BYTES
        return at + os.pread(descriptor, READ_BYTES, at).find(b"\n") + 1

    def plot(self, view: View) -> Fields:
        """Return what a chart shows."""
        if view.kind == "table":
            return self._kept.newest()
        return self._kept.plot(view, in_steps=True)
