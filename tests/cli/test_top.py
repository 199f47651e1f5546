"""`fsql top`: its page of two jobs, its rates, and the application on a terminal."""

from __future__ import annotations

import asyncio
import json
from io import StringIO
from typing import TYPE_CHECKING, cast

import msgspec
from rich.console import Console
from textual.widgets import Static

from fsql.compiler.reasons import Reason
from fsql.console.last_ticks import LastTicks
from fsql.console.top import sample as sampling
from fsql.console.top.app import TopApp
from fsql.console.top.page import page
from fsql.console.top.sample import Details, Sample, Sampler
from fsql.deployment.directory import ClusterDirectory, Deployment, JobDirectory, JobStatus
from fsql.deployment.views import JobView
from fsql.optimizer.collectors.written_results import Collected
from fsql.optimizer.statistics import (
    Cost,
    FoldLoad,
    FrontLoad,
    HeavyKey,
    Statistics,
    WorkerLoad,
)
from fsql.runtime.coordination.ticks import AutomaticChoice, TickProposal, TickRecord
from fsql.tests.cli.commands import fsql

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import pytest
    from textual.pilot import Pilot

COUNTERS = {
    "rows_in": 1000,
    "bytes_in": 20_000,
    "rows_out": 40,
    "rows_late": 0,
    "rows_rejected": 0,
    "rows_state": 77,
    "rows_held": 3,
    "rows_unreleased": 12,
    "recoveries": 0,
    "snapshots": 2,
    "behind_us": 250_000,
}
STATUS = JobStatus(
    pid=7,
    started=0.0,
    updated=100.0,
    phase="running",
    epoch=1,
    detail="",
    problems=(),
    held_by="bids (bids.jsonl)",
    held_seconds=0.5,
    progress=(0, 0),
    counters=COUNTERS,
    snapshot_at=None,
    min_time="2026-01-01 12:00:00",
)
AGGREGATE = "aggregate-1d6aa0ce35f2"
STATISTICS = Statistics(
    loads=(),
    heavy=tuple(
        HeavyKey(AGGREGATE, 0, number, key, 0.5 / (number + 1), 0.01)
        for number, key in enumerate("abcdefgh")
    ),
    costs=(
        Cost(AGGREGATE, 1000.0, 10.0, 0.5, 0.0005, None, 1.0),
        Cost("read", 1000.0, 10.0, 0.25, 2e-7, 2e-5, 1.0),
    ),
    folds=(FoldLoad(AGGREGATE, "speculative", 0.02, 0.0, 77, 5000, 0.0),),
    fronts=(FrontLoad("bids", 0, 1000.0, 20_000.0, 0.5, 1.0, 0.0),),
    workers=(
        WorkerLoad(1, 0, 0.25, 0.3), WorkerLoad(1, 1, 0.5, 0.6),
        WorkerLoad(2, 0, 0.75, 0.8), WorkerLoad(2, 1, 0.5, 0.6),
    ),
    problems=('"x.parquet" is skipped: it has other columns',),
)  # fmt: skip
CHOICE = AutomaticChoice(
    (
        Reason("owners", "500 bins move; 0.9 to 0.6", changes=True),
        Reason("aggregate-3ab95d95e874", "stays ordered; rows of bids are rebalanced"),
        Reason(
            "over-3ab95d95e874",
            "ordered, was speculative; 20% of its rows were recomputed",
            changes=True,
        ),
        Reason("linger of stays", "20 ms, was none; calls take 52% of worker 0", changes=True),
    ),
    "spark",
    2,
)
TICKS = LastTicks(
    (
        TickRecord(
            TickProposal(1, "graph", 2, ((0, 0, 4096),), "", 50.0, automatic=CHOICE),
            (1, 2),
            0.2,
            moved_bins=500,
        ),
    )
)


def job(path: Path, name: str, status: JobStatus | None) -> JobView:
    deployment = Deployment(name, name, 2, 1000, None, "refuse", "running", 0.0, auto=True)
    runner = None if status is None else status.pid
    return JobView(JobDirectory(path / "jobs" / name), deployment, runner, status, None, None, 1)


def text(sample: Sample, width: int = 200) -> str:
    out = StringIO()
    Console(file=out, width=width).print(page(sample), soft_wrap=True)
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def take(jobs: Iterable[JobView], monkeypatch: pytest.MonkeyPatch, sampler: Sampler) -> Sample:
    monkeypatch.setattr(sampling, "views", lambda _: list(jobs))
    monkeypatch.setattr(
        sampling, "details_of", lambda _: Details(Collected(STATISTICS, "spark", 7, 2), TICKS)
    )
    return sampler.take()


def later(seconds: float, rows: int) -> JobStatus:
    counters = COUNTERS | {"rows_in": COUNTERS["rows_in"] + rows}
    return msgspec.structs.replace(STATUS, updated=STATUS.updated + seconds, counters=counters)


