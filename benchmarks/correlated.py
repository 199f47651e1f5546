"""What the order of filters gains from the measured pairs of conditions that depend on each other.

The scripts run by turns, on one worker, over the same rows.  `written` has the order of the script.  The
others begin with a plan by a profile of the input: `independent` by one without its pairs, so conditions
count as independent of each other, `pairs` by the whole one.

`busy_seconds` is the processor time of the worker, from its first row on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from fsql.benchmarks.by_turns import (
    Variant,
    bench_folder,
    busy_of_workers,
    by_turns,
    ratio_of,
    run_to_end,
)
from fsql.benchmarks.drawn_lines import DrawnLines
from fsql.benchmarks.measure import SCRIPTS
from fsql.compiler.plan_choices import PAIR
from fsql.job.compilation import compile_job
from fsql.job.profile import profile_input
from fsql.job.script_file import script_of_text
from fsql.optimizer.collectors.profile_file import profile_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WRITTEN, INDEPENDENT, PAIRS = "written", "independent", "pairs"
VARIANTS: Final = (WRITTEN, INDEPENDENT, PAIRS)
SCRIPT: Final = "filters_correlated"
LINES: Final = DrawnLines(4000, 150, "acdxy0123")


@dataclass(frozen=True, slots=True)
class Correlated:
    """The parameters: rows of each run, and how often each variant runs."""

    rows: int
    rounds: int


def measure_correlated(load: Correlated) -> Iterator[dict[str, Any]]:
    """Yield the fields of each run, and at the end how the variants compare.

    Raises:
        JobFailedError: if a run does not come to its end.
    """
    found: list[dict[str, Any]] = []
    with bench_folder() as folder:
        LINES.write(folder / "input", load.rows)
        profiles = _write_profiles(folder)

        def run(variant: str, own: Path) -> tuple[dict[str, Any], bytes]:
            output = own / "output.jsonl"
            values = {"input": str(folder / "input"), "output": str(output)}
            job = run_to_end(Variant(SCRIPT, values, 1, profile=profiles.get(variant)), own)
            fields = {
                "seconds": round(job.seconds(), 3),
                "busy_seconds": sum(busy_of_workers(job.seconds_by_process(), 1)),
            }
            return fields, output.read_bytes()

        for variant, measured in by_turns(VARIANTS, load.rounds, folder, run):
            labels = {"benchmark": "correlated", "variant": variant, "rows": load.rows}
            found.append({**labels, **measured})
            yield found[-1]
    ratios = {
        f"{one}_by_{other}": ratio_of(found, (one, other), "variant", "busy_seconds")
        for one, other in ((INDEPENDENT, WRITTEN), (PAIRS, WRITTEN), (PAIRS, INDEPENDENT))
    }
    yield {"benchmark": "correlated", "variant": "medians", **ratios}


def _write_profiles(folder: Path) -> dict[str, Path]:
    """Write a profile of the input with and one without pairs of conditions."""
    values = {"input": str(folder / "input"), "output": str(folder / "none.jsonl")}
    text = (SCRIPTS / f"{SCRIPT}.sql").read_text()
    profile = profile_input(compile_job(script_of_text(text, values)))
    alone = tuple(each for each in profile.operators if PAIR not in each.operator)
    found = {PAIRS: profile, INDEPENDENT: profile._replace(operators=alone)}
    paths = {name: folder / f"{name}.profile" for name in found}
    for name, path in paths.items():
        path.write_bytes(profile_bytes(found[name]))
    return paths
