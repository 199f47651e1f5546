"""One key with most of the rows, on two workers: equal bins, ticks by themselves, and the best plan known.

The three plans run by turns.  With equal bins, all rows of the hot key are of one worker.  With `auto` ticks
are chosen, and rows of the hot key are pre-aggregated from one of them on.  With `best` that is proposed as
soon as the run has begun.  There are as many files as workers, so reading is even.

`rows_per_busy_second` divides by the processor time of the busiest worker: it is the throughput where each
process has a core.  Until two intervals are measured, `auto` has the plan of `equal`;
`busiest_over_mean_at_end` is of the last third of the run.
"""

from __future__ import annotations

import statistics
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fsql.benchmarks.job_process import JobProcess
from fsql.benchmarks.measure import SCRIPTS
from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.plan_choices import NO_CHOICES, PlanChoices, choices_of
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
from fsql.job.choices_file import plan_of
from fsql.job.ticks import job_of_state, propose, read_ticks
from fsql.optimizer.hot_keys import LEAST_ROWS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

WORKERS: Final = 2
SCRIPT: Final = "hot_key.sql"
READ_AHEAD: Final = 100_000
"""Rows that a split is read ahead: without a limit, most of the input is read before a tick can begin."""
EQUAL, AUTO, BEST = "equal", "auto", "best"
PLANS: Final = {EQUAL: "#9aa5b1", AUTO: "#2563a8", BEST: "#15803d"}
_POLL_SECONDS: Final = 0.05
_GROUP_ROWS: Final = 65_536
_VALUES: Final = ("a", "b", "c", "d")
_VALUES_MAX: Final = 10_000
_FIRST_MS: Final = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1000)


@dataclass(frozen=True, slots=True)
class HotKey:
    """The parameters: rows of each run, the hot key's part of them in percent, how many keys have the others.

    `tick` is the length of an interval of `auto` in seconds, `rounds` how often each plan runs.
    """

    rows: int
    share: int
    keys: int
    tick: float
    rounds: int


def measure_hot_key(load: HotKey) -> Iterator[dict[str, Any]]:
    """Yield the fields of each run, and at the end how the plans compare.

    Raises:
        JobFailedError: if a run does not come to its end.
    """
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="fsql-bench-") as directory:
        folder = Path(directory)
        _write(folder / "input", load)
        expected = b""
        for number in range(load.rounds * len(PLANS)):
            plan = tuple(PLANS)[number % len(PLANS)]
            measured, written = _run(folder, folder / str(number), plan, load)
            expected = expected or written
            fields = {"benchmark": "hot-key", "share": load.share, "keys": load.keys, "plan": plan}
            found.append({**fields, **measured, "bytes_equal": written == expected})
            yield found[-1]
    yield {
        "benchmark": "hot-key",
        "share": load.share,
        "keys": load.keys,
        "plan": "medians",
        "best_by_equal": _ratio(found, BEST, EQUAL),
        "auto_by_equal": _ratio(found, AUTO, EQUAL),
        "auto_by_best": _ratio(found, AUTO, BEST),
    }


def _write(folder: Path, load: HotKey) -> None:
    """Write the rows, always the same ones, dealt out to as many files as there are workers."""
    folder.mkdir()
    random = np.random.default_rng(7)
    names = pa.array(["hot", *(f"k{number:05d}" for number in range(load.keys))])
    kind = pa.timestamp("ms", "UTC")
    values = [(name, pa.int64()) for name in _VALUES]
    schema = pa.schema([("sensor", pa.string()), *values, ("at", kind)])
    for number in range(WORKERS):
        rows = (load.rows + WORKERS - 1 - number) // WORKERS
        with pq.ParquetWriter(folder / f"readings-{number}.parquet", schema) as file:
            for first in range(0, rows, _GROUP_ROWS):
                count = min(_GROUP_ROWS, rows - first)
                hot = random.random(count) * 100 < load.share
                keys = np.where(hot, 0, random.integers(1, load.keys + 1, count))
                times = _FIRST_MS + np.arange(first, first + count) * WORKERS % (86_400 * 1000)
                columns = [
                    names.take(pa.array(keys)),
                    *(pa.array(random.integers(0, _VALUES_MAX, count)) for _ in _VALUES),
                    pa.array(times).cast(kind),
                ]
                file.write_table(pa.table(columns, schema=schema))


