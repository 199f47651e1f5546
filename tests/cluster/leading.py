"""One run of a job on real workers, led in this process, so that a test can act at exact points.

The coordinator is the real one: its node, its process, the lease and the manifests on disk, sockets.  What is
not there is the launcher; the run itself starts workers again that were killed, as the launcher would.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import msgspec

from fsql.connectors.live.front_logs import LocalFrontLog
from fsql.connectors.stream_stores import StreamStore
from fsql.connectors.tcp.reference import ConsumerServer
from fsql.job.description import prepare_job
from fsql.job.sinks import StandardOutput, job_consumers
from fsql.runtime.cluster.coordinator.events import (
    CommitManifest,
    Deliver,
    Finish,
    ManifestCommitted,
    Progress,
)
from fsql.runtime.cluster.coordinator.node import CoordinatorNode
from fsql.runtime.cluster.delivery.option import DeliveryOption
from fsql.runtime.cluster.frames import (
    Begin,
    Frame,
    Ready,
    ReleaseShards,
    ShardsReleased,
    ShardsSynced,
    SnapshotAcknowledged,
    SnapshotAnswer,
    SyncShards,
)
from fsql.runtime.cluster.job_spec import JobSpec
from fsql.runtime.cluster.node import Received, Transmit
from fsql.runtime.cluster.ticks.events import TickEnded
from fsql.runtime.drivers.node_address import ANY_PORT
from fsql.runtime.drivers.processes.coordinator_process import CoordinatorProcess
from fsql.runtime.drivers.processes.job_state import open_job_state
from fsql.runtime.drivers.processes.supervised import Supervisor
from fsql.runtime.drivers.transport import TransportSettings, ZeroMqTransport
from fsql.runtime.key_file import load_or_create_key
from fsql.tests.cluster.jobs import STDOUT
from fsql.tests.kept_port import KeptPort

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import BinaryIO

    from fsql.job.description import JobDescription, PreparedJob
    from fsql.runtime.batch import Root
    from fsql.runtime.cluster.coordinator.events import CoordinatorEffect, CoordinatorEvent
    from fsql.tests.cluster.jobs import Job, Written
    from fsql.tests.cluster.nursery import Nursery, NurseryWorker
    from fsql.tests.cluster.proxy import Network

HANGS_AFTER_SECONDS: Final = 300.0
"""A run that takes so long never ends; nothing is said about how long one should take."""

MOMENTS: Final = ("delivered", "saved", "begin", "committing", "answered", "ready", "committed")
"""What can be seen of a run; each has happened before what it leads to is done."""

MOMENTS_OF_WRITERS: Final = ("releasing", "released", "syncing", "synced")
"""Further moments of runs in which workers write shards."""


@dataclass(frozen=True)
class Kill:
    """A worker is killed when something has happened for the `count`-th time in the run."""

    moment: str
    count: int
    worker: int

    def __str__(self) -> str:
        return f"worker {self.worker} killed at {self.moment} {self.count}"


class WorkerGroup(Supervisor):
    """The workers of a run; stands in for the launcher."""

    def __init__(
        self,
        start: Callable[[], NurseryWorker],
        workers: int,
        on_progress: Callable[[Progress], None],
    ) -> None:
        self._start = start
        self._on_progress = on_progress
        self._workers = [start() for _ in range(workers)]
        self._ended: list[str] = []
        self._deadline = time.monotonic() + HANGS_AFTER_SECONDS
        self.finish: Finish | None = None
        self.epochs: dict[int, str] = {}
        """Of each epoch, why the one before it was given up."""

    @property
    def descriptor(self) -> None:
        """See `Supervisor.descriptor`: what this one says, it says between two rounds."""

    def alive(self) -> bool:
        """See `Supervisor.alive`; a worker that ends by itself before the job is a failure."""
        for worker in self._workers:
            assert worker.alive(), worker.log.read_text()
        assert time.monotonic() < self._deadline, f"the run hangs: {self.epochs}"
        return True

    def take_exited_workers(self) -> Sequence[str]:
        ended, self._ended = self._ended, []
        return ended

    def report(self, effect: Progress | Finish | TickEnded) -> None:
        if isinstance(effect, TickEnded):
            return
        if isinstance(effect, Finish):
            self.finish = effect
        else:
            self.epochs.setdefault(effect.epoch, effect.detail)
            self._on_progress(effect)

    def has(self, address: str) -> bool:
        """Return whether there is a worker at an address."""
        return any(worker.address == address for worker in self._workers)

    def replace(self, address: str) -> None:
        """Kill the worker at an address, and start another."""
        [worker] = [worker for worker in self._workers if worker.address == address]
        self._workers.remove(worker)
        worker.kill()
        self._ended.append(address)
        self._workers.append(self._start())

    def end_workers(self) -> None:
        """Have all workers end."""
        for worker in self._workers:
            worker.end_supervision()
        self._workers = []


class _Watched(CoordinatorNode):
    """A coordinator's node that tells what happens, before what it leads to is done."""

    on: Callable[[str], None]

    def step(self, event: CoordinatorEvent, now: float) -> list[CoordinatorEffect]:
        for moment in _of_event(event):
            self.on(moment)
        effects = super().step(event, now)
        for effect in effects:
            for moment in _of_effect(effect):
                self.on(moment)
        return effects


def _of_event(event: CoordinatorEvent) -> list[str]:
    if isinstance(event, ManifestCommitted):
        return ["committed"]
    if not isinstance(event, Received) or not isinstance(event.what, Frame):
        return []
    names: dict[type, str] = {
        Ready: "ready",
        SnapshotAnswer: "answered",
        SnapshotAcknowledged: "saved",
        ShardsReleased: "released",
        ShardsSynced: "synced",
    }
    return [names[type(item)] for item in event.what.items if type(item) in names]


