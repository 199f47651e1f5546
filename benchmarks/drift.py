"""Hot keys that move: equal bins, automatic ticks, and the best plan known afterwards, tick by tick.

Rows are joined by keys of Zipf's law on two workers.  In each part of the input, as after each minute of a
stream, other keys are the frequent ones: those in the bins of one worker, and in the next part those of the
other one.  So equal bins look even over a whole run, but are uneven at any time.  What counts is the load of
the busiest worker by the mean in each interval.

The best plan has for each part the owners that level its rows.  They are proposed as soon as the run has read
the parts before, so it is a little late, as any plan is.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from fsql.benchmarks.by_turns import (
    AUTO,
    BEST,
    PLANS,
    WORKERS,
    bench_folder,
    busy_of_workers,
    by_turns,
    compare_plans,
    over_mean,
    ratio_of,
    run_to_end,
)
from fsql.benchmarks.skew import CROWDED, LOADS, propose_level_owners, skew_variant
from fsql.benchmarks.zipf import MovingKeys
from fsql.compiler.diagnostics import FsqlError
from fsql.console.chart import (
    BOTTOM,
    HEIGHT,
    LEFT,
    TOP,
    TimeAxis,
    document,
    grid_line,
    polyline,
    text_at,
)
from fsql.job.ticks import read_ticks
from fsql.optimizer.collectors.files import read_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import pyarrow as pa

    from fsql.benchmarks.job_process import JobProcess
    from fsql.optimizer.collectors.files import Kept

LOAD: Final = LOADS["joins"]
BUSY_MIN: Final = 0.05
"""Intervals in which the busiest worker was on the processor for less of the time do not count."""


@dataclass(frozen=True, slots=True)
class Drift:
    """The parameters: rows of each run, in how many parts keys move, the exponent, and as in `Skew`."""

    rows: int
    moves: int
    exponent: float
    tick: float
    rounds: int


def measure_drift(drift: Drift) -> Iterator[dict[str, Any]]:
    """Yield the fields of each run, and at the end how the plans compare.

    Raises:
        JobFailedError: if a run does not come to its end.
    """
    found: list[dict[str, Any]] = []
    labels = {"benchmark": "drift", "exponent": drift.exponent, "parts": drift.moves + 1}
    keys = MovingKeys(drift.exponent, drift.rows, crowded=CROWDED, parts=drift.moves + 1)
    with bench_folder() as folder:
        (folder / "input").mkdir()
        keys.write(folder / "input", WORKERS)
        keys.write_keys(folder / "keys.csv")

        def run(plan: str, own: Path) -> tuple[dict[str, Any], bytes]:
            return _run(folder, own, plan, keys, drift.tick)

        for plan, measured in by_turns(tuple(PLANS), drift.rounds, folder, run):
            found.append({**labels, "plan": plan, **measured})
            yield found[-1]
    imbalances = {
        f"{plan}_imbalance_by_best": ratio_of(found, (plan, BEST), field="busiest_over_mean")
        for plan in PLANS
        if plan != BEST
    }
    yield {**labels, "plan": "medians", **compare_plans(found), **imbalances}


class _BestPlan:
    """Proposes the owners that level each part of the input, as the run comes to it."""

    def __init__(self, keys: MovingKeys) -> None:
        self._bins = [part.bins() for part in keys.of_parts]
        self._begins = [0]
        for part in keys.of_parts:
            self._begins.append(self._begins[-1] + part.rows)
        self._proposed = 0
        self._kept: Kept = {}

    def follow(self, job: JobProcess) -> None:
        """Propose the owners of the next part, if the run has come to it."""
        part = self._proposed
        if part < len(self._bins) and self._rows_read(job.state) >= self._begins[part]:
            with suppress(FsqlError):  # another tick is under way, or the input has ended
                propose_level_owners(job.state, self._bins[part])
                self._proposed += 1

    def _rows_read(self, state: Path) -> int:
        """Return how many rows workers have read, as their statistics say."""
        contents: list[pa.Table] = []

        def take(table: str, path: Path, content: pa.Table) -> None:
            del table, path
            contents.append(content)

        read_files(state, take, ("fronts",), sys.maxsize, self._kept)
        return sum(sum(each.column("rows").to_pylist()) for each in contents)


def _run(
    shared: Path, folder: Path, plan: str, keys: MovingKeys, tick: float
) -> tuple[dict[str, Any], bytes]:
    """Return what was measured of a run, and what it has written."""
    output, best = folder / "output.jsonl", _BestPlan(keys)
    variant = skew_variant(LOAD, shared, output, tick, auto=plan == AUTO)
    job = run_to_end(variant, folder, best.follow if plan == BEST else lambda _: None)
    taken = [each for each in read_ticks(job.state)[1] if not each.refused]
    busy = busy_of_workers(job.seconds_by_process())
    by_tick = [
        (at, busy_of_workers(used))
        for at, used in job.seconds_by_interval(tick)
        if max(busy_of_workers(used), default=0.0) >= BUSY_MIN * tick
    ]
    most, all_ = (sum(of(each) for _, each in by_tick) for of in (max, sum))
    fields = {
        "rows": keys.rows,
        "seconds": round(job.seconds(), 3),
        "rows_per_busy_second": round(keys.rows / max(busy)) if any(busy) else None,
        "busiest_over_mean": round(most * WORKERS / all_, 3) if all_ > 0 else None,
        "busiest_over_mean_of_run": over_mean(busy),
        "by_tick": [{"at": round(at, 2), "over_mean": over_mean(each)} for at, each in by_tick],
        "ticks": len(taken),
        "moved_bins": sum(each.moved_bins for each in taken),
    }
    return fields, output.read_bytes()


def drift_svg(measured: Sequence[dict[str, Any]]) -> str:
    """Return the load of the busiest worker by the mean, tick by tick: of the last run of each plan."""
    runs = {each["plan"]: each["by_tick"] for each in measured if each["plan"] in PLANS}
    times = TimeAxis(max((each["at"] for of_plan in runs.values() for each in of_plan), default=1))

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (value - 1) / (WORKERS - 1) * (HEIGHT - TOP - BOTTOM)

    parts: list[str] = []
    for tenths in range(10, WORKERS * 10 + 1, 2):
        parts += grid_line(y(tenths / 10), f"{tenths / 10:.1f}")
    parts += times.axis("seconds from the first row on")
    for number, (plan, of_plan) in enumerate(runs.items()):
        points = [(times.x(each["at"]), y(each["over_mean"])) for each in of_plan]
        x = LEFT + 90 * number
        parts.append(polyline(points, "curve", PLANS[plan]))
        parts.append(polyline([(x, TOP - 18), (x + 18, TOP - 18)], "curve", PLANS[plan]))
        parts.append(text_at(x + 24, TOP - 14, plan))
    return document("processor time of the busiest of 2 workers, over the mean, by tick", parts)
