"""What a worker's process does for its node: the network, the readers, the state on the disk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from fsql.runtime.ports import Wait
from fsql.runtime.protocol.manifest import DamagedManifestError, manifest_of
from fsql.runtime.protocol.node import (
    ChunkRead,
    Close,
    LeaderAt,
    Leave,
    Load,
    Loaded,
    NotLoaded,
    NotStored,
    Store,
    Stored,
    Transmit,
    Trim,
)
from fsql.runtime.simulation.sources import SimulatedReader
from fsql.runtime.simulation.stores import DamagedStateError, load_record, store_record
from fsql.runtime.simulation.world import MILLISECOND

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.runtime.kernels.increment import Increment
    from fsql.runtime.protocol.frames import Begin
    from fsql.runtime.protocol.manifest import Record
    from fsql.runtime.protocol.node import WorkerEvent
    from fsql.runtime.simulation.cluster import SimulatedCluster
    from fsql.runtime.simulation.hosts import Host

LEADER_ASKED_US: Final = 200 * MILLISECOND
"""How often a worker asks coordination who leads."""

READ_US: Final = 20
"""How long a read takes."""


@dataclass(slots=True)
class _Open:
    """What is open of an epoch: readers by front, and the fronts that are being read."""

    epoch: int
    number: int
    readers: dict[int, SimulatedReader]
    reading: set[int]
    records: list[Record]
    unstored: list[tuple[str, Increment]]


class WorkerDriver:
    """One worker process."""

    def __init__(self, host: Host, cluster: SimulatedCluster) -> None:
        self._host = host
        self._cluster = cluster
        name = f"{host.name} {host.starts}"
        self.machine = cluster.nodes.worker(cluster.job, name, host.name, cluster.settings)
        self._open: _Open | None = None
        self._rows_max = cluster.world.tape.stream(f"rows {host.name}")
        cluster.network.listen(host.name, host.receive)
        host.later(0, self._ask_for_leader)

    def step(self, event: object, now: float) -> Sequence[object]:
        """See `hosts.Driver`."""
        return self.machine.step(cast("WorkerEvent", event), now)

    def next_timer(self) -> float | None:
        """See `hosts.Driver`."""
        return self.machine.next_timer()

    def carry_out(self, effect: object) -> None:
        """See `hosts.Driver`."""
        cluster = self._cluster
        match effect:
            case Transmit(address, what):
                cluster.network.transmit(self._host.name, address, what)
            case Load(begin):
                self._open = None
                self._host.later(cluster.disk_us(), self._load, begin)
            case Store():
                self._host.later(cluster.disk_us(), self._store, effect)
            case Trim(_, unneeded):
                for key in unneeded:
                    cluster.disk.remove(key)
            case Close():
                self._open = None
            case Leave():
                self._host.end()
            case _:
                raise AssertionError(effect)

    def stepped(self) -> None:
        """Read for the fronts that may read."""
        opened = self._open
        if opened is None:
            return
        for front in self.machine.readable(self._host.now):
            if front not in opened.reading and front in opened.readers:
                opened.reading.add(front)
                self._host.later(READ_US, self._read, opened, front)

    def killed(self) -> None:
        """See `hosts.Driver`."""
        self._cluster.network.leave(self._host.name)

    def _ask_for_leader(self) -> None:
        coordination = self._cluster.coordination

        def answer(address: str | None) -> None:
            if address is not None:
                self._host.handle(LeaderAt(address))

        coordination.call(self._host, coordination.leader, answer)
        self._host.later(LEADER_ASKED_US, self._ask_for_leader)

    def _load(self, begin: Begin) -> None:
        attempt = self.machine.attempt
        if attempt is None or attempt.epoch != begin.epoch:
            return
        cluster = self._cluster
        try:
            manifest = manifest_of(begin.manifest) if begin.manifest else None
            records = () if manifest is None else manifest.records
            state: dict[str, tuple[Increment, ...]] = {}
            for record in records:
                increment = load_record(cluster.disk, record)
                state[record.operator] = (*state.get(record.operator, ()), increment)
        except (DamagedManifestError, DamagedStateError) as error:
            self._host.handle(NotLoaded(begin.epoch, str(error)))
            return
        plan = cluster.plan_of(begin.description)
        tasks = cluster.fronts_of(plan, begin.number)
        points = {} if manifest is None else {point.front: point.row for point in manifest.fronts}
        readers = {
            task.number: SimulatedReader(
                cluster.splits[task.ordinal][task.split], points.get(task.number, 0)
            )
            for task in tasks
        }
        own = cluster.records_taken_over(records, begin.number, plan.workers)
        self._open = _Open(begin.epoch, begin.number, readers, set(), own, [])
        self._host.handle(Loaded(begin.epoch, plan, tasks, state))

    def _read(self, opened: _Open, front: int) -> None:
        if opened is not self._open:
            return
        opened.reading.discard(front)
        if front not in self.machine.readable(self._host.now):
            return
        reader = opened.readers[front]
        place = reader.place()
        rows_max = self._cluster.rows_max(self._rows_max)
        chunk = reader.read(rows_max, self._cluster.world.now_us)
        if not isinstance(chunk, Wait):
            self._cluster.rows_read += 0 if chunk is None else len(chunk.rows)
        self._host.handle(ChunkRead(front, chunk, place))

    def _store(self, store: Store) -> None:
        opened = self._open
        if opened is None or opened.epoch != store.epoch:
            return
        disk = self._cluster.disk
        increments = [*opened.unstored, *store.increments]
        stored: list[Record] = []
        try:
            for number, (operator, increment) in enumerate(increments):
                place = f"{store.epoch}-{number}"
                record = store_record(
                    disk, opened.number, store.snapshot, place, operator, increment
                )
                stored.append(record)
        except OSError as error:
            self._cluster.coverage.sometimes("snapshot not stored")
            for record in stored:
                disk.remove(record.key)
            opened.unstored = increments
            self._host.handle(NotStored(store.epoch, store.snapshot, str(error.strerror)))
            return
        opened.unstored = []
        opened.records += stored
        self._host.handle(Stored(store.epoch, store.snapshot, tuple(opened.records)))
