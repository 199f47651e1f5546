"""The process of a worker: it steps its node on a real network, reads real files, keeps real state.

One thread does it all, but for what takes long: loading and storing state, which let go of the
interpreter lock and are done behind its back, one after the other.
"""

from __future__ import annotations

import queue
import time
from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import FsqlError
from fsql.runtime.cluster.manifest import manifest_of
from fsql.runtime.cluster.node import (
    ChunkRead,
    Close,
    Continue,
    Continued,
    Leave,
    Load,
    Loaded,
    NotLoaded,
    NotStored,
    Received,
    SourceFailed,
    Store,
    Stored,
    Tick,
    Transmit,
    Trim,
)
from fsql.runtime.drivers.memory import collect_while_idle
from fsql.runtime.drivers.processes.background import Background
from fsql.runtime.drivers.processes.diagnostics import diagnostics_bytes
from fsql.runtime.drivers.processes.split_ends import SplitEnds
from fsql.runtime.drivers.processes.worker_state import StateFailedError, WorkerState

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fsql.runtime.cluster.frames import Begin
    from fsql.runtime.cluster.node import FrontTask, WorkerEffect, WorkerEvent
    from fsql.runtime.cluster.worker_node import WorkerNode
    from fsql.runtime.drivers.processes.prepared import Prepare, Prepared
    from fsql.runtime.drivers.processes.supervised import Supervisor
    from fsql.runtime.drivers.transport import Transport
    from fsql.runtime.ports import SplitReader

IDLE_SECONDS_MAX = 0.1
"""How long to wait for anything before asking whether the launcher still lives."""


class WorkerProcess:
    """Runs until the job is done, or whoever started the worker is gone."""

    def __init__(
        self,
        node: WorkerNode,
        transport: Transport,
        prepare: Prepare,
        supervisor: Supervisor | None,
        on_silence: Callable[[float], None] = lambda _: None,
    ) -> None:
        """Take what a worker is made of.

        `on_silence` is told often for how many seconds nothing has come; it may raise to end the worker.
        """
        self._node = node
        self._transport = transport
        self._prepare = prepare
        self._supervisor = supervisor
        self._background = Background(transport.wake)
        self._answers: queue.SimpleQueue[WorkerEvent] = queue.SimpleQueue()
        self._readers: dict[int, SplitReader] = {}
        self._opened: dict[int, SplitReader] = {}
        self._chunk_rows = 0
        self._state: WorkerState | None = None
        self._done = False
        self._on_silence = on_silence
        self._heard_at = time.monotonic()

    def run(self) -> bool:
        """Run; return whether the job is done (and not only the launcher gone)."""
        try:
            while not self._done and (self._supervisor is None or self._supervisor.alive()):
                self._round()
        finally:
            self._close()
            self._background.close()
            if self._state is not None:
                self._state.close()
        return self._done

    def _round(self) -> None:
        """Deal with everything that has come, then read once, then do what the time demands."""
        now = time.monotonic()
        readable = self._node.readable(now)
        timer = self._node.next_timer()
        wait = IDLE_SECONDS_MAX if timer is None else min(IDLE_SECONDS_MAX, timer - now)
        if not readable:
            collect_while_idle()
        came = self._transport.receive(0.0 if readable else max(0.0, wait))
        if came:
            self._heard_at = now
        self._on_silence(now - self._heard_at)
        for source, what in came:
            self.step(Received(what, source))
        while not self._answers.empty():
            self.step(self._answers.get())
        self._background.check()
        readable = self._node.readable(time.monotonic())
        if readable:
            self._read(readable[0])
        timer = self._node.next_timer()
        if timer is not None and timer <= time.monotonic():
            self.step(Tick())

    def step(self, event: WorkerEvent) -> None:
        """Let the node deal with an event."""
        for effect in self._node.step(event, time.monotonic()):
            self._carry_out(effect)

    def _carry_out(self, effect: WorkerEffect) -> None:
        match effect:
            case Transmit(address, what):
                self._transport.send(address, what)
            case Continue():
                self.step(Continued())
            case Load(begin):
                self._close()
                self._background.submit(lambda: self._answers.put(self._loaded(begin)))
            case Store():
                self._background.submit(lambda: self._answers.put(self._stored(effect)))
            case Trim(_, unneeded):
                self._background.submit(lambda: self._trim(unneeded))
            case Close():
                self._close()
            case Leave():
                self._done = True

    # Sources.

    def _read(self, front: int) -> None:
        reader = self._readers.get(front)
        if reader is None:
            self._readers = self._opened
            reader = self._readers[front]
        try:
            place = reader.place()
            chunk = reader.read(self._chunk_rows)
        except FsqlError as error:
            self.step(SourceFailed(diagnostics_bytes(error)))
            return
        self.step(ChunkRead(front, chunk, place))

    def _close(self) -> None:
        for reader in {**self._opened, **self._readers}.values():
            reader.close()
        self._readers, self._opened = {}, {}

    # What is done behind the back of the loop.

    def _loaded(self, begin: Begin) -> Loaded | NotLoaded:
        try:
            prepared = self._prepare(begin.description)
            workers = len(begin.addresses)
            mine = tuple(task for task in prepared.fronts if task.number % workers == begin.number)
            manifest = manifest_of(begin.manifest) if begin.manifest else None
            state = self._own_state(prepared.state, begin.number)
            increments = state.load(manifest, begin.epoch, prepared.plan.hash_ranges)
            self._open_readers(prepared, mine, begin)
            self._chunk_rows = prepared.settings.chunk_rows
        except FsqlError as error:
            return NotLoaded(begin.epoch, str(error), diagnostics_bytes(error))
        except StateFailedError as error:
            return NotLoaded(begin.epoch, str(error))
        return Loaded(begin.epoch, prepared.plan, mine, increments, prepared.settings)

    def _own_state(self, directory: Path, number: int) -> WorkerState:
        """Return the store of the worker's number, which may be another one than in the last epoch."""
        if self._state is not None and self._state.number != number:
            self._state.close()
            self._state = None
        if self._state is None:
            self._state = WorkerState(directory, number)
        return self._state

    def _open_readers(self, prepared: Prepared, tasks: tuple[FrontTask, ...], begin: Begin) -> None:
        for late in self._opened.values():
            late.close()  # of an epoch that was over before its readers were open
        self._opened = {}
        manifest = manifest_of(begin.manifest) if begin.manifest else None
        points = {} if manifest is None else {point.front: point for point in manifest.fronts}
        ends = SplitEnds(prepared.state)
        for task in tasks:
            point = points.get(task.number)
            place = None if point is None else point.place
            table, split = prepared.table_name(task), prepared.split(task)
            self._opened[task.number] = ends.open(task.number, table, split, place)

    def _stored(self, store: Store) -> Stored | NotStored:
        assert self._state is not None
        try:
            records = self._state.store(store.snapshot, store.position, store.increments)
        except StateFailedError as error:
            return NotStored(store.epoch, store.snapshot, str(error))
        return Stored(store.epoch, store.snapshot, records)

    def _trim(self, unneeded: tuple[str, ...]) -> None:
        if self._state is not None:
            self._state.remove(unneeded)
