"""The host of a worker: sources, state, and transport.

State is loaded and stored in the background, one operation after the other, because that takes long.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from fsql.compiler.assignment import Assignment
from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.diagnostics.encoding import diagnostics_bytes
from fsql.compiler.holdings import Holdings
from fsql.compiler.owners import Owners
from fsql.compiler.plan_choices import with_choices
from fsql.runtime.batch import START
from fsql.runtime.cluster.frames import Frame
from fsql.runtime.cluster.node import Transmit
from fsql.runtime.cluster.snapshots.manifest import manifest_of, own_store
from fsql.runtime.cluster.ticks.events import BinsCopied, BinsNotCopied, CopyBins, RecordStatistics
from fsql.runtime.cluster.worker.events import (
    ChunkRead,
    Close,
    CloseReader,
    DeliverShard,
    Leave,
    Load,
    Loaded,
    NotLoaded,
    NotStored,
    OpenReader,
    Resumed,
    SourceFailed,
    StateRead,
    Store,
    Stored,
    SyncSinks,
    Trim,
    Yield,
)
from fsql.runtime.hosts.chunk_size import ChunkSize
from fsql.runtime.hosts.host import Host
from fsql.runtime.hosts.shard_sinks import ShardSinks
from fsql.runtime.hosts.split_ends import SplitEnds
from fsql.runtime.hosts.worker_state import StateFailedError, WorkerState
from fsql.runtime.ports import Chunk
from fsql.runtime.sink import SinkDiskError, SinkLostError

if TYPE_CHECKING:
    from fsql.compiler.assignment import FrontTask
    from fsql.runtime.cluster.frames import Begin
    from fsql.runtime.cluster.snapshots.manifest import Manifest
    from fsql.runtime.cluster.worker.events import WorkerEffect
    from fsql.runtime.hosts.ports import (
        Background,
        Clock,
        StatisticsLog,
        Transport,
        Work,
        WorkerMachine,
    )
    from fsql.runtime.hosts.prepared import Prepare, Prepared
    from fsql.runtime.ports import SourceOffset, SplitReader
    from fsql.runtime.state.directory import StateDirectory


class WorkerHost(Host["WorkerMachine"]):
    """Carries out the effects of one `WorkerNode`."""

    def __init__(
        self,
        node: WorkerMachine,
        clock: Clock,
        transport: Transport,
        background: Background,
        prepare: Prepare,
        busy_clock: Clock | None = None,
    ) -> None:
        """Take the ports; `busy_clock` returns the processor time of the thread in seconds, if known."""
        super().__init__(node, clock)
        self._transport = transport
        self._background = background
        self._prepare = prepare
        self._busy_clock = busy_clock or clock
        self._readers: dict[int, SplitReader] = {}
        self._new_readers: dict[int, SplitReader] = {}
        self._job: Prepared | None = None
        self._chunk_size = ChunkSize(1)
        self._state: WorkerState | None = None
        self._segments_read = 0
        self._spoiled: set[int] = set()
        """The stores that cannot be written any more."""
        self._statistics: StatisticsLog | None = None
        self._link_seconds: dict[int, float] = {}
        """Processor time of sending since the last statistics, by the number of the receiving node."""
        self._shards = ShardSinks(self.step)
        self.collect_acknowledgements = self._shards.collect_acknowledgements
        """Passes on what the sinks of shards have acknowledged."""

    def close(self) -> None:
        """Close sources, sinks and state; no background work may be left."""
        self._close_readers()
        self._shards.close()
        if self._state is not None:
            self._state.close()
            self._state = None

    def _carry_out(self, effect: WorkerEffect) -> None:  # noqa: C901 - one case for each
        match effect:
            case Transmit():
                self._transmit(effect)
            case Yield():
                self._events.append(Resumed())
            case Load(begin):
                self._close_readers()
                self._background.submit(self._load(begin))
            case CopyBins():
                self._background.submit(self._copy(effect))
            case RecordStatistics():
                self._record(self._with_link_times(effect))
            case Store():
                self._background.submit(self._store(effect))
            case DeliverShard():
                self._shards.deliver(effect)
            case SyncSinks():
                self._background.submit(self._sync(effect))
            case Trim(_, unneeded):
                self._background.submit(self._trim(unneeded))
            case OpenReader():
                self._open_reader(effect)
            case CloseReader(front):
                if front in self._new_readers:  # not if it had ended before it moved here
                    self._new_readers.pop(front).close()
            case Close():
                self._close_readers()
                self._background.submit(self._close_state())
            case Leave():
                self.done = True

    def _transmit(self, effect: Transmit) -> None:
        what = effect.what
        if self._statistics is None or not isinstance(what, Frame):
            self._transport.send(effect.address, what)
            return
        started = self._busy_clock()
        self._transport.send(effect.address, what)
        spent = self._busy_clock() - started
        self._link_seconds[what.receiver] = self._link_seconds.get(what.receiver, 0.0) + spent

    def _record(self, statistics: RecordStatistics) -> None:
        if (log := self._statistics) is not None:
            self._background.submit(self._write_statistics(log, statistics, log.now()))

    def _with_link_times(self, statistics: RecordStatistics) -> RecordStatistics:
        """Return statistics with the processor time of the links."""
        spent, self._link_seconds = self._link_seconds, {}
        links = [
            (*row, round(seconds * 1e9))
            for row in statistics.tables["links"]
            for seconds in [spent.get(cast("int", row[0]), 0.0)]
        ]
        return replace(statistics, tables={**statistics.tables, "links": links})

    def tick(self) -> None:
        """See `Host.tick`; also report how far the background has come with loading."""
        segments = 0 if self._state is None else self._state.segments_read
        if segments != self._segments_read:
            self._segments_read = segments
            self.step(StateRead(segments))
        super().tick()

    # Sources.

    def read(self) -> None:
        """Read for the front with the least promise of those that may read, if there is one."""
        readable = self.node.readable(self.clock())
        if not readable:
            return
        reader = self._reader(readable[0])
        try:
            source_offset = reader.source_offset()
            started, busy = self.clock(), self._busy_clock()
            chunk = reader.read(self._chunk_size.rows)
            if isinstance(chunk, Chunk):
                chunk.check_row_numbers()
        except FsqlError as error:
            self.step(SourceFailed(diagnostics_bytes(error)))
            return
        seconds, busy = self.clock() - started, self._busy_clock() - busy
        passed = reader.bytes_passed()
        self.step(ChunkRead(readable[0], chunk, source_offset, seconds, passed, busy))
        if isinstance(chunk, Chunk):
            rows = len(chunk.rows) + len(chunk.dead_letters)
            self._chunk_size.on_chunk(rows, self.clock() - started)

    def _reader(self, front: int) -> SplitReader:
        reader = self._readers.get(front)
        if reader is None:
            self._readers = self._new_readers
            reader = self._readers[front]
        return reader

    def _open_reader(self, effect: OpenReader) -> None:
        """Open the reader of a front that another worker had: immediately, because rows wait for it."""
        assert self._job is not None
        [task] = [task for task in self._job.fronts if task.number == effect.front]
        try:
            self._new_readers[effect.front] = _open(
                *(SplitEnds(self._job.state), self._job, task, effect.source_offset)
            )
        except FsqlError as error:
            self._events.append(NotLoaded(effect.epoch, str(error), diagnostics_bytes(error)))
        except StateFailedError as error:
            failed = NotLoaded(effect.epoch, str(error), disk_failed=error.disk_failed)
            self._events.append(failed)

    def _close_readers(self) -> None:
        for reader in {**self._new_readers, **self._readers}.values():
            reader.close()
        self._readers, self._new_readers = {}, {}

    # In the background.

    def _load(self, begin: Begin) -> Work:
        try:
            prepared = self._prepare(begin.description)
            assignment = prepared.plan.assignment
            if begin.owners:
                owners = Owners.of_ranges(begin.owners, begin.exchanges)
                assignment = Assignment(owners, begin.readers)
            plan = replace(with_choices(prepared.plan, begin.choices), assignment=assignment)
            own_fronts = assignment.fronts_of(begin.number, prepared.fronts)
            manifest = manifest_of(begin.manifest) if begin.manifest else None
            store = begin.number if manifest is None else manifest.store_of(begin.number)
            unused = own_store(begin.number, begin.epoch)
            state = self._open_state(prepared.state, store, unused)
            bins = assignment.owners.bins_of(begin.number)
            held = Holdings.of_plan(plan).held_by(begin.number)
            changes = state.load(manifest, begin.epoch, bins, held)
            yield None
            self._job = prepared
            self._open_readers(prepared, own_fronts, manifest)
            shards = []
            begins = START if manifest is None else manifest.root
            for shard in self._shards.open(begin, prepared.shards, begins):
                shards.append(shard)
                yield None
            self._chunk_size = ChunkSize(prepared.settings.chunk_rows)
            self._statistics = prepared.statistics
        except FsqlError as error:
            yield NotLoaded(begin.epoch, str(error), diagnostics_bytes(error))
        except StateFailedError as error:
            yield NotLoaded(
                *(begin.epoch, str(error)),
                disk_failed=error.disk_failed,
                state_damaged=error.damaged,
            )
        except SinkLostError as error:
            yield NotLoaded(begin.epoch, str(error), disk_failed=isinstance(error, SinkDiskError))
        else:
            yield Loaded(
                *(begin.epoch, begin.number, plan, own_fronts, changes),
                *(prepared.settings, prepared.encodings, prepared.fronts),
                *(prepared.shards.shardings, tuple(shards), prepared.shards.difference),
            )

    def _close_state(self) -> Work:
        """Close sinks and the store: in the next epoch another worker may have the number of this one."""
        self._shards.close()
        if self._state is not None:
            self._state.close()
            self._state = None
        yield None

    def _open_state(self, directory: StateDirectory, store: int, unused: int) -> WorkerState:
        """Return the store of the worker, which may be another one than in the last epoch."""
        if store in self._spoiled:
            store = unused
        if self._state is not None and self._state.number != store:
            self._state.close()
            self._state = None
        if self._state is None:
            self._state = WorkerState(directory, store, unused)
        return self._state

    def _open_readers(
        self, prepared: Prepared, tasks: tuple[FrontTask, ...], manifest: Manifest | None
    ) -> None:
        for unused in self._new_readers.values():
            unused.close()  # of an epoch that ended before they were used
        self._new_readers = {}
        points = {} if manifest is None else {point.front: point for point in manifest.fronts}
        ends = SplitEnds(prepared.state)
        for task in tasks:
            point = points.get(task.number)
            source_offset = None if point is None else point.source_offset
            self._new_readers[task.number] = _open(ends, prepared, task, source_offset)

    def _store(self, store: Store) -> Work:
        assert self._state is not None
        try:
            if store.ownership is not None:
                self._state.change_ownership(store.ownership)
            segments = self._state.store(store.snapshot, store.position, store.changes)
        except StateFailedError as error:
            if self._state.is_spoiled:
                self._spoiled.add(self._state.number)
                # Nothing can be stored there any more: go on in another store, in another epoch.
                yield NotLoaded(store.epoch, str(error), disk_failed=True, state_damaged=True)
            else:
                yield NotStored(store.epoch, store.snapshot, str(error))
        except FsqlError as error:
            yield SourceFailed(diagnostics_bytes(error))  # further attempts would fail, too
        else:
            yield Stored(store.epoch, store.snapshot, segments)

    def _sync(self, effect: SyncSinks) -> Work:
        yield self._shards.sync(effect)

    def _copy(self, copy: CopyBins) -> Work:
        assert self._state is not None
        try:
            if copy.ownership is not None:
                self._state.change_ownership(copy.ownership)
            state = self._state.read(copy.bins)
        except StateFailedError as error:
            yield BinsNotCopied(copy.epoch, copy.tick, str(error))
        else:
            yield BinsCopied(copy.epoch, copy.tick, state)

    def _write_statistics(
        self, log: StatisticsLog, statistics: RecordStatistics, ended: float
    ) -> Work:
        """Write statistics; if that fails, plans are chosen without them."""
        with suppress(OSError):
            log.write(statistics, ended)
        yield None

    def _trim(self, unneeded: tuple[str, ...]) -> Work:
        if self._state is not None:
            self._state.remove(unneeded)
        yield None


def _open(
    ends: SplitEnds, prepared: Prepared, task: FrontTask, source_offset: SourceOffset | None
) -> SplitReader:
    table, split = prepared.table_name(task), prepared.split(task)
    return ends.open(task.number, table, split, source_offset)
