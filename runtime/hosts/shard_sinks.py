"""The sinks of the shards that a worker writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.diagnostics.encoding import diagnostics_bytes
from fsql.runtime.batch import START
from fsql.runtime.cluster.worker.events import OpenedShard, ShardLost, ShardStored, SinksSynced
from fsql.runtime.dataflow.shard_exchange import writer_of
from fsql.runtime.sink import OpenRequest, SinkDiskError, SinkLostError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fsql.runtime.batch import Root
    from fsql.runtime.cluster.frames import Begin
    from fsql.runtime.cluster.worker.events import DeliverShard, SyncSinks
    from fsql.runtime.hosts.prepared import PreparedShards
    from fsql.runtime.sink import Sink


class ShardSinks:
    """The open sinks of one epoch, by the numbers of their outputs; `step` gives events to the node."""

    def __init__(self, step: Callable[[ShardStored | ShardLost], None]) -> None:
        self._step = step
        self._epoch = 0
        self._sinks: dict[int, Sink] = {}

    def open(self, begin: Begin, prepared: PreparedShards, begins: Root) -> Iterator[OpenedShard]:
        """Open the sinks of the worker's shards, for an epoch that replays the input from `begins`.

        Raises:
            FsqlError: if one of them has failed permanently.
            SinkLostError: if one of them cannot be opened now.
        """
        self.close()
        self._epoch = begin.epoch
        for number, output in prepared.outputs.items():
            assert output.shard is not None
            if begin.number >= begin.writers:
                continue
            if writer_of(output.shard.number, begin.writers) != begin.number:
                continue
            sink = self._sinks[number] = prepared.make_sink(number)
            # The sink of an output that was added at this position is empty.
            since = START if output.since == begins else begins
            reply = sink.open(OpenRequest(begin.epoch, since, output.option, begin.job))
            yield OpenedShard(number, output, reply.position, reply.window)

    def close(self) -> None:
        """Close all sinks."""
        for sink in self._sinks.values():
            sink.close()
        self._sinks = {}

    def deliver(self, effect: DeliverShard) -> None:
        """Hand a bundle to its sink."""
        sink = self._sinks.get(effect.number)
        if effect.epoch != self._epoch or sink is None:
            return
        try:
            sink.deliver(effect.bundle)
        except (SinkLostError, FsqlError) as error:
            self._step(_lost(self._epoch, error))
            return
        self._collect_acknowledgements(effect.number, sink)

    def collect_acknowledgements(self) -> None:
        """Pass on the acknowledgements of all sinks."""
        for number, sink in list(self._sinks.items()):
            self._collect_acknowledgements(number, sink)

    def _collect_acknowledgements(self, number: int, sink: Sink) -> None:
        try:
            positions = sink.take_acknowledged()
        except (SinkLostError, FsqlError) as error:
            self._step(_lost(self._epoch, error))
            return
        for position in positions:
            self._step(ShardStored(self._epoch, number, position))

    def sync(self, effect: SyncSinks) -> SinksSynced | ShardLost:
        """Make all acknowledged rows survive a loss of power; return the event with the outcome."""
        epoch, snapshot = effect.epoch, effect.snapshot
        if epoch != self._epoch:
            return SinksSynced(epoch, snapshot, "the epoch is over")
        try:
            for sink in self._sinks.values():
                sink.sync()
        except SinkLostError as error:
            return SinksSynced(epoch, snapshot, str(error))
        except FsqlError as error:
            return _lost(epoch, error)
        return SinksSynced(epoch, snapshot)


def _lost(epoch: int, error: SinkLostError | FsqlError) -> ShardLost:
    lasting = diagnostics_bytes(error) if isinstance(error, FsqlError) else None
    return ShardLost(epoch, str(error), lasting, isinstance(error, SinkDiskError))
