"""A simulated cluster: its processes, their network and disk, and their launcher."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from fsql.runtime.batch import START, Root
from fsql.runtime.cluster.coordinator.events import WorkerExited
from fsql.runtime.cluster.coordinator.node import CoordinatorNode
from fsql.runtime.cluster.coordinator.phase import Phase
from fsql.runtime.cluster.delivery.option import DeliveryOption
from fsql.runtime.cluster.job_spec import JobSpec
from fsql.runtime.cluster.snapshots.manifest import manifest_of
from fsql.runtime.cluster.worker.node import WorkerNode
from fsql.runtime.simulation.coordination import SharedCoordination
from fsql.runtime.simulation.coordinator_process import CoordinatorProgram
from fsql.runtime.simulation.hosting_process import HostingProgram
from fsql.runtime.simulation.network import Network
from fsql.runtime.simulation.output_checker import expected_of
from fsql.runtime.simulation.process import Process
from fsql.runtime.simulation.sinks import ExternalSink
from fsql.runtime.simulation.sources import (
    SimulatedFrontLog,
    SimulatedSplit,
    SplitOfProcess,
    assign_front_logs,
    paced_splits,
)
from fsql.runtime.simulation.state import SimulatedState
from fsql.runtime.simulation.worker_process import WorkerProgram
from fsql.runtime.simulation.workload import outputs_of
from fsql.runtime.simulation.world import MILLISECOND, SECOND, Clock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from fsql.compiler.assignment import FrontTask
    from fsql.compiler.tick_plan import TickPlan
    from fsql.runtime.cluster.coordinator.events import Finish, Progress
    from fsql.runtime.cluster.frames import Begin
    from fsql.runtime.cluster.job_spec import Settings
    from fsql.runtime.cluster.snapshots.manifest import Manifest
    from fsql.runtime.simulation.codec import WireCodec
    from fsql.runtime.simulation.coverage import Coverage
    from fsql.runtime.simulation.output_checker import OutputChecker
    from fsql.runtime.simulation.swarm import RunSettings
    from fsql.runtime.simulation.tape import Stream
    from fsql.runtime.simulation.workload import Workload
    from fsql.runtime.simulation.world import World

RESTART_US = (20 * MILLISECOND, 1500 * MILLISECOND)
"""The minimum time until the launcher restarts a killed process, and the greatest random addition."""


class Nodes(NamedTuple):
    """How nodes are created; tests use nodes with deliberate defects."""

    worker: Callable[[str, str, str, Settings], WorkerNode]
    coordinator: Callable[[JobSpec, str, Settings], CoordinatorNode]


REAL_NODES = Nodes(WorkerNode, CoordinatorNode)


class SimulatedCluster:
    """All parts of a run except its schedule of faults."""

    def __init__(  # noqa: PLR0913 - it stands between many
        self,
        world: World,
        workload: Workload,
        run_settings: RunSettings,
        checker: OutputChecker,
        coverage: Coverage,
        *,
        input_us: int,
        nodes: Nodes = REAL_NODES,
        codec: WireCodec | None = None,
    ) -> None:
        """Create processes without starting them; the input arrives within about `input_us` microseconds."""
        self.world = world
        self.job = workload.name
        self.run_settings = run_settings
        self.settings = run_settings.nodes
        self.checker = checker
        self.coverage = coverage
        self.nodes = nodes
        self.network = Network(world, run_settings.network, coverage, codec)
        self.state = SimulatedState(world, run_settings.disk_us)
        self.coordination = SharedCoordination(world)
        self.workers_wanted = run_settings.workers
        self.epochs: list[int] = []
        self.rows_read = 0
        self.ticks = 0
        self.over = False
        self.input_lost = False
        self.leading: dict[str, CoordinatorProgram] = {}
        self._min_times: dict[int, Root] = {}
        self._begun = 0
        self.skipped: dict[int, list[tuple[Root, Root]]] = {}
        self._workload = workload
        self._plans: dict[int, TickPlan] = {}
        choices = world.tape.stream("hosts")
        self._restarts = choices
        plan = self.plan(self.workers_wanted)
        self.splits = paced_splits(plan, workload.inputs, choices, input_us)
        self._front_logs = world.tape.stream("front logs")
        self._logged = assign_front_logs(self.sources(), self._front_logs)
        self.outputs = outputs_of(plan, run_settings.option, run_settings.shards)
        self.sinks = self._sinks()
        self.coordinators, self.workers = self._processes(choices)
        for process in self.processes():
            process.on_kill = self._restart_on_kill(process)

    def _processes(self, choices: Stream) -> tuple[list[Process], list[Process]]:
        """Return the coordinators and the workers, not started."""
        settings = self.run_settings
        world = self.world
        coordinators = [
            Process(f"c{number}", world, _clock(choices), lambda own: coordinating(own, self))
            for number in range(settings.coordinators)
        ]
        coordinating = HostingProgram if settings.hosted else CoordinatorProgram
        hosted = settings.coordinators if settings.hosted else 0
        workers = [
            Process(f"w{number}", world, _clock(choices), lambda own: WorkerProgram(own, self))
            for number in range(max(0, settings.workers + settings.spare - hosted))
        ]
        return coordinators, workers

    def _sinks(self) -> list[ExternalSink]:
        settings = self.run_settings
        return [
            ExternalSink(
                number,
                self.world,
                self.checker,
                self.coverage,
                window=settings.window,
                takes_us=settings.sink_us,
                option=settings.option,
            )
            for number in range(len(self.outputs))
        ]

    def processes(self) -> Iterator[Process]:
        """Yield all processes."""
        yield from self.coordinators
        yield from self.workers

    def coordinator_ends_workers(self) -> bool:
        """Return whether the coordinator that has ended the job still runs and so ends the workers.

        Otherwise the launcher ends them.
        """
        return any(
            process.up and self.leading[process.name].node.phase is Phase.FINISHED
            for process in self.coordinators
        )

    def workers_up(self) -> bool:
        """Return whether any worker runs."""
        return any(process.up for process in self.workers)

    def start(self) -> None:
        """Start all processes."""
        for process in self.processes():
            process.start()

    # Events for nodes and drivers.

    def plan(self, workers: int) -> TickPlan:
        """Return the plan for a number of workers."""
        if workers not in self._plans:
            plan = self._workload.plan_of(workers, self.run_settings.policy)
            self._plans[workers] = self.run_settings.first_plan(plan)
        return self._plans[workers]

    def spec(self) -> JobSpec:
        """Return the job for a coordinator that starts now."""
        plan = self.plan(self.workers_wanted)
        fronts = plan.fronts(self.splits)
        description = str(self.workers_wanted).encode()
        job = (self.job, 0, plan, fronts, self.outputs, description)
        encodings, insert_limits = self.run_settings.encodings(plan), self._workload.insert_limits
        return JobSpec(*job, encodings=encodings, insert_limits=insert_limits)

    def plan_of(self, description: bytes) -> TickPlan:
        """Return the plan of a coordinator's description of the job."""
        return self.plan(int(description))

    def fronts(self, plan: TickPlan) -> tuple[FrontTask, ...]:
        """Return the fronts of the job."""
        return plan.fronts(self.splits)

    def splits_for(self, process: Process) -> Mapping[int, Sequence[SplitOfProcess]]:
        """Return all splits as a process reads them."""
        draws = self.world.tape.stream(f"rows {process.name}")

        def rows_max() -> int:
            return 1 + draws.below(self.run_settings.rows_max)

        return {
            ordinal: [
                SplitOfProcess(
                    *(split, process, rows_max, self._on_input_lost, self._on_rows_read),
                    on_poison=lambda: self.coverage.record_fault("poison row", "ChunkRead"),
                )
                for split in splits
            ]
            for ordinal, splits in self.splits.items()
        }

    def lose_log_ends(self) -> None:
        """Lose rows of front logs that are not durable; the expected output becomes that without them."""
        now_us = self.world.now_us
        lost = [split.lose_end(now_us, self._front_logs) for _, split in self.sources()]
        if not any(lost):
            return
        self.coverage.sometimes("end of a front log lost")
        inputs = {ordinal: [s.rows for s in splits] for ordinal, splits in self.splits.items()}
        self._workload = replace(self._workload, inputs=inputs)
        self.checker.expect(expected_of(self._workload.outcome_without({}), self.outputs))

    def _on_input_lost(self) -> None:
        self.coverage.sometimes("input that cannot be read again")
        self.input_lost = True

    def _on_rows_read(self, rows: int) -> None:
        self.rows_read += rows

    def front_logs(self, process: Process) -> dict[int, SimulatedFrontLog]:
        """Return the front logs for a process, by the number of the front."""
        return {
            number: SimulatedFrontLog(split, process)
            for number, split in self.sources()
            if number in self._logged
        }

    def writes_shards(self, process: Process) -> bool:
        """Return whether a worker writes shards in a running epoch."""
        for program in self.leading.values():
            epoch = program.node.epoch
            for number in range(0 if epoch is None else epoch.writers.count):
                if epoch is not None and epoch.addresses.get(number) == process.name:
                    return True
        return False

    def on_process_end(self, process: Process) -> None:
        """Release the stores and the address of a process."""
        self.network.leave(process.name)
        self.state.close_stores(process)

    def sources(self) -> list[tuple[int, SimulatedSplit]]:
        """Return all splits, with the numbers of their fronts."""
        tasks = self.plan(self.workers_wanted).fronts(self.splits)
        return [(task.number, self.splits[task.ordinal][task.split]) for task in tasks]

    def rows_needed(self) -> dict[int, int]:
        """Return for each front the first row that a kept snapshot needs; empty if that is unknown."""
        return self.state.rows_needed([number for number, _ in self.sources()])

    def progress(self) -> object:
        """Return a value that changes when the job makes progress, and that never repeats an earlier value.

        It contains the greatest min time of each stage, not only that of the barrier: on slow links, messages
        for the last stage queue after all rows that have been read meanwhile.
        """
        for program in self.leading.values():
            epoch = program.node.epoch
            if epoch is None:
                continue
            for stage, came in enumerate(epoch.acker.min_times):
                self._min_times[stage] = max(self._min_times.get(stage, START), came)
        return dict(self._min_times), [(sink.position, sink.parts) for sink in self.sinks]

    # Events.

    def on_phase(self, progress: Progress, manifest: Manifest | None) -> None:
        """Record a new phase of a coordinator, in an epoch that starts from a manifest."""
        phases = [program.node.phase for name, program in self.leading.items()]
        if sum(phase not in {Phase.WAITING, Phase.FINISHED} for phase in phases) > 1:
            self.coverage.sometimes("two coordinators")
        if progress.epoch > 0 and progress.phase == "loading state":
            self._begun = progress.epoch
        elif self._begun and progress.phase != "running":
            self.coverage.sometimes("epoch given up before it ran")
            self._begun = 0
        elif progress.phase == "running":
            self._begun = 0
        if progress.phase == "running" and progress.epoch not in self.epochs:
            self.epochs.append(progress.epoch)
            if manifest is not None:
                self.coverage.sometimes("recovered from a snapshot")
                if manifest.workers != self.workers_wanted:
                    self.coverage.sometimes("recovered with another number of workers")

    def on_begin(self, begin: Begin) -> None:
        """Record a `Begin` that a coordinator sends to a worker."""
        for passed in manifest_of(begin.manifest).skipped if begin.manifest else ():
            ranges = self.skipped.setdefault(passed.front, [])
            one = Root(*passed.first), Root(*passed.end)
            if one not in ranges:
                ranges.append(one)

    def on_finish(self, finish: Finish) -> None:
        """Record that the job is finished."""
        self.over = True
        self.world.trace.record(self.world.now_us, "world", "the job is over")
        refused = finish.diagnostics
        if finish.refused is not None:
            refused = finish.refused[1].encode()
        self.checker.finish(finish.stopped, refused)
        if finish.stopped is not None:
            self.coverage.sometimes("stopped at an error row")
        at_most_once = self.run_settings.option is DeliveryOption.AT_MOST_ONCE
        if at_most_once and refused is None:
            self.checker.check_subset(lambda: self._workload.outcome_without(self.skipped))

    def restart(self, process: Process) -> None:
        """Start a process, as the launcher does, unless the job is over."""
        if not self.over and not process.up:
            process.start()

    def _restart_on_kill(self, process: Process) -> Callable[[str], None]:
        kind = "worker" if process in self.workers else "coordinator"

        def restart(step: str) -> None:
            self.coverage.record_fault(f"kill {kind}", f"{kind} {step}")
            least_us, more_us = RESTART_US
            self.world.after(least_us + self._restarts.below(more_us), self.restart, process)
            if self.run_settings.launcher_reports:
                report = self._report_exit if process in self.workers else self._end_leadership
                self.world.after(5 * MILLISECOND, report, process.name)

        return restart

    def _report_exit(self, address: str) -> None:
        for process in self.coordinators:
            if process.up:
                process.later(0, process.handle, WorkerExited(address))

    def _end_leadership(self, owner: str) -> None:
        if self.coordination.end_leadership(owner):
            self.coverage.sometimes("lease ended by the launcher")


def _clock(choices: Stream) -> Clock:
    return Clock(choices.below(1000 * SECOND), choices.one_of((0, 500, -500, 100)))
