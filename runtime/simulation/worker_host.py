"""What a worker's process does for its node: the network, the readers, the state on the disk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from fsql.runtime.cluster.manifest import DamagedManifestError, manifest_of
from fsql.runtime.cluster.node import (
    ChunkRead,
    Close,
    Continue,
    Continued,
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
from fsql.runtime.ports import Wait
from fsql.runtime.simulation.coordination import LEADER
from fsql.runtime.simulation.probes import look_at
from fsql.runtime.simulation.sources import InputLostError, SimulatedReader
from fsql.runtime.simulation.stores import LOADING_FAILS, LoadedState
from fsql.runtime.simulation.world import MILLISECOND, SECOND
from fsql.runtime.state.store import StateStoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.runtime.cluster.frames import Begin
    from fsql.runtime.cluster.node import WorkerEvent
    from fsql.runtime.coordination.port import Entry
    from fsql.runtime.simulation.cluster import SimulatedCluster
    from fsql.runtime.simulation.hosts import Host
    from fsql.runtime.state.records import Records

LEADER_ASKED_US: Final = 200 * MILLISECOND
"""How often a worker that is idle asks coordination who leads."""

READ_US: Final = 20
"""How long a read takes."""

HANGS_AT_MOST_US: Final = 6 * SECOND
"""How long a process may be busy with a row that hangs it."""


@dataclass(slots=True)
class _Open:
    """What is open of an epoch: records, readers by front, and the fronts that are being read."""

    epoch: int
    records: Records
    readers: dict[int, SimulatedReader]
    reading: set[int]


class WorkerDriver:
    """One worker process."""

    def __init__(self, host: Host, cluster: SimulatedCluster) -> None:
        self._host = host
        self._cluster = cluster
        name = f"{host.name} {host.starts}"
        self.machine = cluster.nodes.worker(cluster.job, name, host.name, cluster.settings)
        self._open: _Open | None = None
        self._rows_max = cluster.world.tape.stream(f"rows {host.name}")
        self._way = cluster.coordination.way()
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
                look_at(what, cluster.coverage)
                cluster.network.transmit(self._host.name, address, what)
            case Continue():
                self._host.later(0, self._host.handle, Continued())
            case Load(begin):
                self._close()
                self._host.later(cluster.disk_us(), self._load, begin)
            case Store():
                self._host.later(cluster.disk_us(), self._store, effect)
            case Trim(_, unneeded):
                if self._open is not None:
                    self._open.records.remove(unneeded)
            case Close():
                self._close()
            case Leave():
                self._close()
                self._host.end()
            case _:
                raise AssertionError(effect)

    def woken(self) -> None:
        """Read for the front that has waited longest for its source, if one has."""
        opened = self._open
        if opened is None:
            return
        for front in self.machine.readable(self._host.now):
            if front not in opened.reading and front in opened.readers:
                self._read_now(opened, front)
                return

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
        self._close()
        self._cluster.network.leave(self._host.name)

    def _ask_for_leader(self) -> None:
        way = self._way

        def answer(entry: Entry | None) -> None:
            if entry is not None:
                self._host.handle(LeaderAt(entry.value.decode()))

        if self.machine.attempt is None:
            self._cluster.coordination.call(self._host, way, lambda: way.get(LEADER), answer)
        self._host.later(LEADER_ASKED_US, self._ask_for_leader)

    def _load(self, begin: Begin) -> None:
        attempt = self.machine.attempt
        if attempt is None or attempt.epoch != begin.epoch:
            return
        cluster = self._cluster
        plan = cluster.plan_of(begin.description)
        place = begin.number, begin.epoch
        try:
            if cluster.stores_open.setdefault(begin.number, self._host.name) != self._host.name:
                raise StateStoreError(f"the store of worker {begin.number} is in use")
            manifest = manifest_of(begin.manifest) if begin.manifest else None
            loaded = LoadedState(cluster.disk, manifest, place, plan.owners)
        except (DamagedManifestError, *LOADING_FAILS) as error:
            self._host.handle(NotLoaded(begin.epoch, str(error)))
            return
        if manifest is not None:
            cluster.coverage.sometimes("recovered from a snapshot")
            if manifest.workers != plan.workers:
                cluster.coverage.sometimes("recovered with another number of workers")
        tasks = cluster.fronts_of(plan, begin.number)
        points = {} if manifest is None else {point.front: point.row for point in manifest.fronts}
        try:
            readers = {
                task.number: SimulatedReader(
                    cluster.splits[task.ordinal][task.split], points.get(task.number, 0)
                )
                for task in tasks
            }
        except InputLostError as error:
            cluster.coverage.sometimes("input that cannot be read again")
            cluster.input_lost = True
            self._host.handle(NotLoaded(begin.epoch, str(error), str(error).encode()))
            return
        self._open = _Open(begin.epoch, loaded.records, readers, set())
        self._host.handle(Loaded(begin.epoch, plan, tasks, loaded.increments, cluster.settings))

    def _close(self) -> None:
        self._open = None
        opened = self._cluster.stores_open
        for number in [number for number, name in opened.items() if name == self._host.name]:
            del opened[number]

    def _read(self, opened: _Open, front: int) -> None:
        if opened is not self._open:
            return
        opened.reading.discard(front)
        if front in self.machine.readable(self._host.now):
            self._read_now(opened, front)

    def _read_now(self, opened: _Open, front: int) -> None:
        reader = opened.readers[front]
        place = reader.place()
        rows_max = self._cluster.rows_max(self._rows_max)
        chunk = reader.read(rows_max, self._cluster.world.now_us)
        if not isinstance(chunk, Wait):
            self._cluster.rows_read += 0 if chunk is None else len(chunk.rows)
        poison = reader.split.poisoned(place.row, reader.place().row)
        if poison is None:
            self._host.handle(ChunkRead(front, chunk, place))
            return
        cluster = self._cluster
        cluster.coverage.struck("poison row", "ChunkRead")
        if not poison.hangs:
            self._host.kill("at a poison row")
            return
        self._host.hang(self._host.handle, ChunkRead(front, chunk, place))
        hung_us = cluster.world.tape.stream("poison").below(HANGS_AT_MOST_US)
        cluster.world.after(hung_us, self._host.go_on_if_stopped)

    def _store(self, store: Store) -> None:
        opened = self._open
        if opened is None or opened.epoch != store.epoch:
            return
        try:
            records = opened.records.store(store.snapshot, store.position, store.increments)
        except LOADING_FAILS as error:
            self._host.handle(NotStored(store.epoch, store.snapshot, str(error)))
            return
        self._host.handle(Stored(store.epoch, store.snapshot, records))
