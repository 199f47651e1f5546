"""One key with most of the rows, on some workers: equal bins, automatic ticks, and the best plan known.

The three plans run by turns.  With equal bins, all rows of the hot key are of one worker.  With `auto` ticks
are chosen, and rows of the hot key are pre-aggregated from one of them on.  With `best` that is proposed as
soon as the run has started.  There are as many files as workers, so reading is even.

`rows_per_busy_second` divides by the processor time of the busiest worker: it is the throughput where each
process has a core.  Until two intervals are measured, `auto` has the plan of `equal`;
`busiest_over_mean_at_end` is of the last third of the run.  `latency_ms_p99` is as in `fsql bench skew`.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fsql.benchmarks.by_turns import (
    AUTO,
    BEST,
    EQUAL,
    PLANS,
    Variant,
    bars_svg,
    bench_folder,
    busy_of_workers,
    by_turns,
    compare_plans,
    late_ms,
    median_of,
    over_mean,
    run_to_end,
)
from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.plan_choices import NO_CHOICES, PlanChoices, choices_of
from fsql.job.choices_file import plan_of
from fsql.job.ticks import ProposedLayout, job_of_state, propose, read_ticks
from fsql.optimizer.hot_keys import ROWS_MIN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from fsql.benchmarks.job_process import JobProcess

SCRIPT: Final = "hot_key"
_GROUP_ROWS: Final = 65_536
_VALUES: Final = ("a", "b", "c", "d")
_VALUES_MAX: Final = 10_000
_FIRST_MS: Final = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1000)


@dataclass(frozen=True, slots=True)
class HotKey:
    """The parameters: rows of each run, the hot key's part of them in percent, how many keys have the others.

    There are as many files as `workers`.  `tick` is the length of an interval of `auto` in seconds, `rounds`
    how often each plan runs.
    """

    rows: int
    share: int
    keys: int
    workers: int
    tick: float
    rounds: int


def measure_hot_key(load: HotKey) -> Iterator[dict[str, Any]]:
    """Yield the fields of each run, and at the end how the plans compare.

    Raises:
        JobFailedError: if a run does not come to its end.
    """
    found: list[dict[str, Any]] = []
    labels = {
        "benchmark": "hot-key",
        "share": load.share,
        "keys": load.keys,
        "workers": load.workers,
    }
    with bench_folder() as folder:
        _write(folder / "input", load)

        def run(plan: str, own: Path) -> tuple[dict[str, Any], bytes]:
            return _run(folder / "input", own, plan, load)

        for plan, measured in by_turns(tuple(PLANS), load.rounds, folder, run):
            found.append({**labels, "plan": plan, **measured})
            yield found[-1]
    yield {**labels, "plan": "medians", **compare_plans(found)}


def _write(folder: Path, load: HotKey) -> None:
    """Write the rows, always the same ones, dealt out to as many files as there are workers."""
    folder.mkdir()
    random = np.random.default_rng(7)
    names = pa.array(["hot", *(f"k{number:05d}" for number in range(load.keys))])
    kind = pa.timestamp("ms", "UTC")
    values = [(name, pa.int64()) for name in _VALUES]
    schema = pa.schema([("sensor", pa.string()), *values, ("at", kind)])
    for number in range(load.workers):
        rows = (load.rows + load.workers - 1 - number) // load.workers
        with pq.ParquetWriter(folder / f"readings-{number}.parquet", schema) as file:
            for first in range(0, rows, _GROUP_ROWS):
                count = min(_GROUP_ROWS, rows - first)
                hot = random.random(count) * 100 < load.share
                keys = np.where(hot, 0, random.integers(1, load.keys + 1, count))
                times = _FIRST_MS + np.arange(first, first + count) * load.workers % (86_400 * 1000)
                columns = [
                    names.take(pa.array(keys)),
                    *(pa.array(random.integers(0, _VALUES_MAX, count)) for _ in _VALUES),
                    pa.array(times).cast(kind),
                ]
                file.write_table(pa.table(columns, schema=schema))


def _run(rows: Path, folder: Path, plan: str, load: HotKey) -> tuple[dict[str, Any], bytes]:
    """Return what was measured of a run, and what it has written."""
    output, proposed = folder / "output.jsonl", plan != BEST

    def follow(job: JobProcess) -> None:
        nonlocal proposed
        if not proposed:
            proposed = True
            with suppress(FsqlError):  # the input has ended before
                _propose_pre_aggregation(job.state)

    values = {"input": str(rows), "output": str(output)}
    variant = Variant(SCRIPT, values, load.workers, auto=plan == AUTO, tick=load.tick)
    job = run_to_end(variant, folder, follow)
    taken = [each for each in read_ticks(job.state)[1] if not each.refused]
    busy = busy_of_workers(job.seconds_by_process(), load.workers)
    fields = {
        "rows": load.rows,
        "seconds": round(job.seconds(), 3),
        "busy_seconds": busy,
        "rows_per_busy_second": round(load.rows / max(busy)) if any(busy) else None,
        "busiest_over_mean": over_mean(busy),
        "busiest_over_mean_at_end": over_mean(busy_of_workers(job.seconds_at_end(), load.workers)),
        "latency_ms_p99": late_ms(job.state, "readings"),
        "ticks": len(taken),
        "pre_aggregates": any(
            least for each in taken for _, least in each.proposal.choices.pre_aggregations
        ),
        "reason": taken[-1].proposal.reason_line if taken else None,
    }
    return fields, output.read_bytes()


def _propose_pre_aggregation(state: Path) -> None:
    description = job_of_state(state)
    may = choices_of(plan_of(description, NO_CHOICES)).pre_aggregations
    choices = PlanChoices(pre_aggregations=tuple((operator, ROWS_MIN) for operator, _ in may))
    propose(state, description, ProposedLayout(), choices, "the best plan known")


def hot_key_svg(measured: Sequence[dict[str, Any]]) -> str:
    """Return the rows in a second of the busiest worker as bars, one for each plan."""
    rates = {plan: median_of(measured, "plan", plan, "rows_per_busy_second") for plan in PLANS}

    def by_equal(rate: float) -> str:
        return f"{rate / rates[EQUAL]:.2f} times equal" if rates[EQUAL] else ""

    title = "rows in a second of the busiest worker"
    return bars_svg(title, rates, lambda rate: f"{rate / 1e3:,.0f}k", by_equal, PLANS)
