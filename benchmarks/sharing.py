"""What a condition costs wherever it is written, and what a second query costs after the same condition.

The scripts run by turns, on one worker, over the same rows.  `first` and `last` have an expensive condition
written first and last, `first-auto` and `last-auto` are the same with ticks that are chosen: one of them lets
the cheap condition go first, once it is measured.  `one` is a query after an expensive condition, `two` are
two queries that have it in common.

`busy_seconds` is the processor time of the worker, from its first row on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from fsql.benchmarks.by_turns import (
    AUTO,
    PLANS,
    Variant,
    bars_svg,
    bench_folder,
    busy_of_workers,
    by_turns,
    median_of,
    ratio_of,
    run_to_end,
)
from fsql.benchmarks.drawn_lines import DrawnLines
from fsql.job.ticks import read_ticks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

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
LINES: Final = DrawnLines(4096, 60, "abcdxy0123", numbers_below=1000)
"""Half of the lines match the expensive condition; one number in 20 is small."""


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
    with bench_folder() as folder:
        LINES.write(folder / "input", load.rows)

        def run(variant: str, own: Path) -> tuple[dict[str, Any], bytes]:
            return _run(folder / "input", own, variant, load)

        for variant, measured in by_turns(tuple(VARIANTS), load.rounds, folder, run):
            labels = {"benchmark": "sharing", "variant": variant, "rows": load.rows}
            found.append({**labels, **measured})
            yield found[-1]
    yield {
        "benchmark": "sharing",
        "variant": "medians",
        **{
            f"{one}_by_{other}": ratio_of(found, (one, other), "variant", "busy_seconds")
            for one, other in COMPARED
        },
    }


def _run(rows: Path, folder: Path, variant: str, load: Sharing) -> tuple[dict[str, Any], bytes]:
    """Return what was measured of a run, and what its first query has written."""
    output = folder / "output.jsonl"
    script, auto = VARIANTS[variant]
    values = {"input": str(rows), "output": str(output)}
    job = run_to_end(Variant(script, values, 1, auto, load.tick), folder)
    taken = [each for each in read_ticks(job.state)[1] if not each.refused]
    fields = {
        "seconds": round(job.seconds(), 3),
        "busy_seconds": sum(busy_of_workers(job.seconds_by_process(), 1)),
        "ticks": len(taken),
        "reason": taken[-1].proposal.reason_line if taken else None,
    }
    return fields, output.read_bytes()


def sharing_svg(measured: Sequence[dict[str, Any]]) -> str:
    """Return the processor time of each variant as bars."""
    spent = {name: median_of(measured, "variant", name, "busy_seconds") for name in VARIANTS}
    colours = dict.fromkeys(VARIANTS, PLANS[AUTO])
    title = "processor time of the worker"
    return bars_svg(title, spent, lambda s: f"{s:.2g} s", lambda s: f"{s:.2f} s", colours)
