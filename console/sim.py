"""`fsql sim`: run a script, or built-in queries, on simulated clusters, and report the results."""

from __future__ import annotations

import json
import time
from dataclasses import field
from typing import TYPE_CHECKING, Final

from fsql.compiler.lowering.job import lower
from fsql.compiler.records import dataclass
from fsql.console.interrupt import Interrupt, Interrupted
from fsql.console.sim_queries import SIM_QUERIES, rows_of
from fsql.job.compilation import compile_job
from fsql.job.script_file import script_of_text
from fsql.job.sources import open_splits
from fsql.optimizer.choose import choose
from fsql.runtime.drivers.chunk_rows import rows_of_chunk
from fsql.runtime.ports import Wait
from fsql.runtime.simulation.coverage import MALFORMED_ROW_PROBES, SELDOM, Coverage
from fsql.runtime.simulation.diagram import mermaid_of, text_of
from fsql.runtime.simulation.faults import FAULTS_TO_MEET
from fsql.runtime.simulation.run import Plan, Result, run
from fsql.runtime.simulation.shrink import choices_left, shrink
from fsql.runtime.simulation.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from fsql.compiler.logical import Table
    from fsql.compiler.tick_plan import Policy, TickPlan
    from fsql.job.compilation import Compiled
    from fsql.job.script import Script
    from fsql.runtime.drivers.in_memory import Outcome, Row
    from fsql.runtime.ports import DeadLetter, Split

ROWS_MAX: Final = 2_000
"""The number of rows of a split that a simulation reads."""

SHOWN: Final = 50
"""The number of last events that a replay shows."""

SHRINKING_RUNS: Final = 200


@dataclass(slots=True)
class Series:
    """The results of a series of seeds."""

    seeds: int = 0
    failed: list[Result] = field(default_factory=list)
    differing: list[int] = field(default_factory=list)
    simulated_us: int = 0
    events: int = 0
    recoveries: int = 0
    bundles: int = 0
    seconds: float = 0.0
    interrupted: int | None = None
    """The exit code if a signal ended the series, otherwise None."""
    coverage: Coverage = field(default_factory=Coverage)

    @property
    def not_met(self) -> list[str]:
        """Return the faults and states that a soak must reach and that this series has not reached."""
        coverage = self.coverage
        need_not = {*SELDOM, *MALFORMED_ROW_PROBES}
        probes = [
            f"situation: {probe}" for probe in coverage.unmet_probes() if probe not in need_not
        ]
        return [*coverage.missing_faults(FAULTS_TO_MEET), *probes]

    @property
    def clean(self) -> bool:
        """Return whether no seed failed and each was reproducible."""
        return not self.failed and not self.differing

    def fields(self) -> dict[str, object]:
        """Return the numbers, by name."""
        return {
            "seeds": self.seeds,
            "simulated_hours": round(self.simulated_us / 3.6e9, 3),
            "faults": dict(sorted(self.coverage.faults.items())),
            "recoveries": self.recoveries,
            "bundles": self.bundles,
            "divergences": [result.seed for result in self.failed],
            "not_repeatable": self.differing,
            "times_real_time": round(self.simulated_us / 1e6 / max(self.seconds, 1e-9)),
            "never_met": self.not_met,
        }


class Workloads:
    """The workloads of the seeds: one script, or the built-in queries in turn."""

    def __init__(self, script: Script | None) -> None:
        self._given = None if script is None else _with_outcome(_workload_of(script))
        self._compiled: dict[int, Compiled] = {}

    def of(self, seed: int) -> tuple[Workload, Outcome]:
        """Return the workload of a seed and its expected output."""
        if self._given is not None:
            return self._given
        number = seed % len(SIM_QUERIES)
        query = SIM_QUERIES[number]
        if number not in self._compiled:
            self._compiled[number] = compile_job(script_of_text(query.text, {}))
        job = self._compiled[number]
        splits = rows_of(query, seed)
        inputs = {table.ordinal: splits for table in job.job.tables}
        return _with_outcome(_plan_workload(query.name, job, inputs))


def run_seeds(
    script: Script | None,
    seeds: range,
    plan: Plan,
    *,
    twice: bool = True,
    on_seed: Callable[[Series], None] = lambda _: None,
) -> Series:
    """Run each seed twice to check that it is reproducible; call `on_seed` after each.

    Ctrl-C and SIGTERM end the series after the current seed and set `interrupted`.
    """
    series = Series()
    workloads = Workloads(script)
    begun = time.process_time()
    with Interrupt() as interrupt:
        for seed in seeds:
            _run_seed(seed, workloads, plan, series, twice=twice)
            on_seed(series)
            try:
                interrupt.check()
            except Interrupted as interrupted:
                series.interrupted = interrupted.exit_code
                break
    series.seconds = (time.process_time() - begun) / (2 if twice else 1)
    return series


