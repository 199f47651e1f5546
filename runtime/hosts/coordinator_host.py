"""The host of a coordinator: the lease, manifests, sinks, and transport.

Work that takes long or waits for a disk is done in the background: one executor renews the lease, another
gets epoch numbers, writes manifests and opens sinks.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.diagnostics.encoding import diagnostics_bytes
from fsql.runtime.batch import START
from fsql.runtime.cluster.coordinator.events import (
    CommitManifest,
    Deliver,
    Delivered,
    EpochTaken,
    Finish,
    LeaseHeld,
    LeaseLost,
    ManifestCommitted,
    ManifestNotCommitted,
    OpenSinks,
    Progress,
    SinkLost,
    SinkOpened,
    SnapshotRequested,
    StateLost,
    TakeEpoch,
)
from fsql.runtime.cluster.frames import COORDINATOR, Goodbye, Heartbeat
from fsql.runtime.cluster.node import Transmit
from fsql.runtime.cluster.ticks.events import LoadMeasured, ProposeTick, TickEnded
from fsql.runtime.coordination.port import (
    CoordinationDiskError,
    CoordinationError,
    CoordinationUnavailableError,
)
from fsql.runtime.dataflow.metrics import Metrics, OperatorMetrics, merge
from fsql.runtime.hosts.host import Host
from fsql.runtime.sink import OpenRequest, SinkDiskError, SinkLostError, SinkMissingError
from fsql.runtime.state.snapshots import SnapshotNotWrittenError
from fsql.runtime.wire.seal import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fsql.runtime.batch import Root
    from fsql.runtime.cluster.coordinator.events import CoordinatorEffect
    from fsql.runtime.cluster.job_spec import JobSpec
    from fsql.runtime.hosts.job_state import JobState
    from fsql.runtime.hosts.ports import (
        Background,
        Clock,
        CoordinatorMachine,
        Monitor,
        Transport,
        Work,
    )
    from fsql.runtime.sink import Sink

_Result = TypeVar("_Result")


STEP_SECONDS_MAX: Final = 640.0
"""A step that is longer does not keep the lease any more: it may never end."""


class CoordinatorHost(Host["CoordinatorMachine"]):
    """Carries out the effects of one `CoordinatorNode`."""

    def __init__(  # noqa: PLR0913 - one argument for each port
        self,
        node: CoordinatorMachine,
        spec: JobSpec,
        clock: Clock,
        *,
        transport: Transport,
        background: Background,
        lease_executor: Background,
        state: JobState,
        sinks: Sequence[Sink],
        monitor: Monitor,
        restarted: bool = False,
    ) -> None:
        """Take the ports; `lease_executor` renews the lease.

        A missing sink is an error at the start of a run, and is waited for later.  `restarted` says that the
        run had a coordinator before.
        """
        super().__init__(node, clock)
        self._spec = spec
        self._transport = transport
        self._background = background
        self._lease_executor = lease_executor
        self._state = state
        self._ticks = state.tick_proposals(spec)
        self._sinks = sinks
        self._monitor = monitor
        self._epoch = 0
        self._sent: dict[int, Root] = {}
        self._written: frozenset[int] = frozenset()
        """The outputs that workers write."""
        self._write_metrics = OperatorMetrics()
        self._not_yet_open = set() if restarted else set(range(len(sinks)))
        self._next_lease = self._ticked_at = clock()
        self._is_renewing = False
        self._coordination_error = ""

    def close(self) -> None:
        """Close sinks and state; no background work may be left."""
        for sink in self._sinks:
            sink.close()
        self._state.close()

    def next_timer(self) -> float:
        """Return the latest time at which to call `tick`."""
        timer = self.node.next_timer()
        return self._next_lease if timer is None else min(timer, self._next_lease)

    def tick(self) -> None:
        """Step the node if its timer is due; to be called when all input is processed."""
        self._ticked_at = self.clock()
        self.keep_lease()
        super().tick()

    def keep_lease(self) -> None:
        """Renew the lease if it is time to; may be called from another thread while a step is long."""
        now = self.clock()
        if now < self._next_lease or now > self._ticked_at + STEP_SECONDS_MAX:
            return
        self._next_lease = now + self._state.renewal_seconds
        if not self._is_renewing:  # an earlier renewal may still wait for its answer
            self._is_renewing = True
            self._lease_executor.submit(self._renew_lease())

    def _carry_out(self, effect: CoordinatorEffect) -> None:
        match effect:
            case Transmit(address, Goodbye(finished=True) as last):
                self._transport.send_last(address, last)
            case Transmit(address, what):
                self._transport.send(address, what)
            case Deliver():
                self._deliver(effect)
            case TakeEpoch():
                self._background.submit(self._take_epoch())
            case OpenSinks():
                self._open_outputs(effect)
            case CommitManifest():
                self._background.submit(self._commit(effect))
            case Progress():
                self._report_progress(effect)
            case ProposeTick():
                self._propose(effect)
            case TickEnded() | Finish():
                self._end(effect)

    def on_load(self, busy: float) -> None:
        """Record `busy`: the share of the time since the last call in which the loop was not waiting."""
        self.step(LoadMeasured(busy))

    def _propose(self, effect: ProposeTick) -> None:
        if self._ticks is not None:
            self._lease_executor.submit(
                self._ticks.propose(effect.owners, effect.reason, effect.workers)
            )

    def _end(self, effect: TickEnded | Finish) -> None:
        """Report the end of a tick or of the job."""
        self._monitor.report(effect)
        if isinstance(effect, Finish):
            self.done = True
            # A drained job may take the open proposal when it is started again.
            if self._ticks is not None and not effect.drained:
                self._lease_executor.submit(self._ticks.end_job())
        elif self._ticks is not None:
            self._ticks.on_ended(effect)
            self._lease_executor.submit(self._ticks.advance())

    def _report_progress(self, progress: Progress) -> None:
        """Report progress, completed by the figures that only the host has."""
        problems = (
            *progress.problems,
            *self._state.snapshot_problems,
            *self._coordination_problems(),
            *self._missing_sinks(),
            *self._version_problems(),
        )
        metrics = merge([progress.metrics, Metrics(operators={"write": self._write_metrics})])
        self._monitor.report(replace(progress, metrics=metrics, problems=problems))

    def _coordination_problems(self) -> Iterator[str]:
        if self._coordination_error:
            yield f"coordination: {self._coordination_error}; snapshots wait"

    # Sinks.

    def descriptors_to_wait_for(self) -> list[int | None]:
        """Return the descriptors of the sinks that have not acknowledged everything."""
        return [self._sinks[output].descriptor for output in self._sent]

    def poll_sinks(self) -> None:
        """Pass on the acknowledgements of sinks."""
        for output in list(self._sent):
            self._take_acknowledged(output)

    def _missing_sinks(self) -> Iterator[str]:
        for output, sink in zip(self._spec.outputs, self._sinks, strict=True):
            reason = sink.missing_reason
            if reason is not None:
                yield f"{output.name} waits: {reason}"

    def _open_outputs(self, effect: OpenSinks) -> None:
        self._epoch, self._written = effect.epoch, effect.written
        self._write_metrics = OperatorMetrics()
        self._sent = {}
        for output in range(len(self._sinks)):
            self._background.submit(self._open_output(output, effect))

    def _deliver(self, effect: Deliver) -> None:
        if effect.epoch != self._epoch:
            return
        output, bundle = effect.output, effect.bundle
        if bundle.last:
            self._sent[output] = bundle.ends
        started = self.clock()
        self._with_sink(output, partial(self._sinks[output].deliver, bundle))
        self._write_metrics.seconds += self.clock() - started
        self._take_acknowledged(output)

    def _take_acknowledged(self, output: int) -> None:
        for position in self._with_sink(output, self._sinks[output].take_acknowledged) or ():
            if position == self._sent.get(output):
                del self._sent[output]
            self.step(Delivered(self._epoch, output, position))

    def _with_sink(self, output: int, work: Callable[[], _Result]) -> _Result | None:
        """Return the result of `work`; None if the sink is lost."""
        try:
            return work()
        except (SinkLostError, FsqlError) as error:
            self._sent.pop(output, None)
            self.step(_sink_lost(output, error))
            return None

    # Workers.

    def _version_problems(self) -> Iterator[str]:
        """Report workers of other versions, and send them a datagram with the version of this run."""
        for address, version in sorted(self._transport.other_versions.items()):
            self._transport.send(address, Heartbeat(self._spec.job, 0, COORDINATOR))
            yield (
                f"the worker at {address} cannot join, as it is of another version:"
                f" its wire format is {version}, and this run's is {VERSION} (FSQL-E605)"
            )

    # In the background.

    def _renew_lease(self) -> Work:
        """Renew the lease, and inform the node.

        Without an answer, the lease may still be held, and the epoch continues.  Once the lease may have
        expired, no rows are released and no snapshot is committed.  A disk that fails repeatedly ends the
        job.
        """
        coordination_error = ""
        try:
            until = yield from self._state.renew_lease()
        except FsqlError as error:
            yield StateLost(diagnostics_bytes(error))
        except CoordinationUnavailableError as error:
            coordination_error = str(error)
            lease, disk_failed = self._state.lease, isinstance(error, CoordinationDiskError)
            if not lease.is_acquired or (disk_failed and lease.held_until <= self.clock()):
                yield LeaseLost(coordination_error, disk_failed)
        except CoordinationError as error:
            yield LeaseLost(str(error))
        else:
            yield LeaseLost() if until is None else LeaseHeld(until)
            request = None if until is None else self._state.open_request()
            if request is not None:
                yield SnapshotRequested(request.id, request.last)
            if self._ticks is not None and until is not None:
                yield from self._ticks.advance()
        if self._ticks is not None and not self._state.lease.is_acquired:
            self._ticks.on_lease_lost()
        self._coordination_error = coordination_error
        self._is_renewing = False

    def _open_output(self, output: int, effect: OpenSinks) -> Work:
        option = self._spec.outputs[output].option
        # The sink of an output that was added at this position is empty.
        begins = START if self._spec.outputs[output].since == effect.begins else effect.begins
        opening = OpenRequest(effect.epoch, begins, option, self._spec.job)
        try:
            position, window = self._sinks[output].open(opening)
            if output in effect.written:
                self._sinks[output].sync()
                self._sinks[output].close()  # its writer opens it next
        except SinkMissingError as error:
            at_start = output in self._not_yet_open
            yield _sink_lost(output, error.at_start() if at_start else error)
        except (SinkLostError, FsqlError) as error:
            yield _sink_lost(output, error)
        else:
            self._not_yet_open.discard(output)
            yield SinkOpened(effect.epoch, output, position, window)

    def _take_epoch(self) -> Work:
        try:
            epoch, manifest = yield from self._state.take_epoch()
            layout = self._state.last_layout(self._spec)
        except FsqlError as error:
            yield StateLost(diagnostics_bytes(error))
        except CoordinationError as error:
            # Without the lease, or without an answer, there is no epoch number: the node asks again.
            yield LeaseLost(str(error), isinstance(error, CoordinationDiskError))
        else:
            yield EpochTaken(epoch, manifest, layout)

    def _commit(self, effect: CommitManifest) -> Work:
        manifest = effect.manifest
        try:
            yield from self._sync_sinks()
            unneeded = yield from self._state.commit(manifest, effect.request)
        except (CoordinationError, SinkLostError, SnapshotNotWrittenError, OSError) as error:
            yield ManifestNotCommitted(manifest.epoch, manifest.snapshot, str(error))
        else:
            yield ManifestCommitted(manifest.epoch, manifest.snapshot, unneeded)

    def _sync_sinks(self) -> Work:
        """Make all acknowledged rows survive a loss of power.

        Raises:
            SinkLostError: if a sink cannot do that; if the failure is permanent, it is also reported as lost.
        """
        written = self._written
        for output, sink in enumerate(self._sinks):
            try:
                if output not in written:
                    sink.sync()
            except FsqlError as error:
                yield _sink_lost(output, error)
                raise SinkLostError(str(error)) from None
        yield None


def _sink_lost(output: int, error: SinkLostError | FsqlError) -> SinkLost:
    permanent = diagnostics_bytes(error) if isinstance(error, FsqlError) else None
    return SinkLost(output, str(error), permanent, isinstance(error, SinkDiskError))
