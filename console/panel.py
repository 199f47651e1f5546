"""The live panel: the metrics of a run, drawn with rich on the terminal of standard error."""

from __future__ import annotations

import re
import sys
from collections import Counter
from typing import TYPE_CHECKING, Final, Self

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel as Box
from rich.table import Table
from rich.text import Text

from fsql.compiler.diagnostics.numbers import bytes_text, count_text, counted_text, seconds_text
from fsql.console.rates import HELD_SECONDS, Rates, read_share
from fsql.runtime.dataflow.metrics import SinkMetrics, SourceMetrics, slowest

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from rich.console import RenderableType

    from fsql.job.overview import JobOverview
    from fsql.runtime.dataflow.metrics import Metrics

_FRAMES_PER_SECOND: Final = 8
_SAMPLE_SECONDS: Final = 0.1
_BARS: Final = "▁▂▃▄▅▆▇█"
_HISTORY: Final = 30
_WIDTH_MAX: Final = 80
_BAR_WIDTH: Final = 20
_OPERATORS_MAX: Final = 5
_TABLES_MAX: Final = 6
_HEAD_WIDTH: Final = 9
_CONTENT_HASH: Final = re.compile(r"-[0-9a-f]{12}$")


class Panel:
    """Shown inside its context, and removed at its end, when the summary is printed."""

    def __init__(
        self, title: str, overview: JobOverview, *, coloured: bool, console: Console | None = None
    ) -> None:
        """`title` and `overview` describe the job."""
        self._title = title
        self._overview = overview
        self._rates = Rates()
        self._history: list[float] = []
        self._metrics: Metrics | None = None
        self._beginning = "reading"
        self._sampled = (0.0, 0)
        self._console = console or Console(file=sys.stderr, no_color=not coloured, highlight=False)
        self._live = Live(
            console=self._console,
            get_renderable=self.render,
            refresh_per_second=_FRAMES_PER_SECOND,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> Self:
        """Draw the panel, and start the thread that updates it."""
        self._live.start(refresh=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove the panel."""
        self._live.stop()

    def begin(self, activity: str) -> None:
        """Set the activity that is shown before the first row."""
        self._beginning = activity

    def update(self, metrics: Metrics) -> None:
        """Set the metrics."""
        self._metrics = metrics
        seconds, rows = self._sampled
        if metrics.seconds - seconds >= _SAMPLE_SECONDS:
            self._rates.add(metrics)
            self._history.append((metrics.rows_in - rows) / (metrics.seconds - seconds))
            del self._history[:-_HISTORY]
            self._sampled = metrics.seconds, metrics.rows_in

    def print_line(self, line: str) -> None:
        """Print a line above the panel."""
        self._console.print(Text(line), soft_wrap=True)

    def render(self) -> RenderableType:
        """Return the current content of the panel."""
        metrics = self._metrics
        width = min(_WIDTH_MAX, self._console.width)
        if metrics is None:
            return Box(
                Text(f"{self._beginning} …"),
                title=Text(self._title),
                title_align="left",
                width=width,
            )
        table = Table.grid(padding=(0, 1), expand=True)
        for _ in range(2):
            table.add_column(style="dim", no_wrap=True)
            table.add_column(justify="right", no_wrap=True)
            table.add_column(justify="right", no_wrap=True, style="cyan")
        table.add_row(
            *("rows in", count_text(metrics.rows_in), self._rates.rows_in),
            *("rows out", count_text(metrics.rows_out), self._rates.rows_out),
        )
        table.add_row(
            *("bytes", bytes_text(metrics.bytes_in), ""),
            *("freshness", seconds_text(metrics.seconds_behind), ""),
        )
        table.add_row(
            *("state", count_text(metrics.rows_state), bytes_text(metrics.bytes_state)),
            *("late", _alarm_text(metrics.rows_late), ""),
        )
        table.add_row(
            *("repairs", count_text(metrics.rows_redone), ""),
            *("rejected", _alarm_text(metrics.rows_rejected), ""),
        )
        shown: list[RenderableType] = [
            table,
            *self._tables(metrics),
            *self._details(metrics),
            *_operators(metrics),
        ]
        if metrics.held_seconds >= HELD_SECONDS:
            waited = seconds_text(metrics.held_seconds)
            shown.append(Text(f"waiting for {metrics.held_by} for {waited}", style="yellow"))
        return Box(
            Group(*shown),
            title=Text(self._title),
            title_align="left",
            subtitle=f"{sparkline(self._history)}  {seconds_text(metrics.seconds)}",
            subtitle_align="right",
            width=width,
        )

    def _tables(self, metrics: Metrics) -> list[RenderableType]:
        """Return the sources and sinks with their rows, and the fraction of a source that has been read."""
        table = _table_of_parts()
        for number, source in enumerate(self._overview.sources[:_TABLES_MAX]):
            of_source = metrics.sources.get(source.table, SourceMetrics())
            share = f"{min(1.0, of_source.bytes_passed / source.bytes):.0%}" if source.bytes else ""
            rows = counted_text(of_source.rows, "row")
            table.add_row("" if number else "sources", Text(source.text), rows, share)
        for number, sink in enumerate(self._overview.sinks[:_TABLES_MAX]):
            of_sink = metrics.sinks.get(sink.table, SinkMetrics())
            rows = counted_text(of_sink.rows, "row")
            table.add_row("" if number else "sinks", Text(sink.text), rows, "")
        return [table] if table.rows else []

    def _details(self, metrics: Metrics) -> list[RenderableType]:
        """Return the progress of bounded input, the min time and the watermark."""
        overview, rows = self._overview, []
        share = read_share(metrics, overview)
        if share is not None:
            size = bytes_text(overview.input_bytes or 0)
            rows.append(("read", f"{_bar(share)} {share:.0%} of {size}"))
        if metrics.min_time is not None:
            min_time = overview.min_time_text(metrics.held_by, metrics.min_time)
            watermark = overview.watermark_text(metrics.held_by, metrics.min_time)
            if min_time:
                rows.append(("min time", f"{min_time}, held by {metrics.held_by}"))
            if watermark:
                rows.append(("watermark", watermark))
        if not rows:
            return []
        table = Table.grid(padding=(0, 1))
        table.add_column(style="dim", no_wrap=True)
        table.add_column(no_wrap=True, overflow="ellipsis")
        for name, text in rows:
            table.add_row(name, Text(text))
        return [table]


def _operators(metrics: Metrics) -> list[RenderableType]:
    """Return the operators that take most of the time, with their rows."""
    table = _table_of_parts()
    labels = operator_labels(metrics.operators)
    for number, (name, operator) in enumerate(slowest(metrics.operators)[:_OPERATORS_MAX]):
        rows = counted_text(operator.rows, "row") if operator.rows else ""
        head = "" if number else "operators"
        table.add_row(head, labels[name], rows, seconds_text(operator.seconds))
    return [table] if table.rows else []


def operator_labels(names: Iterable[str]) -> dict[str, str]:
    """Return a short name for each operator: without the hash of its content, if no other has that name.

    >>> operator_labels(["read", "join-9808ce26ad1f"])
    {'read': 'read', 'join-9808ce26ad1f': 'join'}
    >>> operator_labels(["over-1d6aa0ce35f2", "over-77f0a1b2c3d4"])
    {'over-1d6aa0ce35f2': 'over-1d6a', 'over-77f0a1b2c3d4': 'over-77f0'}
    """
    kinds = {name: _CONTENT_HASH.sub("", name) for name in names}
    count = Counter(kinds.values())
    return {
        name: kind if count[kind] == 1 or kind == name else name[: len(kind) + 5]
        for name, kind in kinds.items()
    }


def _table_of_parts() -> Table:
    """Return a table with a title, a name, rows and another number."""
    table = Table.grid(padding=(0, 1))
    table.add_column(style="dim", no_wrap=True, min_width=_HEAD_WIDTH)
    table.add_column(no_wrap=True, overflow="ellipsis")
    table.add_column(justify="right", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    return table


def _bar(share: float) -> str:
    """Return a progress bar."""
    full = int(share * _BAR_WIDTH)
    return "█" * full + "░" * (_BAR_WIDTH - full)


def sparkline(values: list[float]) -> str:
    """Return one character for each value; the greatest value has full height.

    >>> sparkline([0, 1, 2, 4])
    '▁▃▅█'
    """
    greatest = max(values, default=0.0)
    if greatest <= 0:
        return _BARS[0] * len(values)
    return "".join(_BARS[round(value / greatest * (len(_BARS) - 1))] for value in values)


def _alarm_text(count: int) -> Text:
    return Text(count_text(count), style="yellow" if count else "")
