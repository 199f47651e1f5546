"""Keys of which some are frequent, on two workers: equal bins, ticks by themselves, and the best plan.

The three run by turns, for each exponent of Zipf's law.  The best plan levels the bins with all rows of the
input known; it is proposed as soon as the run has begun.  There are as many files as workers, so reading is
even.  Rows a second are those of the machine as it is; `rows_per_busy_second` divides by the processor time
of the busiest worker, so it is the throughput where each process has a core, and neighbours do not count.
"""

from __future__ import annotations

import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fsql.benchmarks.job_process import JobProcess
from fsql.benchmarks.measure import SCRIPTS
from fsql.benchmarks.zipf import ZipfKeys, busiest_over_mean
from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.owner_map import OwnerMap
from fsql.compiler.plan_choices import NO_CHOICES
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
from fsql.job.ticks import job_of_state, propose, read_ticks
from fsql.optimizer.levelling import level

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

WORKERS: Final = 2
EQUAL, AUTO, BEST = "equal", "auto", "best"
_COLORS: Final = {EQUAL: "#9aa5b1", AUTO: "#2563a8", BEST: "#15803d"}
_SCRIPT: Final = SCRIPTS / "skew.sql"
_POLL_SECONDS: Final = 0.5
_GROUP_GAP: Final = 0.25
"""The part of a group's width that is left empty."""


@dataclass(frozen=True, slots=True)
class Skew:
    """The parameters: rows of each run, seconds of an interval of `auto`, how often each plan runs."""

    rows: int
    exponents: Sequence[float]
    tick: float
    rounds: int


def measure_skew(skew: Skew) -> Iterator[dict[str, Any]]:
    """Yield the fields of each run.

    Raises:
        JobFailedError: if a run does not come to its end.
    """
    for exponent in skew.exponents:
        with tempfile.TemporaryDirectory(prefix="fsql-bench-") as directory:
            keys, folder = ZipfKeys(exponent, skew.rows), Path(directory)
            (folder / "input").mkdir()
            keys.write(folder / "input", WORKERS)
            expected = b""
            for number in range(skew.rounds * len(_COLORS)):
                plan = tuple(_COLORS)[number % len(_COLORS)]
                fields, written = _run(
                    folder / str(number), folder / "input", plan, keys, skew.tick
                )
                expected = expected or written
                yield {**fields, "bytes_equal": written == expected}


def _run(
    folder: Path, source: Path, plan: str, keys: ZipfKeys, tick: float
) -> tuple[dict[str, Any], bytes]:
    """Return what was measured of a run, and what it has written."""
    folder.mkdir()
    output = folder / "items.jsonl"
    flags = ("--auto", "--tick", f"{tick:g}") if plan == AUTO else ()
    values = {"input": str(source), "output": str(output)}
    bins = keys.bins()
    equal = OwnerMap.of_equal_ranges(WORKERS)
    with JobProcess(_SCRIPT, values, WORKERS, *flags, state=folder / "state") as job:
        while not job.running.wait(_POLL_SECONDS) and job.lives():
            pass
        job.forget_seconds()
        if plan == BEST:
            costs = {number: float(rows) for number, rows in enumerate(bins.tolist())}
            owners = level(equal, costs, [0.0] * WORKERS)
            with suppress(FsqlError):  # the input has ended before
                propose(job.state, job_of_state(job.state), owners, NO_CHOICES, "the best plan")
        job.wait()
    taken = [each for each in read_ticks(job.state)[1] if not each.refused]
    last = OwnerMap.of_ranges(taken[0].proposal.owners, WORKERS) if taken else equal
    seconds = job.seconds()
    used = job.seconds_by_process()
    busy = sorted(each for name, each in used.items() if name.startswith("worker"))[-WORKERS:]
    fields = {
        "benchmark": "skew",
        "exponent": keys.exponent,
        "plan": plan,
        "rows": keys.rows,
        "seconds": round(seconds, 3),
        "rows_per_second": round(keys.rows / seconds),
        "rows_per_busy_second": round(keys.rows / max(busy)) if max(busy) else None,
        "busiest_over_mean": round(max(busy) * WORKERS / sum(busy), 3) if sum(busy) else None,
        "rows_over_mean_at_end": round(busiest_over_mean(last, bins), 3),
        "ticks": len(taken),
        "moved_bins": sum(each.moved_bins for each in taken),
    }
    return fields, output.read_bytes()


def skew_svg(measured: Sequence[dict[str, Any]]) -> str:
    """Return the load of the busiest worker over the mean as bars, the median of each plan and exponent."""
    exponents = sorted({each["exponent"] for each in measured})
    bars = [(each, plan, _median(measured, each, plan)) for each in exponents for plan in _COLORS]
    most = max(2.0, *(value for _, _, (value, _) in bars))
    floor = HEIGHT - BOTTOM

    def y(value: float) -> float:
        return floor - (value - 1) / (most - 1) * (floor - TOP)

    parts: list[str] = []
    for tenths in range(10, int(most * 10) + 1, 2):
        parts += grid_line(y(tenths / 10), f"{tenths / 10:.1f}")
    group = (WIDTH - LEFT - RIGHT) / len(exponents)
    width = group * (1 - _GROUP_GAP) / len(_COLORS)
    for number, (exponent, plan, (value, rate)) in enumerate(bars):
        place, within = divmod(number, len(_COLORS))
        x = LEFT + group * (place + _GROUP_GAP / 2) + width * within
        style = f'style="fill: {_COLORS[plan]}"'
        size = f'width="{width - 4:.1f}" height="{max(floor - y(value), 1):.1f}"'
        parts.append(f'<rect {style} x="{x:.1f}" y="{min(y(value), floor - 1):.1f}" {size}/>')
        middle = round(x + width / 2 - 2, 1)
        parts.append(text_at(middle, round(y(value) - 6, 1), f"{value:.2f}", anchor="middle"))
        parts.append(text_at(middle, floor + 16, plan, anchor="middle"))
        parts.append(text_at(middle, floor + 30, f"{rate / 1e3:,.0f}k", anchor="middle"))
        if within == 1:
            parts.append(text_at(middle, TOP - 14, f"exponent {exponent}", anchor="middle"))
    note = "thousand rows in a second of the busiest worker"
    parts.append(text_at((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 2, note, anchor="middle"))
    return document("processor time of the busiest of 2 workers, over the mean", parts)


def _median(measured: Sequence[dict[str, Any]], exponent: float, plan: str) -> tuple[float, float]:
    """Return the median run by imbalance: that, and the rows in a second of the busiest worker."""
    found = sorted(
        (each["busiest_over_mean"] or 1.0, each["rows_per_busy_second"] or 0.0)
        for each in measured
        if (each["exponent"], each["plan"]) == (exponent, plan)
    )
    return found[(len(found) - 1) // 2]
