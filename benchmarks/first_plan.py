"""What a profile of the input gains before the first tick: frequent keys on two workers, without `--auto`.

Loads are those of `skew`: with equal bins, the most frequent keys are all on one worker.  `equal` begins
without a profile, `profiled` with one, and both keep their first plan.  They run by turns.  A profile is made
once for each load; `profile_seconds` is the processor time that it takes, all rows read.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from fsql.benchmarks.by_turns import (
    EQUAL,
    WORKERS,
    bench_folder,
    busy_of_workers,
    by_turns,
    median_of,
    over_mean,
    ratio_of,
    run_to_end,
)
from fsql.benchmarks.measure import SCRIPTS
from fsql.benchmarks.skew import CROWDED, LOADS, skew_variant
from fsql.benchmarks.zipf import ZipfKeys
from fsql.job.compilation import compile_job
from fsql.job.profile import profile_input
from fsql.job.script_file import script_of_text
from fsql.optimizer.collectors.profile_file import profile_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

PROFILED: Final = "profiled"


@dataclass(frozen=True, slots=True)
class FirstPlan:
    """The parameters: loads, rows of each run, the exponent of Zipf's law, how often each plan runs."""

    loads: Sequence[str]
    rows: int
    exponent: float
    rounds: int


def measure_first_plan(first: FirstPlan) -> Iterator[dict[str, Any]]:
    """Yield the fields of each run, and after all runs of a load how the plans compare.

    Raises:
        JobFailedError: if a run does not come to its end.
    """
    for name in first.loads or LOADS:
        yield from _compare(name, first)


def _compare(name: str, first: FirstPlan) -> Iterator[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    labels = {"benchmark": "profile", "load": name, "exponent": first.exponent}
    load = LOADS[name]
    keys = ZipfKeys(first.exponent, first.rows, crowded=CROWDED, other_keys=load.other_keys)
    with bench_folder() as folder:
        (folder / "input").mkdir()
        keys.write(folder / "input", WORKERS)
        keys.write_keys(folder / "keys.csv")
        variant = skew_variant(load, folder, folder / "none.jsonl", 1.0, auto=False)
        profile, seconds = _write_profile(folder, load.script, dict(variant.values))

        def run(plan: str, own: Path) -> tuple[dict[str, Any], bytes]:
            output = own / "output.jsonl"
            given = profile if plan == PROFILED else None
            job = run_to_end(
                skew_variant(load, folder, output, 1.0, auto=False, profile=given), own
            )
            busy = busy_of_workers(job.seconds_by_process())
            most = max(busy, default=0.0)
            fields = {
                "rows": first.rows,
                "seconds": round(job.seconds(), 3),
                "busy_seconds": busy,
                "rows_per_busy_second": round(first.rows / most) if most else None,
                "busiest_over_mean": over_mean(busy),
            }
            return fields, output.read_bytes()

        for plan, measured in by_turns((EQUAL, PROFILED), first.rounds, folder, run):
            found.append({**labels, "plan": plan, **measured})
            yield found[-1]
    yield {
        **labels,
        "plan": "medians",
        "profile_seconds": round(seconds, 2),
        **{
            f"{plan}_busiest_over_mean": median_of(found, "plan", plan, "busiest_over_mean")
            for plan in (EQUAL, PROFILED)
        },
        "profiled_by_equal": ratio_of(found, (PROFILED, EQUAL)),
    }


def _write_profile(folder: Path, script: str, values: dict[str, str]) -> tuple[Path, float]:
    """Write a profile of the input of a script; return its path and the processor time in seconds."""
    compiled = compile_job(script_of_text((SCRIPTS / f"{script}.sql").read_text(), values))
    began, path = time.process_time(), folder / "first.profile"
    path.write_bytes(profile_bytes(profile_input(compiled)))
    return path, time.process_time() - began
