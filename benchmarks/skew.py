"""Keys of which some are frequent, on two workers: equal bins, automatic ticks, and the best plan.

With equal bins, the most frequent keys are all on one worker.  The three plans run by turns, for each load
and each exponent of Zipf's law.  The best plan levels the bins with all rows of the input known; it is
proposed as soon as the run has started.  There are as many files as workers, so reading is even.

Rows a second are those of the machine as it is.  `rows_per_busy_second` divides by the processor time of the
busiest worker: it is the throughput where each process has a core, and other programs on the machine matter
little.  Until two intervals are measured, `auto` has equal bins; `busiest_over_mean_at_end` is of the last
third of the run.  `latency_ms_p99` is the age of a chunk of events when all its results have been released;
input is read as fast as it is processed, up to the limit of rows that are read ahead.
"""

from __future__ import annotations

import statistics
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from fsql.benchmarks.by_turns import (
    AUTO,
    BEST,
    PLANS,
    WORKERS,
    Variant,
    bench_folder,
    busy_of_workers,
    by_turns,
    compare_plans,
    late_ms,
    over_mean,
    run_to_end,
)
from fsql.benchmarks.measure import SCRIPTS
from fsql.benchmarks.zipf import ZipfKeys, busiest_over_mean
from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.owner_map import OwnerMap
from fsql.compiler.owners import Owners
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
from fsql.job.ticks import ProposedLayout, job_of_state, propose, read_ticks
from fsql.optimizer.levelling import level

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from fsql.benchmarks.job_process import JobProcess

    Bins = Callable[[ZipfKeys], NDArray[np.int64]]

CROWDED: Final = 64
"""How many of the most frequent keys are on one worker where bins are equal."""
_GROUP_GAP: Final = 0.25
"""The part of a group's width that is left empty."""
_GROUPS_WITH_TEXT: Final = 3
"""With more groups, bars are too narrow for text."""
_DAY: Final = tuple(
    pa.scalar(datetime(2026, 1, day, tzinfo=UTC), pa.timestamp("us", "UTC")) for day in (1, 2)
)


@dataclass(frozen=True, slots=True)
class SkewLoad:
    """A script, what it exchanges rows by besides the key, and how many rows its bins get."""

    script: str
    other_keys: tuple[pa.Scalar[Any], ...]
    bins: Bins


LOADS: Final = {
    "joins": SkewLoad("skew_joins", (), ZipfKeys.bins),
    # Each change of a count is a removal and an addition.
    "maxima": SkewLoad("skew_maxima", (), lambda keys: 2 * keys.bins() + keys.bins_with_items()),
    "windows": SkewLoad("skew_windows", _DAY, ZipfKeys.bins),
}


@dataclass(frozen=True, slots=True)
class Skew:
    """The parameters: loads, rows of each run, seconds of an interval of `auto`, how often each plan runs."""

    loads: Sequence[str]
    rows: int
    exponents: Sequence[float]
    tick: float
    rounds: int


def measure_skew(skew: Skew) -> Iterator[dict[str, Any]]:
    """Yield the fields of each run, and after all runs of a load and an exponent how the plans compare.

    Raises:
        JobFailedError: if a run does not come to its end.
    """
    for name in skew.loads or LOADS:
        for exponent in skew.exponents:
            yield from _compare(name, exponent, skew)


