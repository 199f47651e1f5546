"""How fast a simulation runs: a cluster of five workers, a few data messages at a time, and no fault.

Every row is a chunk of its own, so each station of its way deals with one row: this is most of the work of a
simulation, and decides how many seeds run in a night.  Rows are paced such that workers send as many
messages with rows in a simulated second as is asked for.  All that a simulation computes is in the time:
kernels, machines, links, the network, the disk, the output checker.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, Any, Final

from fsql.compiler.lowering.job import lower
from fsql.compiler.tick_plan import SourceHead
from fsql.console.sim_queries import SIM_QUERIES
from fsql.job.compilation import compile_job
from fsql.job.script_file import script_of_text
from fsql.optimizer.choose import choose
from fsql.runtime.cluster.frames import Frame
from fsql.runtime.cluster.job_spec import Settings
from fsql.runtime.cluster.node import Transmit
from fsql.runtime.cluster.worker.node import WorkerNode
from fsql.runtime.dataflow.messages import Message
from fsql.runtime.simulation.cluster import REAL_NODES, SimulatedCluster
from fsql.runtime.simulation.coverage import Coverage
from fsql.runtime.simulation.network import NetworkSettings
from fsql.runtime.simulation.output_checker import OutputChecker, expected_of
from fsql.runtime.simulation.sources import SimulatedSplit
from fsql.runtime.simulation.swarm import draw_settings
from fsql.runtime.simulation.tape import Tape
from fsql.runtime.simulation.workload import Workload, outputs_of
from fsql.runtime.simulation.world import SECOND, World

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.compiler.expression import Value
    from fsql.compiler.tick_plan import Policy, TickPlan
    from fsql.console.sim_queries import SimQuery
    from fsql.runtime.cluster.worker.events import WorkerEffect, WorkerEvent
    from fsql.runtime.drivers.in_memory import Row

_TRIAL_ROWS: Final = 100
"""The number of rows from which the messages for each row are estimated."""
_TRIAL_ROWS_A_SECOND: Final = 100
_TOO_LATE: Final = 100
"""After this multiple of the duration of the input, the job is considered to be stuck."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How many workers send how many messages with rows in a simulated second, and for how long."""

    workers: int
    messages: int
    seconds: int


@dataclass(slots=True)
class _Simulated:
    """What came of a simulation."""

    rows: int
    messages: int = 0
    simulated_us: int = 0
    events: int = 0
    seconds: float = 0.0


def simulate(pace: Pace) -> Iterator[dict[str, Any]]:
    """Yield the results of each query of `fsql sim` as the fields of a JSON object."""
    for query in SIM_QUERIES:
        trial = _run(query, pace.workers, _TRIAL_ROWS, _TRIAL_ROWS_A_SECOND)
        rows_a_second = max(1, round(pace.messages * trial.rows / trial.messages))
        found = _run(query, pace.workers, rows_a_second * pace.seconds, rows_a_second)
        simulated = found.simulated_us / SECOND
        yield {
            "benchmark": "simulation",
            "query": query.name,
            "workers": pace.workers,
            "rows": found.rows,
            "messages": found.messages,
            "messages_per_simulated_second": round(found.messages / simulated, 1),
            "simulated_seconds": round(simulated, 3),
            "seconds": round(found.seconds, 3),
            "times_real_time": round(simulated / found.seconds, 2),
            "us_per_message": round(found.seconds / found.messages * 1e6, 1),
            "events": found.events,
        }


def _run(query: SimQuery, workers: int, rows: int, rows_a_second: int) -> _Simulated:
    """Run a query over `rows` rows in splits that keep pace, one for each worker."""
    workload = _workload(query, workers, rows)
    expected = workload.outcome()
    found = _Simulated(rows)

    class Counting(WorkerNode):
        """Counts the messages that it sends."""

        def step(self, event: WorkerEvent, now: float) -> list[WorkerEffect]:
            effects = super().step(event, now)
            for effect in effects:
                if isinstance(effect, Transmit) and isinstance(effect.what, Frame):
                    found.messages += sum([isinstance(i, Message) for i in effect.what.items])
            return effects

    def node(job: str, name: str, address: str, settings: Settings) -> WorkerNode:
        return Counting(job, name, address, settings)

    tape = Tape(0)
    mild = draw_settings(Tape(0, {}), workers=workers)
    settings = replace(mild, rows_max=1, nodes=Settings(), network=NetworkSettings(), encoded=False)
    outputs = outputs_of(workload.plan_of(1, None), settings.option, settings.shards)
    checker = OutputChecker(workload.plan_of(1, None), outputs, expected_of(expected, outputs))
    world = World(tape)
    input_us = rows * SECOND // rows_a_second
    cluster = SimulatedCluster(
        world,
        workload,
        settings,
        checker,
        Coverage(),
        input_us=input_us,
        nodes=REAL_NODES._replace(worker=node),
    )
    cluster.splits = _pace_splits(workload, workers, rows_a_second)
    started = time.process_time()
    cluster.start()
    world.run(_TOO_LATE * (input_us + SECOND), over=lambda: cluster.over)
    found.seconds = time.process_time() - started
    assert checker.finished, "a simulation without faults comes to its end"
    found.simulated_us, found.events = world.now_us, world.events
    return found


def _workload(query: SimQuery, splits: int, rows: int) -> Workload:
    job = compile_job(script_of_text(query.text, {}))
    inputs = {
        table.ordinal: [list(_rows(query, split, rows // splits)) for split in range(splits)]
        for table in job.job.tables
    }
    graph = lower(job.job)
    fronts = {ordinal: len(parts) for ordinal, parts in inputs.items()}

    def plan_of(workers: int, policy: Policy | None) -> TickPlan:
        return choose(graph, workers=workers, fronts=fronts, policy=policy)

    return Workload(query.name, plan_of, inputs)


def _rows(query: SimQuery, split: int, count: int) -> Iterator[Row]:
    """Yield the rows of a split; those of events are a millisecond of event time apart."""
    random = Random(f"{query.name} {split}")  # noqa: S311 - rows, no secrets
    for number in range(count):
        key = f"k{random.randrange(100)}"
        row: tuple[Value, ...] = (key, " ".join(random.choices("uvwxyz", k=3)))
        if query.events:
            row = (number * 10_000, key, random.randrange(-5, 20))
        yield row


def _pace_splits(
    workload: Workload, workers: int, rows_a_second: int
) -> dict[int, list[SimulatedSplit]]:
    """Return the splits, with rows that come in turn."""
    tables = {
        stage.head.table.ordinal: stage.head.table
        for stage in workload.plan_of(workers, None).stages
        if isinstance(stage.head, SourceHead)
    }
    every_us = SECOND // rows_a_second
    return {
        ordinal: [
            SimulatedSplit(rows, tables[ordinal], number * every_us, len(parts) * every_us)
            for number, rows in enumerate(parts)
        ]
        for ordinal, parts in workload.inputs.items()
    }