def test_the_page_of_two_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sampler = Sampler(ClusterDirectory(tmp_path))
    idle = job(tmp_path, "idle", None)
    take([job(tmp_path, "bids", STATUS), idle], monkeypatch, sampler)
    found = take([job(tmp_path, "bids", later(2, 500)), idle], monkeypatch, sampler)
    assert text(found) == (
        """\
job   state     workers  rows in/s  rows out/s  behind  state rows
bids  running   2        250        0           250 ms  77
idle  starting  2

bids
min time 2026-01-01 12:00:00, held by bids (bids.jsonl)
waiting: 12 rows for release; so far 3 rows have waited for earlier ones
why: 12 rows were read and not released yet; the oldest is 0.2 s old
warning: "x.parquet" is skipped: it has other columns
statistics: spark, 2 intervals old

worker  busy  by interval
0       75%   ▃█
1       50%   ██

operator   rows/s  busy   a row     a call       rows out/in
aggregate  1,000   50.0%  500.0 µs  no estimate  1
read       1,000   25.0%  200 ns    20.0 µs      1

fold       policy       recomputed  waited  for  state rows  bytes  changed  rewinds/s
aggregate  speculative  2.0%        0.0%         77          5,000  0        0

table  split  rows/s  lag    rate by mean  blocked
bids   0      1,000   0.5 s  1.00          0.0%

into       side  key  of all rows  error
aggregate  0     a    50.0%        1.0%
aggregate  0     b    25.0%        1.0%
aggregate  0     c    16.7%        1.0%
aggregate  0     d    12.5%        1.0%
aggregate  0     e    10.0%        1.0%
aggregate  0     f    8.3%         1.0%
and 2 more

tick 1 was taken, 500 bins moved; statistics: spark, 2 intervals old
  owners: 500 bins move; 0.9 to 0.6
  over: ordered, was speculative; 20% of its rows were recomputed
  linger of stays: 20 ms, was none; calls take 52% of worker 0
"""
    )


def test_tables_that_are_wider_than_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sampler = Sampler(ClusterDirectory(tmp_path))
    found = take([job(tmp_path, "bids", STATUS)], monkeypatch, sampler)
    lines = text(found, 50).splitlines()
    assert lines[:4] == [
        "job   state    workers  rows in/s  rows out/s",
        "bids  running  2",
        "job   behind  state rows",
        "bids  250 ms  77",
    ]
    start = next(index for index, line in enumerate(lines) if line.startswith("fold"))
    assert lines[start : start + 7] == [
        "fold       policy       recomputed  waited  for",
        "aggregate  speculative  2.0%        0.0%",
        "fold       state rows  bytes  changed  rewinds/s",
        "aggregate  77          5,000  0        0",
        "",
        "table  split  rows/s  lag    rate by mean  blocked",
        "bids   0      1,000   0.5 s  1.00          0.0%",
    ]


def test_a_job_without_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "views", lambda _: [job(tmp_path, "idle", None)])
    found = Sampler(ClusterDirectory(tmp_path)).take()
    assert text(found) == (
        """\
job   state     workers  rows in/s  rows out/s  behind  state rows
idle  starting  2

idle

no statistics yet

no ticks yet
"""
    )


def test_rates_are_those_between_two_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sampler = Sampler(ClusterDirectory(tmp_path))
    reports = [STATUS, STATUS, later(0.5, 100), later(0.5, 100), later(1.5, 400)]
    seen = []
    for report in reports:
        found = take([job(tmp_path, "bids", report)], monkeypatch, sampler)
        seen.append(found.rates.get("bids", {}).get("rows_in"))
    # Another process begins to count anew, and a job that has ended has no rates.
    restarted = msgspec.structs.replace(later(9, 5), pid=8)
    for each in (restarted, None):
        found = take([job(tmp_path, "bids", each)], monkeypatch, sampler)
        seen.append(found.rates.get("bids", {}).get("rows_in"))
    assert seen == [None, None, 200.0, 200.0, 300.0, None, None]


def test_without_jobs(tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    said = fsql("top", "--dir", tmp_path)
    assert (said.code, said.out, said.err) == (0, "no jobs\n", "")
    said = fsql("top", "--dir", tmp_path, "--once", "--json")
    assert json.loads(said.out) == {
        "jobs": [],
        "job": None,
        "statistics": None,
        "collector": None,
        "age": None,
        "ticks": None,
    }


def test_a_job_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    said = fsql("top", "nothing", "--dir", tmp_path)
    assert (said.code, said.out) == (1, "")
    assert 'error[FSQL-E633]: no job is deployed as "nothing"' in said.err


class TwoJobs:
    """A sampler of two jobs, one of which can be dropped."""

    def __init__(self, path: Path) -> None:
        self.jobs = [job(path, name, STATUS) for name in ("bids", "words")]
        self.taken: list[str | None] = []

    def take(self, name: str | None = None) -> Sample:
        self.taken.append(name)
        chosen = next(each for each in self.jobs if name in {None, each.deployment.name})
        details = Details(Collected(replace_workers(len(self.taken)), "built-in", 7, 0), TICKS)
        return Sample(tuple(self.jobs), {}, chosen, details)


def replace_workers(busy: int) -> Statistics:
    return STATISTICS._replace(workers=(WorkerLoad(1, 0, busy / 100, busy / 100),))


def test_keys_select_a_job_and_pause(tmp_path: Path) -> None:
    sampler = TwoJobs(tmp_path)

    async def shown(app: TopApp, pilot: Pilot[None], name: str) -> None:
        while details_lines(app)[:1] != [name]:
            await pilot.pause()

    async def use() -> None:
        app = TopApp(cast("Sampler", sampler), None, 3600.0)
        async with app.run_test(size=(100, 40)) as pilot:
            await shown(app, pilot, "bids")
            await pilot.press("down")
            await shown(app, pilot, "words")
            taken = len(sampler.taken)
            await pilot.press("p")
            await app._update()
            assert len(sampler.taken) == taken
            await pilot.press("p")
            await app._update()
            assert sampler.taken[taken:] == ["words"]
            await pilot.press("q")

    asyncio.run(use())
    assert sampler.taken[0] is None


def details_lines(app: TopApp) -> list[str]:
    out = StringIO()
    Console(file=out, width=100).print(app.query_one("#details", Static).content)
    return out.getvalue().splitlines()
