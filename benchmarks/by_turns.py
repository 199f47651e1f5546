"""Runs of one job in several variants by turns, and how they compare.

On a machine that others use too, runs by turns are disturbed alike.  What counts is processor time: it is
the throughput where each process has a core.
"""

from __future__ import annotations

import statistics
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

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
from fsql.optimizer.collectors.built_in import collect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Fields = dict[str, Any]

WORKERS: Final = 2
READ_AHEAD: Final = 100_000
"""Rows that a split is read ahead: without a limit, most of the input is read before a tick can begin."""
EQUAL, AUTO, BEST = "equal", "auto", "best"
PLANS: Final = {EQUAL: "#9aa5b1", AUTO: "#2563a8", BEST: "#15803d"}
"""The plans that are compared, with their colours: equal bins, automatic ticks, the best one known."""
_POLL_SECONDS: Final = 0.05
_QUARTERS: Final = 4


@dataclass(frozen=True, slots=True)
class Variant:
    """One run: a script of the benchmarks with its parameters, whether ticks are chosen, and its profile.

    Workers write statistics every `tick` seconds in any case, so what that costs is the same for all.
    """

    script: str
    values: Mapping[str, str]
    workers: int = WORKERS
    auto: bool = False
    tick: float = 1.0
    profile: Path | None = None

    def flags(self) -> tuple[str, ...]:
        """Return the flags of the run."""
        auto = ("--auto",) if self.auto else ()
        profile = () if self.profile is None else ("--profile", str(self.profile))
        return ("--read-ahead", str(READ_AHEAD), "--tick", f"{self.tick:g}", *auto, *profile)


@contextmanager
def bench_folder() -> Iterator[Path]:
    """Create a temporary folder, and delete it at the end."""
    with tempfile.TemporaryDirectory(prefix="fsql-bench-") as directory:
        yield Path(directory)


def by_turns(
    names: Sequence[str],
    rounds: int,
    folder: Path,
    run: Callable[[str, Path], tuple[Fields, bytes]],
) -> Iterator[tuple[str, Fields]]:
    """Run each of `names` this number of times by turns; yield the name and what was measured of each run.

    `run` is given a name and a folder, and returns what was measured and written.
    """
    expected = b""
    for number in range(rounds * len(names)):
        name, own = names[number % len(names)], folder / str(number)
        own.mkdir()
        measured, written = run(name, own)
        expected = expected or written
        yield name, {**measured, "bytes_equal": written == expected}


def run_to_end(
    variant: Variant, folder: Path, follow: Callable[[JobProcess], None] = lambda _: None
) -> JobProcess:
    """Run a variant to its end; `follow` is called as soon as it runs, and at each sample.

    Raises:
        JobFailedError: if it fails.
    """
    path = SCRIPTS / f"{variant.script}.sql"
    state = folder / "state"
    with JobProcess(path, variant.values, variant.workers, *variant.flags(), state=state) as job:
        while not job.running.wait(_POLL_SECONDS) and job.is_running():
            pass
        job.forget_seconds()
        follow(job)
        job.wait(lambda: follow(job))
    return job


def busy_of_workers(used: Mapping[str, float], workers: int = WORKERS) -> list[float]:
    """Return the processor times of the workers, ascending, given those of all processes."""
    return sorted(each for name, each in used.items() if name.startswith("worker"))[-workers:]


def over_mean(busy: Sequence[float]) -> float | None:
    """Return the greatest of some times by their mean, None if nothing was done."""
    return round(max(busy) * len(busy) / sum(busy), 3) if sum(busy) > 0 else None


def late_ms(state: Path, table: str) -> float | None:
    """Return the 99th percentile of the age of a table's chunks when all their results had been released.

    It is in milliseconds, to a fifth, and new intervals of the run count more than old ones; None if there
    are no statistics.
    """
    found = {each.table: each.p99 for each in collect(state).latency}
    return round(found[table] * 1000) if table in found else None


def median_of(found: Sequence[Fields], key: str, name: str, field: str) -> float:
    """Return the median of a field over the runs whose `key` is `name`; 0 if there is none."""
    values = [each[field] or 0.0 for each in found if each[key] == name]
    return statistics.median(values) if values else 0.0


def ratio_of(
    found: Sequence[Fields],
    names: tuple[str, str],
    key: str = "plan",
    field: str = "rows_per_busy_second",
) -> float | None:
    """Return the median of a field under the first of two names by that under the second one."""
    one, other = (median_of(found, key, name, field) for name in names)
    return round(one / other, 3) if one and other else None


def compare_plans(found: Sequence[Fields]) -> Fields:
    """Return how the throughputs of the plans compare, and their latencies where these were measured."""
    pairs = ((AUTO, EQUAL), (AUTO, BEST), (BEST, EQUAL))
    compared = {f"{one}_by_{other}": ratio_of(found, (one, other)) for one, other in pairs}
    if all("latency_ms_p99" in each for each in found):
        for one, other in pairs:
            ratio = ratio_of(found, (one, other), field="latency_ms_p99")
            compared[f"{one}_latency_by_{other}"] = ratio
    return compared


def bars_svg(
    title: str,
    values: Mapping[str, float],
    on_axis: Callable[[float], str],
    on_bar: Callable[[float], str],
    colours: Mapping[str, str],
) -> str:
    """Return a bar for each value, with its name; what is written on the axis and on a bar is given."""
    most = max(1e-3, *values.values())
    floor = HEIGHT - BOTTOM

    def y(value: float) -> float:
        return floor - value / most * (floor - TOP)

    parts: list[str] = []
    for quarter in range(_QUARTERS + 1):
        value = most * quarter / _QUARTERS
        parts += grid_line(y(value), on_axis(value))
    width = (WIDTH - LEFT - RIGHT) / len(values)
    for number, (name, value) in enumerate(values.items()):
        x = LEFT + width * (number + 0.2)
        size = f'width="{width * 0.6:.1f}" height="{max(floor - y(value), 1):.1f}"'
        corner = f'x="{x:.1f}" y="{min(y(value), floor - 1):.1f}"'
        parts.append(f'<rect style="fill: {colours[name]}" {corner} {size}/>')
        middle = round(x + width * 0.3, 1)
        parts.append(text_at(middle, round(y(value) - 6, 1), on_bar(value), anchor="middle"))
        parts.append(text_at(middle, floor + 16, name, anchor="middle"))
    return document(title, parts)