def _run(shared: Path, folder: Path, plan: str, load: HotKey) -> tuple[dict[str, Any], bytes]:
    """Return what was measured of a run, and what it has written."""
    folder.mkdir()
    output = folder / "output.jsonl"
    flags = (
        "--read-ahead",
        str(READ_AHEAD),
        *(("--auto", "--tick", f"{load.tick:g}") if plan == AUTO else ()),
    )
    values = {"input": str(shared / "input"), "output": str(output)}
    with JobProcess(SCRIPTS / SCRIPT, values, WORKERS, *flags, state=folder / "state") as job:
        while not job.running.wait(_POLL_SECONDS) and job.lives():
            pass
        job.forget_seconds()
        if plan == BEST:
            with suppress(FsqlError):  # the input has ended before
                _propose_pre_aggregation(job.state)
        job.wait()
    taken = [each for each in read_ticks(job.state)[1] if not each.refused]
    used = job.seconds_by_process()
    busy = sorted(each for name, each in used.items() if name.startswith("worker"))[-WORKERS:]
    fields = {
        "rows": load.rows,
        "seconds": round(job.seconds(), 3),
        "busy_seconds": busy,
        "rows_per_busy_second": round(load.rows / max(busy)) if any(busy) else None,
        "busiest_over_mean": _over_mean(used),
        "busiest_over_mean_at_end": _over_mean(job.seconds_at_end()),
        "ticks": len(taken),
        "pre_aggregates": any(
            least for each in taken for _, least in each.proposal.choices.pre_aggregations
        ),
        "reason": taken[-1].proposal.reason if taken else None,
    }
    return fields, output.read_bytes()


def _propose_pre_aggregation(state: Path) -> None:
    description = job_of_state(state)
    may = choices_of(plan_of(description, NO_CHOICES)).pre_aggregations
    choices = PlanChoices(pre_aggregations=tuple((operator, LEAST_ROWS) for operator, _ in may))
    propose(state, description, None, choices, "the best plan known")


def _over_mean(used: dict[str, float]) -> float | None:
    """Return the processor time of the busiest worker by the mean of all."""
    busy = sorted(each for name, each in used.items() if name.startswith("worker"))[-WORKERS:]
    return round(max(busy) * WORKERS / sum(busy), 3) if sum(busy) > 0 else None


def _ratio(found: Sequence[dict[str, Any]], plan: str, other: str) -> float | None:
    """Return the median throughput under a plan by that under another one."""
    one, another = (_median(found, name) for name in (plan, other))
    return round(one / another, 3) if one and another else None


def _median(found: Sequence[dict[str, Any]], plan: str) -> float:
    rates = [each["rows_per_busy_second"] or 0 for each in found if each["plan"] == plan]
    return statistics.median(rates) if rates else 0.0


def hot_key_svg(measured: Sequence[dict[str, Any]]) -> str:
    """Return the rows in a second of the busiest worker as bars, one for each plan."""
    rates = {plan: _median(measured, plan) for plan in PLANS}
    most = max(1.0, *rates.values())
    floor = HEIGHT - BOTTOM

    def y(value: float) -> float:
        return floor - value / most * (floor - TOP)

    parts: list[str] = []
    for quarter in range(5):
        parts += grid_line(y(most * quarter / 4), f"{most * quarter / 4e3:,.0f}k")
    width = (WIDTH - LEFT - RIGHT) / len(rates)
    for number, (plan, rate) in enumerate(rates.items()):
        x = LEFT + width * (number + 0.2)
        size = f'width="{width * 0.6:.1f}" height="{max(floor - y(rate), 1):.1f}"'
        place = f'x="{x:.1f}" y="{min(y(rate), floor - 1):.1f}"'
        parts.append(f'<rect style="fill: {PLANS[plan]}" {place} {size}/>')
        middle = round(x + width * 0.3, 1)
        by_equal = f"{rate / rates[EQUAL]:.2f} times equal" if rates[EQUAL] else ""
        parts.append(text_at(middle, round(y(rate) - 6, 1), by_equal, anchor="middle"))
        parts.append(text_at(middle, floor + 16, plan, anchor="middle"))
    return document("rows in a second of the busiest of 2 workers", parts)
