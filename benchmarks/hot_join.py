"""A join in which one key has most of the rows of a side: on one worker, or divided among all.

Both variants run by turns.  `whole` has no hint, so one worker has all rows of the hot key; `divided` has the
hint SKEW with that key.  Pairs are made of all rows, and few of them are written.  There are as many files as
workers, so reading is even.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fsql.benchmarks.by_turns import (
    Variant,
    bars_svg,
    bench_folder,
    busy_of_workers,
    by_turns,
    median_of,
    over_mean,
    ratio_of,
    run_to_end,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

WHOLE, DIVIDED = "whole", "divided"
HINTS: Final = {WHOLE: "", DIVIDED: "/*+ SKEW('r', 'sensor', 'hot') */"}
_COLOURS: Final = {WHOLE: "#9aa5b1", DIVIDED: "#15803d"}
_GROUP_ROWS: Final = 65_536
_VALUES_MAX: Final = 10_000
_LIMIT: Final = 2 * _VALUES_MAX - 200
"""The limit of each sensor: 1 of 5,000 readings is above it."""


@dataclass(frozen=True, slots=True)
class HotJoin:
    """The parameters: rows of each run, the hot key's part of them in percent, how many keys have the others.

    `rounds` is how often each variant runs.
    """

    rows: int
    share: int
    keys: int
    workers: int
    rounds: int


def measure_hot_join(load: HotJoin) -> Iterator[dict[str, Any]]:
    """Yield the fields of each run, and at the end how the variants compare.

    Raises:
        JobFailedError: if a run does not come to its end.
    """
    found: list[dict[str, Any]] = []
    labels = {"benchmark": "hot-join", "share": load.share, "keys": load.keys}
    with bench_folder() as folder:
        _write(folder, load)

        def run(plan: str, own: Path) -> tuple[dict[str, Any], bytes]:
            return _run(folder, own, plan, load)

        for plan, measured in by_turns(tuple(HINTS), load.rounds, folder, run):
            found.append({**labels, "plan": plan, **measured})
            yield found[-1]
    pair = (DIVIDED, WHOLE)
    fields = {
        "divided_by_whole": ratio_of(found, pair),
        "divided_by_whole_in_seconds": ratio_of(found, pair, field="rows_per_second"),
    }
    yield {**labels, "workers": load.workers, "plan": "medians", **fields}


def _write(folder: Path, load: HotJoin) -> None:
    """Write the rows, always the same ones, into as many files as there are workers, and the limits."""
    (folder / "input").mkdir()
    random = np.random.default_rng(7)
    names = ["hot", *(f"k{number:05d}" for number in range(load.keys))]
    lines = (f'{{"sensor": "{name}", "least": {_LIMIT}}}\n' for name in names)
    (folder / "limits.jsonl").write_text("".join(lines))
    schema = pa.schema([("sensor", pa.string()), ("a", pa.int64()), ("b", pa.int64())])
    for number in range(load.workers):
        rows = (load.rows + load.workers - 1 - number) // load.workers
        with pq.ParquetWriter(folder / "input" / f"readings-{number}.parquet", schema) as file:
            for first in range(0, rows, _GROUP_ROWS):
                count = min(_GROUP_ROWS, rows - first)
                hot = random.random(count) * 100 < load.share
                keys = np.where(hot, 0, random.integers(1, load.keys + 1, count))
                values = (pa.array(random.integers(0, _VALUES_MAX, count)) for _ in "ab")
                columns = [pa.array(names).take(pa.array(keys)), *values]
                file.write_table(pa.table(columns, schema=schema))


def _run(shared: Path, folder: Path, plan: str, load: HotJoin) -> tuple[dict[str, Any], bytes]:
    """Return what was measured of a run, and what it has written."""
    output = folder / "output.jsonl"
    paths = {"input": shared / "input", "limits": shared / "limits.jsonl", "output": output}
    values = {**{name: str(path) for name, path in paths.items()}, "hint": HINTS[plan]}
    job = run_to_end(Variant("hot_join", values, load.workers), folder)
    busy = busy_of_workers(job.seconds_by_process(), load.workers)
    fields = {
        "workers": load.workers,
        "rows": load.rows,
        "seconds": round(job.seconds(), 3),
        "rows_per_second": round(load.rows / job.seconds()),
        "busy_seconds": busy,
        "rows_per_busy_second": round(load.rows / max(busy)) if any(busy) else None,
        "busiest_over_mean": over_mean(busy),
    }
    return fields, output.read_bytes()


def hot_join_svg(measured: Sequence[dict[str, Any]]) -> str:
    """Return the rows in a second of the busiest worker as bars, one for each variant."""
    rates = {plan: median_of(measured, "plan", plan, "rows_per_busy_second") for plan in HINTS}

    def by_whole(rate: float) -> str:
        return f"{rate / rates[WHOLE]:.2f} times whole" if rates[WHOLE] else ""

    title = "rows of a join in a second of the busiest worker"
    return bars_svg(title, rates, lambda rate: f"{rate / 1e3:,.0f}k", by_whole, _COLOURS)