def _compare(name: str, exponent: float, skew: Skew) -> Iterator[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    labels = {"benchmark": "skew", "load": name, "exponent": exponent}
    with bench_folder() as folder:
        load = LOADS[name]
        keys = ZipfKeys(exponent, skew.rows, crowded=CROWDED, other_keys=load.other_keys)
        (folder / "input").mkdir()
        keys.write(folder / "input", WORKERS)
        keys.write_keys(folder / "keys.csv")

        def run(plan: str, own: Path) -> tuple[dict[str, Any], bytes]:
            return _run(folder, own, plan, load, keys, skew.tick)

        for plan, measured in by_turns(tuple(PLANS), skew.rounds, folder, run):
            found.append({**labels, "plan": plan, **measured})
            yield found[-1]
    yield {**labels, "plan": "medians", **compare_plans(found)}


def _run(
    shared: Path, folder: Path, plan: str, load: SkewLoad, keys: ZipfKeys, tick: float
) -> tuple[dict[str, Any], bytes]:
    """Return what was measured of a run, and what it has written."""
    output = folder / "output.jsonl"
    bins, proposed = load.bins(keys), plan != BEST

    def follow(job: JobProcess) -> None:
        nonlocal proposed
        if not proposed:
            proposed = True
            with suppress(FsqlError):  # the input has ended before
                propose_level_owners(job.state, bins)

    job = run_to_end(skew_variant(load, shared, output, tick, auto=plan == AUTO), folder, follow)
    taken = [each for each in read_ticks(job.state)[1] if not each.refused]
    equal = OwnerMap.of_equal_ranges(WORKERS)
    last = OwnerMap.of_ranges(taken[0].proposal.owners, WORKERS) if taken else equal
    busy = busy_of_workers(job.seconds_by_process())
    seconds, most = job.seconds(), max(busy, default=0.0)
    fields = {
        "rows": keys.rows,
        "seconds": round(seconds, 3),
        "rows_per_second": round(keys.rows / seconds),
        "rows_per_busy_second": round(keys.rows / most) if most else None,
        "busiest_over_mean": over_mean(busy),
        "busiest_over_mean_at_end": over_mean(busy_of_workers(job.seconds_at_end())),
        "rows_over_mean_at_end": round(busiest_over_mean(last, bins), 3),
        "latency_ms_p99": late_ms(job.state, "events"),
        "ticks": len(taken),
        "moved_bins": sum(each.moved_bins for each in taken),
        "chooser_seconds": job.seconds_by_process().get("launcher"),
    }
    return fields, output.read_bytes()


def skew_variant(
    load: SkewLoad,
    shared: Path,
    output: Path,
    tick: float,
    *,
    auto: bool,
    profile: Path | None = None,
) -> Variant:
    """Return a run of a load over the rows and the keys in a folder."""
    values = {"input": str(shared / "input"), "output": str(output)}
    if "${keys}" in (SCRIPTS / f"{load.script}.sql").read_text():
        values["keys"] = str(shared / "keys.csv")
    return Variant(load.script, values, auto=auto, tick=tick, profile=profile)


def propose_level_owners(state: Path, bins: NDArray[np.int64]) -> None:
    """Propose the owners that level the rows of bins.

    Raises:
        FsqlError: if no tick can be proposed now.
    """
    costs = {number: float(rows) for number, rows in enumerate(bins.tolist())}
    owners = Owners(level(OwnerMap.of_equal_ranges(WORKERS), costs, [0.0] * WORKERS))
    propose(state, job_of_state(state), ProposedLayout(owners), NO_CHOICES, "the best plan")


def skew_svg(measured: Sequence[dict[str, Any]]) -> str:
    """Return the load of the busiest worker over the mean as bars, by load, exponent and plan."""
    runs = [each for each in measured if each["plan"] in PLANS]
    groups = list(dict.fromkeys((each["load"], each["exponent"]) for each in runs))
    bars = [(group, plan, *_medians(runs, group, plan)) for group in groups for plan in PLANS]
    most = max(2.0, *(value for _, _, value, _ in bars))
    floor = HEIGHT - BOTTOM

    def y(value: float) -> float:
        return floor - (value - 1) / (most - 1) * (floor - TOP)

    parts: list[str] = []
    for tenths in range(10, int(most * 10) + 1, 2):
        parts += grid_line(y(tenths / 10), f"{tenths / 10:.1f}")
    width = (WIDTH - LEFT - RIGHT) / len(groups)
    bar = width * (1 - _GROUP_GAP) / len(PLANS)
    for number, ((load, exponent), plan, value, rate) in enumerate(bars):
        group_number, within = divmod(number, len(PLANS))
        x = LEFT + width * (group_number + _GROUP_GAP / 2) + bar * within
        style = f'style="fill: {PLANS[plan]}"'
        size = f'width="{bar - 2:.1f}" height="{max(floor - y(value), 1):.1f}"'
        parts.append(f'<rect {style} x="{x:.1f}" y="{min(y(value), floor - 1):.1f}" {size}/>')
        middle = round(x + bar / 2 - 1, 1)
        if len(groups) <= _GROUPS_WITH_TEXT:
            parts.append(text_at(middle, round(y(value) - 6, 1), f"{value:.2f}", anchor="middle"))
            parts.append(text_at(middle, floor + 30, f"{rate / 1e3:,.0f}k", anchor="middle"))
            parts.append(text_at(middle, floor + 16, plan, anchor="middle"))
        if within == 1:
            parts.append(text_at(middle, TOP - 14, f"{load} {exponent}", anchor="middle"))
    note = "thousand rows in a second of the busiest worker"
    if len(groups) > _GROUPS_WITH_TEXT:
        note = "from left to right: equal bins, --auto, the best plan"
    parts.append(text_at((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 2, note, anchor="middle"))
    return document("processor time of the busiest of 2 workers, over the mean", parts)


def _medians(
    runs: Sequence[dict[str, Any]], group: tuple[str, float], plan: str
) -> tuple[float, float]:
    """Return the medians of the imbalance, and of the rows in a second of the busiest worker."""
    found = [
        each for each in runs if (each["load"], each["exponent"]) == group and each["plan"] == plan
    ]
    return (
        statistics.median(each["busiest_over_mean"] or 1.0 for each in found),
        statistics.median(each["rows_per_busy_second"] or 0.0 for each in found),
    )