def _run_seed(seed: int, workloads: Workloads, plan: Plan, series: Series, *, twice: bool) -> None:
    workload, expected = workloads.of(seed)
    result = run(seed, workload, expected, plan)
    series.seeds += 1
    series.simulated_us += result.simulated_us
    series.events += result.events
    series.recoveries += result.recoveries
    series.bundles += result.bundles
    series.coverage.add(result.coverage)
    if result.failure:
        series.failed.append(result)
    if twice and run(seed, workload, expected, plan).digest != result.digest:
        series.differing.append(seed)


def series_text(series: Series, flags: str = "") -> str:
    """Return the results of a series as text; `flags` are the flags of a replay other than the seed."""
    fields = series.fields()
    faults = ", ".join(f"{name} {count:,}" for name, count in series.coverage.faults.most_common())
    seeds = "1 seed" if series.seeds == 1 else f"{series.seeds:,} seeds"
    hours, speed = fields["simulated_hours"], fields["times_real_time"]
    lines = [
        f"{seeds}, {hours} simulated hours, {series.events:,} events, {speed}x real time",
        f"{series.bundles:,} bundles, {series.recoveries:,} recoveries",
        f"{sum(series.coverage.faults.values()):,} faults: {faults or 'none'}",
    ]
    lines += [f"seed {seed} is not reproducible: two runs differ" for seed in series.differing]
    for result in series.failed:
        lines.append(f"seed {result.seed} ({result.workload}): {result.failure}")
        lines.append(f"  to replay it: fsql sim replay --seed {result.seed}{flags}")
    lines.append(f"{len(series.failed)} divergences")
    return "\n".join(lines) + "\n"


def soak_text(series: Series) -> str:
    """Return how often each fault occurred at each step, and what never occurred."""
    return series.coverage.table() + "".join(f"never occurred: {what}\n" for what in series.not_met)


def series_json(series: Series) -> str:
    """Return the results of a series as a line of JSON."""
    return json.dumps(series.fields(), ensure_ascii=False) + "\n"


@dataclass(frozen=True, slots=True)
class Replay:
    """How to replay a seed: from recorded choices, minimized, as a diagram."""

    seed: int
    trace: Path | None = None
    shrink: bool = False
    mermaid: bool = False


def replay_seed(script: Script | None, replay: Replay, plan: Plan) -> tuple[Result, str]:
    """Run a seed again; return its result and a description of it.

    A trace file that exists is replayed; otherwise it is written.
    """
    workload, expected = Workloads(script).of(replay.seed)
    played = _read_choices(replay.trace)
    result = run(replay.seed, workload, expected, plan, played)
    if replay.shrink and result.failure:

        def fails(choices: Mapping[str, Sequence[int]]) -> bool:
            return bool(run(replay.seed, workload, expected, plan, choices).failure)

        smaller = shrink(result.choices, fails, runs_max=SHRINKING_RUNS)
        result = run(replay.seed, workload, expected, plan, smaller)
    if replay.trace is not None and played is None:
        replay.trace.write_text(json.dumps(result.choices) + "\n")
    shown = (mermaid_of if replay.mermaid else text_of)(result.last[-SHOWN:])
    lines = [
        f"seed {result.seed}, {workload.name}: {choices_left(result.choices):,} choices not mild",
        str(result.settings),
        "",
        shown,
        "",
        result.failure or "no failure",
    ]
    return result, "\n".join(lines) + "\n"


def _read_choices(path: Path | None) -> dict[str, list[int]] | None:
    if path is None or not path.exists():
        return None
    choices: dict[str, list[int]] = json.loads(path.read_text())
    return choices


def _with_outcome(workload: Workload) -> tuple[Workload, Outcome]:
    return workload, workload.outcome()


def _workload_of(script: Script) -> Workload:
    """Return a workload that runs a script on the first rows of its files."""
    job = compile_job(script)
    splits = open_splits(job)
    inputs = {
        table.ordinal: [_rows(split, table) for split in splits[table.ordinal]]
        for table in job.job.tables
    }
    return _plan_workload(script.source.name, job, inputs)


def _plan_workload(
    name: str, job: Compiled, inputs: Mapping[int, Sequence[Sequence[Row | DeadLetter]]]
) -> Workload:
    graph = lower(job.job)
    fronts = {ordinal: len(splits) for ordinal, splits in inputs.items()}

    def plan_of(workers: int, policy: Policy | None) -> TickPlan:
        return choose(graph, workers=workers, fronts=fronts, policy=policy)

    return Workload(name, plan_of, inputs)


def _rows(split: Split, table: Table) -> list[Row | DeadLetter]:
    rows: list[Row | DeadLetter] = []
    reader = split.open()
    try:
        while len(rows) < ROWS_MAX:
            chunk = reader.read(ROWS_MAX - len(rows))
            if chunk is None or isinstance(chunk, Wait):
                break
            rows += rows_of_chunk(chunk, table.columns)
    finally:
        reader.close()
    return rows[:ROWS_MAX]
