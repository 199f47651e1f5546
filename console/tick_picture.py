"""The history of a job as a picture: the load of each worker, and the changes of each tick.

Up to `CURVES` workers have a curve each.  For more workers, the busiest worker, the mean and the idlest
worker of each interval are drawn.
"""

from __future__ import annotations

import textwrap
import time
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics.numbers import counted_text, seconds_text
from fsql.console.chart import (
    BOTTOM,
    HEIGHT,
    LEFT,
    LINE,
    TOP,
    Mark,
    TimeAxis,
    document,
    grid_line,
    polyline,
    text_at,
)
from fsql.console.written_file import write_text
from fsql.job.ticks import read_ticks
from fsql.optimizer.collectors.history import worker_history

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from fsql.console.reporter import Reporter
    from fsql.optimizer.collectors.history import WorkerInterval
    from fsql.runtime.coordination.ticks import TickRecord

    Curve = list[tuple[float, float]]

CURVES: Final = 6
_COLORS: Final = ("#2563a8", "#d97706", "#15803d", "#9333ea", "#475569", "#be185d")
_CHARACTERS: Final = 110
"""The width of a line below the chart."""
_TICK_LINES: Final = 3
"""The maximum number of lines of a tick."""
_TICKS_MAX: Final = 20
"""The number of ticks for which there are lines."""
_NUMBER_WIDTH: Final = 22
"""The minimum distance in pixels between the numbers of two ticks; closer ones are not written."""


def draw_ticks(reporter: Reporter, name: str | None, state: Path, picture: Path) -> None:
    """Draw the load of each worker of a job, and its ticks, into a file.

    A file of statistics that cannot be read is left out.

    Raises:
        FsqlError: E614, E615 or E643, if the ticks cannot be read; E535, if the picture cannot be written.
    """
    _, records = read_ticks(state)
    intervals, problems = worker_history(state)
    for problem in problems:
        text = f"statistics: {problem}"
        reporter.inform("warning", {"message": text}, f"warning: {text}\n")
    title = f"{name or state}: load of each worker, and ticks"
    write_text(picture, history_svg(title, intervals, records[::-1]))


def history_svg(
    title: str, intervals: Sequence[WorkerInterval], records: Sequence[TickRecord]
) -> str:
    """Return an SVG document over the time of the intervals; `records` has the ticks, in order."""
    begins = min((each.begins for each in intervals), default=0.0)
    ends = max((each.ends for each in intervals), default=0.0)
    shown = [each for each in records if begins <= _ended_at(each) <= ends]
    times = TimeAxis(ends - begins)
    curves = _curves(intervals, begins)
    lines = _lines(shown, len(records) - len(shown))
    note = f"seconds since {time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(begins))}"
    if not intervals:
        lines, note = ["no statistics: the load of workers is not known", *lines], "seconds"
    below = HEIGHT + 2 * LINE
    parts = [
        *_grid(),
        *times.axis(note),
        *times.marks(_marks(times, shown, begins)),
        *(
            polyline([(times.x(at), _y(busy)) for at, busy in points], "curve", color)
            for (_, points), color in zip(curves, _COLORS, strict=False)
        ),
        *_legend([name for name, _ in curves]),
        *(
            text_at(LEFT, below + LINE * number, line.replace("  ", "\N{NO-BREAK SPACE}" * 2))
            for number, line in enumerate(lines, 1)
        ),
    ]
    return document(title, parts, height=below + LINE * (len(lines) + 1))


def _ended_at(record: TickRecord) -> float:
    return record.proposal.proposed_at + record.seconds


def _y(busy: float) -> float:
    """Return the y coordinate of a load; the load of a worker is shown as at most 100%."""
    return HEIGHT - BOTTOM - min(busy, 1.0) * (HEIGHT - TOP - BOTTOM)


def _grid() -> Iterator[str]:
    for percent in range(0, 101, 20):
        yield from grid_line(_y(percent / 100), f"{percent} %")


def _curves(intervals: Sequence[WorkerInterval], begins: float) -> list[tuple[str, Curve]]:
    """Return the name and the points of each curve: a point is at the middle of an interval."""
    found: dict[int, Curve] = {}
    for each in intervals:
        at = (each.begins + each.ends) / 2 - begins
        found.setdefault(each.worker, []).append((at, each.busy))
    if len(found) <= CURVES:
        return [(f"worker {worker}", points) for worker, points in sorted(found.items())]
    every = max(each.ends - each.begins for each in intervals)
    by_time: dict[int, list[float]] = {}
    for at, busy in (point for points in found.values() for point in points):
        by_time.setdefault(int(at / every), []).append(busy)
    middles = {number: (number + 0.5) * every for number in sorted(by_time)}
    return [
        ("busiest worker", [(at, max(by_time[number])) for number, at in middles.items()]),
        (
            f"mean of {len(found)} workers",
            [(at, sum(by_time[number]) / len(by_time[number])) for number, at in middles.items()],
        ),
        ("idlest worker", [(at, min(by_time[number])) for number, at in middles.items()]),
    ]


def _legend(names: Sequence[str]) -> Iterator[str]:
    x = LEFT
    for name, color in zip(names, _COLORS, strict=False):
        yield polyline([(x, HEIGHT + LINE - 4), (x + 18, HEIGHT + LINE - 4)], "curve", color)
        yield text_at(x + 23, HEIGHT + LINE, name)
        x += 23 + 8 * (len(name) + 2)


def _marks(times: TimeAxis, shown: Sequence[TickRecord], begins: float) -> list[Mark]:
    """Return a mark for each tick, with its number if there is room for it."""
    marks: list[Mark] = []
    last = -float("inf")
    for record in shown:
        at = _ended_at(record) - begins
        is_apart = times.x(at) - last >= _NUMBER_WIDTH
        marks.append(Mark(at, str(record.proposal.tick) if is_apart else ""))
        last = times.x(at) if is_apart else last
    return marks


def _lines(shown: Sequence[TickRecord], others: int) -> list[str]:
    """Return the changes and reasons of ticks, as lines."""
    tables_not_at_rest = max(0, len(shown) - _TICKS_MAX)
    lines = []
    for record in shown[tables_not_at_rest:]:
        lines += textwrap.wrap(
            f"tick {record.proposal.tick}: {_text(record)}",
            _CHARACTERS,
            subsequent_indent="    ",
            max_lines=_TICK_LINES,
            placeholder=" …",
        )
    if others + tables_not_at_rest:
        lines.append(f"ticks that are not shown: {others + tables_not_at_rest}")
    return lines or ["no ticks"]


def _text(record: TickRecord) -> str:
    reason = f"; {record.proposal.reason_line}" if record.proposal.reason_lines else ""
    if record.refused:
        return f"refused: {record.refused}{reason}"
    changes = [f"{counted_text(record.moved_bins, 'bin')} moved", *record.changes]
    return f"{', '.join(changes)}, in {seconds_text(record.seconds)}{reason}"
