"""A sample as a page: the content of the terminal, and the output of `fsql top --once`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len
from rich.console import Group
from rich.table import Table
from rich.text import Text

from fsql.compiler.diagnostics.numbers import count_text, seconds_text
from fsql.compiler.records import dataclass
from fsql.console.panel import operator_labels
from fsql.console.stats import statistics_tables
from fsql.deployment.views import causes
from fsql.optimizer.statistics import source_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

    from fsql.console.top.sample import Sample
    from fsql.deployment.views import JobView

_GAP: Final = 2
"""The cells between two columns."""
JOB_TITLES: Final = ("job", "state", "workers", "rows in/s", "rows out/s", "behind", "state rows")
_OPERATOR: Final = re.compile(r"\b[a-z_]+-[0-9a-f]{12}\b")
_SHOWN: Final = {"workers": 16, "operators": 8, "folds": 6, "splits": 6, "heavy": 6}
"""The tables of statistics that are shown, and the number of their rows."""


def page(sample: Sample) -> RenderableType:
    """Return the jobs, and the details of the chosen one."""
    if not sample.jobs:
        return Text("no jobs")
    jobs = TextGrid(JOB_TITLES, [job_cells(sample, job) for job in sample.jobs])
    return Group(jobs, Text(), details(sample))


def job_cells(sample: Sample, job: JobView) -> tuple[str, ...]:
    """Return a job as a row below `JOB_TITLES`; a rate is empty until two reports are known."""
    status = job.status
    rates = sample.rates.get(job.deployment.id, {})
    by_second = [
        count_text(round(rates[name])) if name in rates else "" for name in ("rows_in", "rows_out")
    ]
    lag = state = ""
    if status is not None:
        lag = seconds_text(status.counters["behind_us"] / 1e6)
        state = count_text(status.counters["rows_state"])
    deployment = job.deployment
    return (deployment.name, job.state, str(job.workers), *by_second, lag, state)


def details(sample: Sample) -> RenderableType:
    """Return the details of the chosen job."""
    job, found = sample.chosen, sample.details
    if job is None or found is None:
        return Text()
    shown: list[RenderableType] = [Text(job.deployment.name, style="bold")]
    shown += [Text(line) for line in _progress_lines(job)]
    shown += [Text(f"warning: {each}", style="yellow") for each in found.statistics.problems]
    tables = statistics_tables(found.statistics)
    names = [name for name in _SHOWN if tables[name].rows]
    if names:
        source = source_text(found.collected.collector, found.collected.age)
        shown.append(Text(f"statistics: {source}", style="dim"))
    else:
        shown += [Text(), Text("no statistics yet", style="dim")]
    for name in names:
        titles, rows = tables[name].titles, tables[name].rows
        kept = [_label(name, row, rows) for row in rows[: _SHOWN[name]]]
        shown += [Text(), TextGrid(titles, kept)]
        if len(rows) > len(kept):
            shown.append(Text(f"and {len(rows) - len(kept):,} more", style="dim"))
    folds = [row[0] for row in tables["folds"].rows]
    ticks = _with_labels("\n".join(found.ticks.lines()), folds).splitlines()
    lines = [line.removeprefix("  ") for line in ticks]
    shown += [Text(), *(Text(line) for line in lines or ["no ticks yet"])]
    return Group(*shown)


def _progress_lines(job: JobView) -> Iterator[str]:
    """Yield the progress of the job, the rows that wait in it or have waited, and the reason."""
    status = job.status
    if status is not None:
        held = f", held by {status.held_by}" if status.held_by else ""
        if status.min_time:
            yield f"min time {status.min_time}{held}"
        elif held:
            yield f"min time is{held.removeprefix(',')}"
        counters = status.counters
        yield (
            f"waiting: {count_text(counters['rows_unreleased'])} rows for release;"
            f" so far {count_text(counters['rows_held'])} rows have waited for earlier ones"
        )
    for cause in causes(job):
        yield f"why: {cause}"


def _label(name: str, row: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return a row with the short name of its operator, if it begins with an operator."""
    if name not in {"operators", "folds", "heavy"}:
        return row
    labels = operator_labels(dict.fromkeys(each[0] for each in rows))
    return (labels[row[0]], *row[1:])


def _with_labels(text: str, folds: Sequence[str]) -> str:
    """Return a text with the short names of operators, which the table of folds has as well."""
    labels = operator_labels(dict.fromkeys([*folds, *_OPERATOR.findall(text)]))
    return _OPERATOR.sub(lambda found: labels[found[0]], text)


@dataclass(frozen=True, slots=True)
class TextGrid:
    """A table without lines.  One that is wider than the page is divided; each part has the first column."""

    titles: Sequence[str]
    rows: Sequence[Sequence[str]]

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the parts of the table."""
        for columns in self._parts(options.max_width):
            table = Table(
                box=None,
                padding=(0, _GAP, 0, 0),
                pad_edge=False,
                header_style="dim",
                show_edge=False,
            )
            for index in columns:
                table.add_column(self.titles[index], no_wrap=True, overflow="ellipsis")
            for row in self.rows:
                table.add_row(*(Text(row[index]) for index in columns))
            yield table

    def _parts(self, width: int) -> list[list[int]]:
        """Return the columns of each part."""
        widths = [
            max(map(cell_len, column)) for column in zip(self.titles, *self.rows, strict=True)
        ]
        parts = [[0]]
        used = widths[0]
        for index, own in enumerate(widths[1:], 1):
            if used + _GAP + own > width and len(parts[-1]) > 1:
                parts.append([0])
                used = widths[0]
            parts[-1].append(index)
            used += _GAP + own
        return parts
