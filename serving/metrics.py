"""What Prometheus reads: figures of jobs, with a bounded number of labels."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from fsql.serving.jobs import ServedJobs


Values: TypeAlias = "Sequence[tuple[dict[str, str], float]]"


class JobFigures(NamedTuple):
    """The figures of one job: its state in a word, and counters and gauges by name."""

    state: str
    counters: Mapping[str, int]
    restart_failures: int
    problems: int
    snapshot_at: float | None
    held_seconds: float


class ReadFigures(Protocol):
    """Returns the figures of all jobs, by name."""

    def __call__(self) -> Mapping[str, JobFigures]:
        """Return them."""


STATES: Final = ("starting", "running", "recovering", "waiting", "finished", "failed", "stopped")
COUNTERS: Final = {
    "rows_in": ("fsql_job_rows_in_total", "Rows that the job has read."),
    "rows_out": ("fsql_job_rows_out_total", "Rows that the job has released."),
    "bytes_in": ("fsql_job_bytes_in_total", "Bytes that the job has read."),
    "rows_late": (
        "fsql_job_late_rows_total",
        "Rows that were too late for their windows or joins.",
    ),
    "rows_rejected": ("fsql_job_rejected_rows_total", "Malformed rows."),
    "snapshots": ("fsql_job_snapshots_total", "Snapshots that the job has committed."),
    "recoveries": ("fsql_job_recoveries_total", "Recoveries after failures."),
}


def exposition(jobs: ServedJobs, figures: Mapping[str, JobFigures]) -> str:
    """Return the figures in the text format of Prometheus, version 0.0.4."""
    lines = [
        *_family("fsql_up", "gauge", "1: this server answers.", [({}, 1)]),
        *_of_results(jobs),
        *_of_jobs(figures),
    ]
    return "\n".join(lines) + "\n"


def _of_results(jobs: ServedJobs) -> Iterator[str]:
    now = time.time()
    ages, rows = [], []
    for name in jobs.names():
        job = jobs.find(name)
        with job.at_rest() as as_of:
            if as_of.reached:
                ages.append(({"job": name}, max(now - as_of.reached, 0.0)))
            rows += [
                ({"job": name, "result": schema.table}, job.row_count(schema.table))
                for schema in job.tables()
            ]
    yield from _family(
        "fsql_results_age_seconds", "gauge", "Time since the position of the results.", ages
    )
    yield from _family("fsql_result_rows", "gauge", "Rows of a result.", rows)


def _of_jobs(figures: Mapping[str, JobFigures]) -> Iterator[str]:
    states = [
        ({"job": name, "state": state}, int(each.state == state))
        for name, each in figures.items()
        for state in STATES
    ]
    yield from _family("fsql_job_state", "gauge", "1 for the state that the job is in.", states)
    for key, (metric, about) in COUNTERS.items():
        values = [
            ({"job": name}, each.counters[key])
            for name, each in figures.items()
            if key in each.counters
        ]
        yield from _family(metric, "counter", about, values)
    now = time.time()
    gauges: tuple[tuple[str, str, Callable[[JobFigures], float | None]], ...] = (
        (
            "fsql_job_restart_failures",
            "Attempts that have ended without progress.",
            lambda each: each.restart_failures,
        ),
        ("fsql_job_problems", "Problems that the job reports now.", lambda each: each.problems),
        (
            "fsql_job_held_seconds",
            "For how long output has waited for one input.",
            lambda each: each.held_seconds,
        ),
        (
            "fsql_job_snapshot_age_seconds",
            "Time since the last snapshot.",
            lambda each: None if each.snapshot_at is None else max(now - each.snapshot_at, 0.0),
        ),
    )
    for metric, about, value in gauges:
        read = [({"job": name}, value(each)) for name, each in figures.items()]
        found = [(labels, number) for labels, number in read if number is not None]
        yield from _family(metric, "gauge", about, found)


def _family(name: str, kind: str, about: str, values: Values) -> Iterator[str]:
    if not values:
        return
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} {kind}"
    for labels, value in values:
        inner = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
        shown = f"{{{inner}}}" if inner else ""
        yield f"{name}{shown} {value:.15g}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