def _of_effect(effect: CoordinatorEffect) -> list[str]:
    match effect:
        case Deliver():
            return ["delivered"]
        case CommitManifest():
            return ["committing"]
        case Transmit(_, Begin()):
            return ["begin"]
        case Transmit(_, Frame() as frame):
            names: dict[type, str] = {ReleaseShards: "releasing", SyncShards: "syncing"}
            return [names[type(item)] for item in frame.items if type(item) in names]
        case _:
            return []


class LedRun:
    """One run of a job in a state directory; `kills` happen on the way, if their moments come."""

    def __init__(
        self,
        nursery: Nursery,
        job: Job,
        description: JobDescription,
        kills: Sequence[Kill] = (),
        on_progress: Callable[[Progress], None] = lambda _: None,
        network: Network | None = None,
    ) -> None:
        self._network = network
        self.on_workers_started: Callable[[], None] = lambda: None
        self._nursery = nursery
        self._job = job
        self._description = description
        self._state = job.directory / "state"
        self._kills = list(kills)
        self._on_progress = on_progress
        self._seen = dict.fromkeys((*MOMENTS, *MOMENTS_OF_WRITERS), 0)
        self._node: _Watched | None = None
        self._gang: WorkerGroup | None = None
        self._ports: list[KeptPort] = []
        self.killed: list[Kill] = []

    def written(self, stdout_taken: Callable[[], object] = lambda: None) -> Written:
        """Run; return what was written; `stdout_taken` is called before standard output is written to."""
        with (
            (self._job.directory / STDOUT).open("ab") as file,
            _Served(_Stdout(file, stdout_taken)) as stdout,
        ):
            finish = self._finish(stdout)
        assert finish.diagnostics is None, finish
        assert finish.refused is None, finish
        return self._job.written(finish.stopped)

    def _finish(self, stdout: tuple[str, int]) -> Finish:
        """Lead the job to its end."""
        state = self._state
        state.mkdir(exist_ok=True)
        key = state / "cluster.key"
        address, announced = self._place()
        transport = ZeroMqTransport(
            load_or_create_key(key), address, TransportSettings(announced=announced)
        )
        self._nursery.compile(self._description)
        log = state / "errors"
        self._gang = WorkerGroup(
            lambda: self._nursery.worker(transport.address, key, log, *self._place()),
            self._description.workers,
            self._on_progress,
        )
        self.on_workers_started()
        try:
            self._process(prepare_job(self._description), transport, stdout, self._gang).run()
        finally:
            self._gang.end_workers()
            transport.close()
            for port in self._ports:
                port.close()
        assert log.read_text() == ""
        assert self._gang.finish is not None
        return self._gang.finish

    def _place(self) -> tuple[str, str]:
        """Return where a node listens, and what it announces: a proxy's address, if there is a network."""
        if self._network is None:
            return ANY_PORT, ""
        port = KeptPort()
        self._ports.append(port)
        return port.address, self._network.proxy(port.address).address

    def _process(
        self,
        job: PreparedJob,
        transport: ZeroMqTransport,
        stdout: tuple[str, int],
        gang: WorkerGroup,
    ) -> CoordinatorProcess:
        positions = self._state / "positions"
        positions.mkdir(exist_ok=True)
        wanted = self._description.delivery
        option = None if wanted is None else DeliveryOption(wanted)
        consumed = job_consumers(
            job.compiled, job.splits, positions, stdout=StandardOutput(stdout), option=option
        )
        outputs = tuple(each.output for each in consumed)
        data = msgspec.json.encode(self._description)
        logs = {front: LocalFrontLog(path) for front, path in job.front_logs().items()}
        spec = JobSpec(
            *(self._description.job, 0, job.plan, job.fronts, outputs, data, bool(logs)),
            encodings=job.encodings(),
        )
        self._node = _Watched(spec, transport.address, job.settings())
        self._node.on = self._on_moment
        job_state = open_job_state(self._state, transport.address, logs)
        consumers = [each.consumer for each in consumed]
        return CoordinatorProcess(self._node, spec, transport, job_state, consumers, gang)

    def _on_moment(self, moment: str) -> None:
        """Kill whoever is to be killed now."""
        self._seen[moment] += 1
        assert self._node is not None
        assert self._gang is not None
        epoch = self._node.epoch
        for kill in list(self._kills):
            if epoch is not None and kill == replace(kill, moment=moment, count=self._seen[moment]):
                self._kills.remove(kill)
                address = epoch.addresses[kill.worker % len(epoch.addresses)]
                if self._gang.has(address):  # otherwise another kill came first
                    self.killed.append(kill)
                    self._gang.replace(address)


class _Stdout(StreamStore):
    """A file that stands for standard output."""

    def __init__(self, file: BinaryIO, before: Callable[[], object]) -> None:
        super().__init__(file, STDOUT)
        self._before = before

    def commit(self, position: Root) -> None:
        self._before()
        super().commit(position)


class _Served(ConsumerServer):
    """A consumer such as the launcher has for its standard output, in a thread."""

    def __init__(self, store: StreamStore) -> None:
        super().__init__(("127.0.0.1", 0), store)
        self._over = False
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> tuple[str, int]:
        self._thread.start()
        return self.address

    def __exit__(self, *_: object) -> None:
        self._over = True
        self._thread.join()
        self.close()

    def _serve(self) -> None:
        while not self._over:
            self.serve(0.05)
