"""The process of the coordinator: it steps its node, holds the lease, keeps manifests, feeds consumers.

One thread does it all, but for what takes long or waits for a disk: the lease, epochs, manifests, and the
opening of consumers, which are done behind its back.
"""

from __future__ import annotations

import queue
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import FsqlError
from fsql.runtime.cluster.frames import COORDINATOR, Goodbye, Heartbeat
from fsql.runtime.cluster.node import (
    CommitManifest,
    Deliver,
    Delivered,
    EpochTaken,
    Finish,
    LeaseHeld,
    LeaseLost,
    ManifestCommitted,
    ManifestNotCommitted,
    OpenOutputs,
    OutputAt,
    OutputLost,
    Progress,
    Received,
    StateLost,
    TakeEpoch,
    Tick,
    Transmit,
    WorkerGone,
)
from fsql.runtime.consumer import ConsumerLostError, ConsumerMissingError, Opening
from fsql.runtime.coordination.port import CoordinationError
from fsql.runtime.drivers.memory import collect_while_idle
from fsql.runtime.drivers.processes.background import Background
from fsql.runtime.drivers.processes.diagnostics import diagnostics_bytes
from fsql.runtime.state.snapshots import SnapshotNotWrittenError
from fsql.runtime.wire.seal import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fsql.runtime.batch import Root
    from fsql.runtime.cluster.coordinator_node import CoordinatorNode
    from fsql.runtime.cluster.job_spec import JobSpec
    from fsql.runtime.cluster.node import CoordinatorEffect, CoordinatorEvent
    from fsql.runtime.consumer import Consumer
    from fsql.runtime.drivers.processes.job_state import JobState
    from fsql.runtime.drivers.processes.supervised import Supervisor
    from fsql.runtime.drivers.transport import Transport

IDLE_SECONDS_MAX = 0.1
"""How long to wait for anything before asking whether the launcher still lives."""

CONSUMER_SECONDS = 0.001
"""How long to wait at most while a consumer has not been sent all that it was given."""


