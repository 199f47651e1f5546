"""One run: a seed, a workload, and the outcome."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Final

from fsql.compiler.records import dataclass
from fsql.runtime.cluster.members.restart_strategy import SECONDS_MAX
from fsql.runtime.simulation.cluster import REAL_NODES, SimulatedCluster
from fsql.runtime.simulation.codec import WireCodec
from fsql.runtime.simulation.coverage import Coverage
from fsql.runtime.simulation.faults import FaultInjector
from fsql.runtime.simulation.output_checker import DivergenceError, OutputChecker, expected_of
from fsql.runtime.simulation.swarm import draw_settings
from fsql.runtime.simulation.tape import Tape
from fsql.runtime.simulation.tripwire import EscapedSimulationError, forbid_escapes
from fsql.runtime.simulation.workload import outputs_of
from fsql.runtime.simulation.world import SECOND, World

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.runtime.cluster.delivery.option import DeliveryOption
    from fsql.runtime.drivers.in_memory import Outcome
    from fsql.runtime.simulation.cluster import Nodes
    from fsql.runtime.simulation.swarm import RunSettings
    from fsql.runtime.simulation.trace import TraceEvent
    from fsql.runtime.simulation.workload import Workload

RECOVERY_US: Final = 10 * SECOND
"""How long a recovery of the job may take."""

RETRY_US: Final = round(SECONDS_MAX * SECOND)
"""The backoff of the job after the last fault, if all its attempts so far have failed."""

PROGRESS_US: Final = 5 * SECOND
"""How long a running job may take to deliver available rows."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The settings that all runs of a series share; None means that each run draws its own.

    With `shards`, workers write that number of shards of each INSERT, whatever is drawn.
    `faults` are names of faults; a fault that is named twice occurs twice as often.
    """

    seconds: int = 60
    workers: int | None = None
    option: DeliveryOption | None = None
    shards: int | None = None
    faults: tuple[str, ...] | None = None
    nodes: Nodes = REAL_NODES


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a run; `failure` is empty if the run is correct."""

    seed: int
    workload: str
    settings: RunSettings
    failure: str
    digest: str
    simulated_us: int
    events: int
    packets: int
    bundles: int
    rows_read: int
    recoveries: int
    coverage: Coverage
    choices: Mapping[str, Sequence[int]]
    last: Sequence[TraceEvent]


def run(
    seed: int,
    workload: Workload,
    expected: Outcome,
    plan: Plan,
    played: Mapping[str, Sequence[int]] | None = None,
) -> Result:
    """Run a workload under the faults of a seed, or of a tape that was recorded."""
    tape = Tape(seed, played)
    settings = draw_settings(tape, workers=plan.workers, option=plan.option, faults=plan.faults)
    if plan.shards is not None:
        settings = settings.with_written_shards(plan.shards)
    world = World(tape)
    coverage = Coverage()
    single = workload.plan_of(1, None)
    outputs = outputs_of(single, settings.option, settings.shards)
    checker = OutputChecker(single, outputs, expected_of(expected, outputs))
    cluster = SimulatedCluster(
        world,
        workload,
        settings,
        checker,
        coverage,
        input_us=plan.seconds * SECOND * 3 // 4,
        nodes=plan.nodes,
        codec=WireCodec() if settings.encoded else None,
    )
    failure = ""
    try:
        with forbid_escapes():
            _run_to_end(cluster, world, plan)
    except (DivergenceError, EscapedSimulationError) as error:
        failure = str(error)
    except Exception as error:  # noqa: BLE001 - failures of nodes are what a simulation searches for
        where = traceback.extract_tb(error.__traceback__)[-1]
        failure = f"{type(error).__name__}: {error} ({where.filename}:{where.lineno})"
    _record_outcome(cluster, checker, coverage)
    return Result(
        seed,
        workload.name,
        settings,
        failure,
        world.trace.digest,
        world.now_us,
        world.events,
        cluster.network.packets,
        checker.bundles,
        cluster.rows_read,
        max(0, len(cluster.epochs) - 1),
        coverage,
        tape.choices(),
        world.trace.last(),
    )


def _run_to_end(cluster: SimulatedCluster, world: World, plan: Plan) -> None:
    """Start the cluster, inject faults, stop injecting them, and check that the job ends.

    Raises:
        DivergenceError: if it does not end.
    """
    injector = FaultInjector(cluster)
    cluster.start()
    injector.begin()
    world.run(plan.seconds * SECOND, over=lambda: cluster.over)
    injector.end()
    _run_without_faults(cluster, world)
    if cluster.checker.refused is not None and not cluster.input_lost:
        raise DivergenceError(f"the job refused to go on: {cluster.checker.refused}")
    world.run(world.now_us + RECOVERY_US, over=lambda: not cluster.workers_up())
    if cluster.workers_up() and cluster.coordinator_ends_workers():
        raise DivergenceError("the job is over, and a worker does not end")


def _run_without_faults(cluster: SimulatedCluster, world: World) -> None:
    """Run the job to its end without faults.

    Raises:
        DivergenceError: if there is no progress for too long.
    """
    allowed_us = RETRY_US + RECOVERY_US
    while True:
        before = cluster.progress()
        world.run(world.now_us + allowed_us, over=lambda: cluster.over)
        if cluster.over:
            return
        if cluster.progress() == before:
            raise DivergenceError(f"no progress within {allowed_us // SECOND} s without faults")
        allowed_us = PROGRESS_US


def _record_outcome(cluster: SimulatedCluster, checker: OutputChecker, coverage: Coverage) -> None:
    """Record the probes that are known at the end of a run."""
    if checker.finished:
        coverage.sometimes("finished")
    if len(cluster.epochs) > 1:
        coverage.sometimes("recovered")
    if len(cluster.epochs) > 2:
        coverage.sometimes("recovered twice or more")
