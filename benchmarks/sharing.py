"""What a condition costs wherever it is written, and what a second query costs behind the same condition.

The scripts run by turns, on one worker, over the same rows.  `first` and `last` have an expensive condition
written first and last, `first-auto` and `last-auto` are the same with ticks that are chosen: one of them lets
the cheap condition go first, once it is measured.  `one` is a query behind an expensive condition, `two` are
two queries that have it in common.

`busy_seconds` is the processor time of the worker, from its first row on.
"""

from __future__ import annotations

import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fsql.benchmarks.job_process import JobProcess
from fsql.benchmarks.measure import SCRIPTS
from fsql.console.chart import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    document,
    grid_line,
    text_at,
)
from fsql.job.ticks import read_ticks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

READ_AHEAD: Final = 100_000
"""Rows that a split is read ahead: without a limit, most of the input is read before a tick can begin."""
VARIANTS: Final = {
    "first": ("filters_first", False),
    "last": ("filters_last", False),
    "first-auto": ("filters_first", True),
    "last-auto": ("filters_last", True),
    "one": ("sharing_one", False),
    "two": ("sharing_two", False),
}
"""The script of each variant, and whether ticks are chosen."""
COMPARED: Final = (
    ("first", "last"),
    ("first-auto", "last-auto"),
    ("first-auto", "first"),
    ("two", "one"),
)
"""Variants whose times are compared: the first by the second."""
_COLOUR: Final = "#2563a8"
_POLL_SECONDS: Final = 0.05
_GROUP_ROWS: Final = 65_536
_LINES: Final = 4096
_LINE_CHARACTERS: Final = 60


@dataclass(frozen=True, slots=True)
class Sharing:
    """The parameters: rows of each run, the interval of ticks in seconds, how often each variant runs."""

    rows: int
    tick: float
    rounds: int


def measure_sharing(load: Sharing) -> Iterator[dict[str, Any]]:
    """Yield the fields of each run, and at the end how the variants compare.

    Raises:
        JobFailedError: if a run does not come to its end.
    """
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="fsql-bench-") as directory:
        folder = Path(directory)
        _write(folder / "input", load.rows)
        expected = b""
        for number in range(load.rounds * len(VARIANTS)):
            variant = tuple(VARIANTS)[number % len(VARIANTS)]
            measured, written = _run(folder, folder / str(number), variant, load)
            expected = expected or written
            fields = {"benchmark": "sharing", "variant": variant, "rows": load.rows}
            found.append({**fields, **measured, "bytes_equal": written == expected})
            yield found[-1]
    yield {
        "benchmark": "sharing",
        "variant": "medians",
        **{f"{one}_by_{other}": _ratio(found, one, other) for one, other in COMPARED},
    }


def _write(folder: Path, rows: int) -> None:
    """Write lines of which half match the expensive condition, and numbers of which 1 of 20 is small."""
    folder.mkdir()
    random = np.random.default_rng(7)
    letters = np.array(list("abcdxy0123"))
    texts = ["".join(random.choice(letters, _LINE_CHARACTERS)) for _ in range(_LINES)]
    lines = pa.array([text + " abx1y" * (number % 2) for number, text in enumerate(texts)])
    schema = pa.schema([("line", pa.string()), ("n", pa.int64())])
    with pq.ParquetWriter(folder / "lines.parquet", schema) as file:
        for first in range(0, rows, _GROUP_ROWS):
            count = min(_GROUP_ROWS, rows - first)
            drawn = lines.take(pa.array(random.integers(0, _LINES, count)))
            numbers = pa.array(random.integers(0, 1000, count))
            file.write_table(pa.table([drawn, numbers], schema=schema))


def _run(shared: Path, folder: Path, variant: str, load: Sharing) -> tuple[dict[str, Any], bytes]:
    """Return what was measured of a run, and what its first query has written."""
    folder.mkdir()
    output = folder / "output.jsonl"
    script, auto = VARIANTS[variant]
    flags = (
        "--read-ahead",
        str(READ_AHEAD),
        *(("--auto", "--tick", f"{load.tick:g}") if auto else ()),
    )
    values = {"input": str(shared / "input"), "output": str(output)}
    path = SCRIPTS / f"{script}.sql"
    with JobProcess(path, values, 1, *flags, state=folder / "state") as job:
        while not job.running.wait(_POLL_SECONDS) and job.lives():
            pass
        job.forget_seconds()
        job.wait()
    taken = [each for each in read_ticks(job.state)[1] if not each.refused]
    used = job.seconds_by_process()
    fields = {
        "seconds": round(job.seconds(), 3),
        "busy_seconds": sum(each for name, each in used.items() if name.startswith("worker")),
        "ticks": len(taken),
        "reason": taken[-1].proposal.reason if taken else None,
    }
    return fields, output.read_bytes()


def _ratio(found: Sequence[dict[str, Any]], variant: str, other: str) -> float | None:
    one, another = (_median(found, name) for name in (variant, other))
    return round(one / another, 3) if one and another else None


def _median(found: Sequence[dict[str, Any]], variant: str) -> float:
    spent = [each["busy_seconds"] for each in found if each["variant"] == variant]
    return statistics.median(spent) if spent else 0.0


def sharing_svg(measured: Sequence[dict[str, Any]]) -> str:
    """Return the processor time of each variant as bars."""
    spent = {variant: _median(measured, variant) for variant in VARIANTS}
    most = max(1e-3, *spent.values())
    floor = HEIGHT - BOTTOM

    def y(value: float) -> float:
        return floor - value / most * (floor - TOP)

    parts: list[str] = []
    for quarter in range(5):
        parts += grid_line(y(most * quarter / 4), f"{most * quarter / 4:.2g} s")
    width = (WIDTH - LEFT - RIGHT) / len(spent)
    for number, (variant, seconds) in enumerate(spent.items()):
        x = LEFT + width * (number + 0.2)
        size = f'width="{width * 0.6:.1f}" height="{max(floor - y(seconds), 1):.1f}"'
        place = f'x="{x:.1f}" y="{min(y(seconds), floor - 1):.1f}"'
        parts.append(f'<rect style="fill: {_COLOUR}" {place} {size}/>')
        middle = round(x + width * 0.3, 1)
        parts.append(text_at(middle, round(y(seconds) - 6, 1), f"{seconds:.2f} s", anchor="middle"))
        parts.append(text_at(middle, floor + 16, variant, anchor="middle"))
    return document("processor time of the worker", parts)