class CoordinatorProcess:
    """Runs until the job is over, or the launcher gone."""

    def __init__(  # noqa: PLR0913 - it stands between many
        self,
        node: CoordinatorNode,
        spec: JobSpec,
        transport: Transport,
        state: JobState,
        consumers: Sequence[Consumer],
        supervisor: Supervisor,
        *,
        again: bool = False,
    ) -> None:
        """Take what a coordinator is made of; `again` says that there was one in this run before it.

        A consumer that is missing is waited for, but not before all outputs have been there once.
        """
        self._node = node
        self._spec = spec
        self._transport = transport
        self._state = state
        self._consumers = consumers
        self._supervisor = supervisor
        self._background = Background(transport.wake)
        self._keeper = Background(transport.wake)
        self._answers: queue.SimpleQueue[CoordinatorEvent] = queue.SimpleQueue()
        self._epoch = 0
        self._sent: dict[int, Root] = {}
        self._never_open = set() if again else set(range(len(consumers)))
        self._next_lease = 0.0
        self._done = False

    def run(self) -> bool:
        """Run; return whether the job is over (and not only the launcher gone)."""
        try:
            while not self._done and self._supervisor.alive():
                self._round()
        finally:
            self._background.close()
            self._keeper.close()
            for consumer in self._consumers:
                consumer.close()
            self._state.close()
        return self._done

    def _round(self) -> None:
        """Deal with everything that has come, then do what the time demands."""
        now = time.monotonic()
        if now >= self._next_lease:
            self._next_lease = now + self._state.lease_renewed_every
            self._keeper.submit(self._renew_lease)
        timer = self._node.next_timer()
        wait = IDLE_SECONDS_MAX if timer is None else min(IDLE_SECONDS_MAX, timer - now)
        descriptors = self._awaited()
        if None in descriptors:
            wait = min(wait, CONSUMER_SECONDS)
        descriptors.append(self._supervisor.descriptor)
        awaited = [each for each in descriptors if each is not None]
        collect_while_idle()
        for source, what in self._transport.receive(max(0.0, wait), awaited):
            self._step(Received(what, source))
        for address in self._supervisor.gone():
            self._step(WorkerGone(address))
        for output in list(self._sent):
            self._hear(output)
        while not self._answers.empty():
            self._step(self._answers.get())
        self._background.check()
        self._keeper.check()
        timer = self._node.next_timer()
        if timer is not None and timer <= time.monotonic():
            self._step(Tick())

    def _awaited(self) -> list[int | None]:
        """Return what to wait on for the consumers that have not acknowledged all they were given."""
        return [self._consumers[output].descriptor for output in self._sent]

    def _step(self, event: CoordinatorEvent) -> None:
        for effect in self._node.step(event, time.monotonic()):
            self._carry_out(effect)

    def _carry_out(self, effect: CoordinatorEffect) -> None:
        match effect:
            case Transmit(address, Goodbye(finished=True) as last):
                self._transport.send_last(address, last)
            case Transmit(address, what):
                self._transport.send(address, what)
            case Deliver():
                self._deliver(effect)
            case TakeEpoch():
                self._background.submit(self._take_epoch)
            case OpenOutputs():
                self._open_outputs(effect)
            case CommitManifest():
                self._background.submit(lambda: self._commit(effect))
            case Progress():
                troubles = (*effect.troubles, *self._missing(), *self._of_other_versions())
                self._supervisor.tell(replace(effect, troubles=troubles))
            case Finish():
                self._supervisor.tell(effect)
                self._done = True

    # Consumers.

    def _missing(self) -> Iterator[str]:
        for output, consumer in zip(self._spec.outputs, self._consumers, strict=True):
            missing = consumer.missing
            if missing is not None:
                yield f"{output.name} waits: {missing}"

    def _open_outputs(self, effect: OpenOutputs) -> None:
        self._epoch = effect.epoch
        self._sent = {}
        for output in range(len(self._consumers)):
            self._background.submit(partial(self._open_output, output, effect))

    def _deliver(self, effect: Deliver) -> None:
        if effect.epoch != self._epoch:
            return
        output, bundle = effect.output, effect.bundle
        if bundle.last:
            self._sent[output] = bundle.ends
        self._with_consumer(output, partial(self._consumers[output].deliver, bundle))
        self._hear(output)

    def _hear(self, output: int) -> None:
        self._with_consumer(output, partial(self._heard, output))

    def _heard(self, output: int) -> None:
        for position in self._consumers[output].acknowledged():
            if position == self._sent.get(output):
                del self._sent[output]
            self._answers.put(Delivered(self._epoch, output, position))

    def _with_consumer(self, output: int, work: Callable[[], None]) -> None:
        try:
            work()
        except (ConsumerLostError, FsqlError) as error:
            self._sent.pop(output, None)
            self._answers.put(_lost(output, error))

    # Workers.

    def _of_other_versions(self) -> Iterator[str]:
        """Tell workers of other versions that they are: all they can read of a datagram is its version."""
        for address, version in sorted(self._transport.other_versions.items()):
            self._transport.send(address, Heartbeat(self._spec.job, 0, COORDINATOR))
            yield (
                f"the worker at {address} cannot join, as it is of another version:"
                f" its wire format is {version}, and this run's is {VERSION} (FSQL-E605)"
            )

    # What is done behind the back of the loop.

    def _renew_lease(self) -> None:
        try:
            until = self._state.renew_lease()
        except FsqlError as error:
            self._answers.put(StateLost(diagnostics_bytes(error)))
        except CoordinationError as error:
            self._answers.put(LeaseLost(str(error)))
        else:
            self._answers.put(LeaseLost() if until is None else LeaseHeld(until))

    def _open_output(self, output: int, effect: OpenOutputs) -> None:
        option = self._spec.outputs[output].option
        opening = Opening(effect.epoch, effect.begins, option, self._spec.job)
        try:
            position, window = self._consumers[output].open(opening)
        except ConsumerMissingError as error:
            at_start = output in self._never_open
            self._answers.put(_lost(output, error.at_start() if at_start else error))
        except (ConsumerLostError, FsqlError) as error:
            self._answers.put(_lost(output, error))
        else:
            self._never_open.discard(output)
            self._answers.put(OutputAt(effect.epoch, output, position, window))

    def _take_epoch(self) -> None:
        try:
            epoch, manifest = self._state.next_epoch()
        except FsqlError as error:
            self._answers.put(StateLost(diagnostics_bytes(error)))
        except CoordinationError as error:
            # Without the lease, or without an answer, there is no epoch: the node asks again.
            self._answers.put(LeaseLost(str(error)))
        else:
            self._answers.put(EpochTaken(epoch, manifest))

    def _commit(self, effect: CommitManifest) -> None:
        manifest = effect.manifest
        try:
            self._sync_consumers()
            unneeded = self._state.commit(manifest)
        except (CoordinationError, ConsumerLostError, SnapshotNotWrittenError, OSError) as error:
            reason = str(error)
            self._answers.put(ManifestNotCommitted(manifest.epoch, manifest.snapshot, reason))
            return
        self._answers.put(ManifestCommitted(manifest.epoch, manifest.snapshot, unneeded))

    def _sync_consumers(self) -> None:
        """Have everything that was acknowledged survive the loss of power.

        Raises:
            ConsumerLostError: if one cannot do that; one that never will is told of as lost.
        """
        for output, consumer in enumerate(self._consumers):
            try:
                consumer.sync()
            except FsqlError as error:
                self._answers.put(_lost(output, error))
                raise ConsumerLostError(str(error)) from None


def _lost(output: int, error: ConsumerLostError | FsqlError) -> OutputLost:
    lasting = diagnostics_bytes(error) if isinstance(error, FsqlError) else None
    return OutputLost(output, str(error), lasting)
