"""Begins a job with the state of its history, computed on Spark, instead of reading the history as a stream.

Spark processes the rows below a position, with the kernels of the job.  The output below it is written to the
sinks of the job, and the state becomes a snapshot at the position, in the first epoch of the job.  It takes
effect by the commit of its manifest: after a failure before that, the job can be bootstrapped again, or begin
as any other.  In the latter case it reads all input, and deliveries drop the rows that the sinks have.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.logical import TimeKind
from fsql.compiler.plan_choices import choices_of
from fsql.compiler.records import dataclass
from fsql.connectors.generated.pace import PacedSplit
from fsql.connectors.live.kinds import is_live
from fsql.job.coordination import job_coordination
from fsql.job.description import prepare_job
from fsql.job.graph_tick import newest_manifest, run_steps, take_lease
from fsql.job.process_run import check_files, make_description
from fsql.job.sinks import job_consumers
from fsql.job.spark import PARTITIONS, spark_job
from fsql.job.state_directory import resume_or_create, state_directory
from fsql.job.stop import stop_error
from fsql.runtime.batch import START, TIME_START, Root
from fsql.runtime.cluster.delivery.option import DeliveryOption
from fsql.runtime.cluster.snapshots.epoch_snapshots import first_number
from fsql.runtime.cluster.snapshots.manifest import Manifest
from fsql.runtime.coordination.port import CoordinationError
from fsql.runtime.dataflow.resume_point import ResumePoint
from fsql.runtime.drivers.local import Edges
from fsql.runtime.drivers.output_writer import Outputs, OutputWriter
from fsql.runtime.drivers.processes.job_state import open_job_state
from fsql.runtime.drivers.spark.bootstrap import SparkBootstrap
from fsql.runtime.drivers.spark.run import SparkRun
from fsql.runtime.drivers.spark.session import spark_session
from fsql.runtime.hosts.split_ends import SplitEnds
from fsql.runtime.hosts.worker_state import StateFailedError, WorkerState
from fsql.runtime.kernels.keyed.incremental_snapshot import merge_snapshots, rows_of_bins
from fsql.runtime.sink import OpenRequest
from fsql.runtime.state.local_directory import LocalDirectory
from fsql.runtime.state.snapshots import SnapshotNotWrittenError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fsql.job.compilation import Compiled
    from fsql.job.description import PreparedJob
    from fsql.job.planning import RunOptions
    from fsql.job.process_options import ProcessOptions
    from fsql.job.sources import Splits
    from fsql.runtime.dataflow.metrics import Metrics
    from fsql.runtime.drivers.spark.bootstrap import Computed
    from fsql.runtime.hosts.job_state import JobState
    from fsql.runtime.kernels.keyed.incremental_snapshot import IncrementalSnapshot

_LEASE_SECONDS: Final = 30.0
_RENEWED_EVERY: Final = 1.0
_BEFORE_LIVE: Final = Root(TIME_START + 1, START.origin)
"""After all rows of tables at rest, and before those of all other tables."""


class Until(NamedTuple):
    """The end of history: a time, or a row number if rows have no time."""

    time: int
    is_row: bool


class Bootstrapped(NamedTuple):
    """The result of a bootstrap: the position at which the job begins, and its state and output there."""

    position: Root
    rows_in: int
    rows_out: int
    state_rows: int
    state_bytes: int


def bootstrap(
    compiled: Compiled,
    options: RunOptions,
    process_options: ProcessOptions,
    master: str,
    until: Until | None,
    on_progress: Callable[[Metrics], None] = lambda _: None,
) -> Bootstrapped:
    """Process the history of a job that has not begun, on Spark; a run continues from there.

    History is the rows before `until`; if that is None, all rows of tables that are not live.

    Raises:
        FsqlError: E662, if the job has no history, or has begun; what is wrong with a source, a sink or the
            state directory; the error of the row that stops the job; E644, E661 or E663, if Spark
            cannot be used.
    """
    assert process_options.state is not None
    with ExitStack() as stack:
        state = stack.enter_context(state_directory(process_options.state))
        _check_new(state)
        files = check_files(compiled)
        description = make_description(compiled, options, process_options, state)
        stack.enter_context(files.lock(options.existing, state / "positions"))
        job = prepare_job(resume_or_create(state, description))
        position = _position(job.compiled, job.splits, until)
        coordination = job_coordination(job.description, process_options.credentials)
        job_state = open_job_state(
            *(state, "bootstrap", {}), coordination=coordination, lease_seconds=_LEASE_SECONDS
        )
        stack.callback(job_state.close)
        # The lease of a bootstrap that was killed must expire before another one can begin.
        take_lease(job_state, state, _LEASE_SECONDS + _RENEWED_EVERY)
        try:
            return _Bootstrap(job, state, job_state, stack).run(master, position, on_progress)
        except (CoordinationError, SnapshotNotWrittenError, StateFailedError, OSError) as error:
            message = f'the state directory "{state}" cannot be used: {error}'
            raise FsqlError([Diagnostic("E621", message)]) from None


def _check_new(state: Path) -> None:
    """Check that the job of a state directory has not begun.

    Raises:
        FsqlError: E662, if it has.
    """
    if (state / "snapshots").is_dir() and newest_manifest(state) is not None:
        raise _refusal("the job has begun", "deploy it under another name")


def _position(compiled: Compiled, splits: Splits, until: Until | None) -> Root | None:
    """Return the position at which history ends; None for the end of all tables.

    Raises:
        FsqlError: E662, if there is no history, or it has no end.
    """
    tables = compiled.job.tables
    live = [table for table in tables if is_live(table)]
    if until is not None:
        if live:
            reason = f'table "{live[0].name}" is live: the positions of its rows are not known yet'
            raise _refusal(reason, "remove --bootstrap-until: then history is the tables at rest")
        if all(table.time is TimeKind.START for table in tables):
            reason = "no table of the job has times"
            raise _refusal(reason, "remove --bootstrap-until: then history is all that they have")
        if until.is_row != any(table.time is TimeKind.OFFSET for table in tables):
            times = "event times" if until.is_row else "no event times"
            what = "a timestamp" if until.is_row else "a row number"
            raise _refusal(f"its rows have {times}", f"give {what} with --bootstrap-until")
        return Root(until.time, START.origin)
    if live:
        if all(table.time is not TimeKind.START for table in tables):
            reason = f'no table comes before table "{live[0].name}", which is live'
            raise _refusal(reason, "read history by a table at rest, without a WATERMARK")
        return _BEFORE_LIVE
    for table in tables:
        for split in splits[table.ordinal]:
            if isinstance(split, PacedSplit) and split.rows is None:
                reason = f'table "{table.name}" has no end'
                raise _refusal(reason, "state where history ends: --bootstrap-until TIME")
    return None


def _refusal(reason: str, *helps: str) -> FsqlError:
    return FsqlError([Diagnostic("E662", f"the job cannot be bootstrapped: {reason}", helps=helps)])


@dataclass(slots=True)
class _Bootstrap:
    """One bootstrap, under the lease of the job; `stack` closes what it opens."""

    job: PreparedJob
    state: Path
    job_state: JobState
    stack: ExitStack
    epoch: int = 0
    renewed: float = 0.0

    def run(
        self, master: str, position: Root | None, on_progress: Callable[[Metrics], None]
    ) -> Bootstrapped:
        job = self.job
        self.epoch = self.job_state.next_epoch()
        outputs = self._outputs()
        workers = [self._worker(number) for number in range(job.plan.workers)]
        partitions = job.plan.workers * -(-PARTITIONS // job.plan.workers)
        plan, load = spark_job(
            job.compiled, job.splits, partitions, front_logs=job.description.front_logs()
        )
        session = partial(spark_session, master, partitions)
        run = SparkRun(plan, Edges(job.splits, outputs), load, session)
        number = first_number(self.epoch)

        def store(position: Root, operator: str, parts: list[IncrementalSnapshot]) -> None:
            for worker, state in enumerate(workers):
                bins = job.plan.assignment.owners.of(operator).bins_of(worker)
                own = [rows_of_bins(part, bins) for part in parts]
                if any(map(len, own)):
                    state.store(
                        number, position, [(operator, merge_snapshots(own, position, whole=True))]
                    )

        def progress(metrics: Metrics) -> None:
            self._keep_lease()
            on_progress(metrics)

        computed = SparkBootstrap(run, self._fronts(), position).compute(store, progress)
        if computed is None:
            assert run.stopped is not None
            raise stop_error(run.stopped, job.compiled, job.splits, run.metrics.rows_out)
        if computed.position == START:
            raise _refusal("its tables have no rows", "deploy it without --bootstrap")
        outputs.settle(computed.position)
        self._note_ends(computed)
        manifest = self._manifest(computed, workers)
        for snapshot in (number, number + 1):
            # Twice, so that history need not be read again if the newest manifest is damaged one day.
            self._keep_lease()
            run_steps(self.job_state.commit(msgspec.structs.replace(manifest, snapshot=snapshot)))
        return Bootstrapped(
            computed.position,
            run.metrics.rows_in,
            run.metrics.rows_out,
            sum(segment.rows for segment in manifest.segments),
            sum(segment.size for segment in manifest.segments),
        )

    def _fronts(self) -> list[int]:
        """Return the numbers of the fronts with history."""
        live = {table.ordinal for table in self.job.compiled.job.tables if is_live(table)}
        return [task.number for task in self.job.fronts if task.ordinal not in live]

    def _outputs(self) -> Outputs:
        """Open the sinks of the job in its epoch."""
        description = self.job.description
        positions = self.state / "positions"
        positions.mkdir(mode=0o700, exist_ok=True)
        option = description.delivery
        consumed = job_consumers(
            self.job.compiled,
            self.job.splits,
            positions,
            option=None if option is None else DeliveryOption(option),
            append=description.append,
        )
        writers = []
        for each in consumed:
            opening = OpenRequest(self.epoch, START, each.output.option, description.job)
            writers.append(OutputWriter(each.output, each.consumer, opening))
            self.stack.callback(each.consumer.close)
        return Outputs(writers)

    def _worker(self, number: int) -> WorkerState:
        state = WorkerState(LocalDirectory(self.state), number)
        self.stack.callback(state.close)
        state.load(None, self.epoch, self.job.plan.assignment.owners.bins_of(number))
        return state

    def _keep_lease(self) -> None:
        now = time.monotonic()
        if now >= self.renewed + _RENEWED_EVERY:
            self.renewed = now
            run_steps(self.job_state.renew_lease())

    def _note_ends(self, computed: Computed) -> None:
        """Record the ends of splits that were read to their ends: no rows can be added to them later."""
        ends = SplitEnds(LocalDirectory(self.state))
        tables = self.job.plan.tables
        for task in self.job.fronts:
            report = computed.sources.get(task.number)
            if report is not None and report.end is not None:
                split = self.job.splits[task.ordinal][task.split]
                ends.record(task.number, tables[task.ordinal].name, split, report.end)

    def _manifest(self, computed: Computed, workers: list[WorkerState]) -> Manifest:
        description, plan = self.job.description, self.job.plan
        numbers = tuple(range(plan.workers))
        return Manifest(
            job=description.job,
            tick=0,
            epoch=self.epoch,
            snapshot=0,
            position=(computed.position.time, computed.position.origin),
            workers=plan.workers,
            members=numbers,
            present=numbers,
            owners=plan.assignment.owners.ranges,
            exchanges=plan.assignment.owners.exchange_ranges,
            choices=choices_of(plan),
            segments=tuple(segment for worker in workers for segment in worker.live),
            fronts=tuple(self._points(computed)),
            graph=description.plan,
        )

    def _points(self, computed: Computed) -> Iterator[ResumePoint]:
        for task in sorted(self.job.fronts, key=lambda task: task.number):
            report = computed.sources.get(task.number)
            yield ResumePoint(task.number, 0, 1, 0, TIME_START) if report is None else report.point
