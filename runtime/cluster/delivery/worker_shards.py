"""The shards that a worker writes in one epoch: a gate and a delivery for each.

Contract.  The coordinator sends the position below which all rows have arrived; the gates release them, as
the barrier does for sinks of the coordinator.  A position is reported when every shard of the worker has
stored everything below it.  The sinks of all shards receive each position, even if they get no rows: so a
snapshot that is committed at a position is never ahead of a sink.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fsql.runtime.cluster.delivery.delivery import delivery_of
from fsql.runtime.cluster.frames import (
    COORDINATOR,
    ReleaseShards,
    ShardsReleased,
    ShardsSynced,
    SyncShards,
)
from fsql.runtime.cluster.worker.events import DeliverShard, SinksSynced, SyncSinks
from fsql.runtime.dataflow.barrier import Released
from fsql.runtime.dataflow.invariants import check_not_below
from fsql.runtime.dataflow.messages import (
    AckEntry,
    Acknowledgement,
    Address,
    Kind,
    Parcel,
    PortKind,
)
from fsql.runtime.dataflow.shard_exchange import ShardExchange
from fsql.runtime.dataflow.sink_gate import SinkGate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fsql.compiler.tick_plan import SinkPort
    from fsql.runtime.batch import Batch, Root
    from fsql.runtime.cluster.delivery.delivery import Bundle
    from fsql.runtime.cluster.frames import Begin, Item
    from fsql.runtime.cluster.worker.events import (
        Loaded,
        OpenedShard,
        ShardStored,
        WorkerEffect,
    )
    from fsql.runtime.dataflow.messages import Message
    from fsql.runtime.dataflow.outbox import Effect
    from fsql.runtime.dataflow.stage_pipeline import Instrumentation


class WorkerShards:
    """All shards of one worker, and where the worker sends rows of shards."""

    def __init__(
        self,
        begin: Begin,
        loaded: Loaded,
        start: Root,
        instrument: Instrumentation,
        put: Callable[[int, Item], None],
    ) -> None:
        """Begin at `start`; the sinks of the shards are open.  `put` sends an item.

        Raises:
            PositionRefusedError: if one of them has lost stored rows.
        """
        writers = begin.writers
        shardings = loaded.shardings if writers else {}
        self.exchange = ShardExchange(shardings, writers, begin.number, self._accept)
        self.encodings = {
            insert: encoding
            for insert, encoding in loaded.encodings.items()
            if insert not in shardings
        }
        """The encodings of the INSERTs whose rows go to the barrier."""
        ports, rows_max = loaded.plan.sinks, loaded.settings.bundle_rows_max
        difference = loaded.difference
        moves = {} if difference is None else difference.moves(start)
        shards = [_Shard(opened, ports, start, rows_max, moves) for opened in loaded.shards]
        self._shards = {shard.number: shard for shard in shards}
        self._by_name = {shard.name: shard for shard in shards}
        self._epoch = begin.epoch
        self._put = put
        self._bound = start
        self._reported = start
        self._rows: Counter[int] = Counter()
        self._release_below = instrument("barrier", self._release_all)
        if difference is not None:
            self._accept_difference(loaded, difference.rows_of(start))

    def _accept_difference(self, loaded: Loaded, rows: Mapping[int, Batch]) -> None:
        """Accept the rows that the shards of this worker get at the first position."""
        for insert in self.exchange.inserts:
            if insert in rows and len(rows[insert]):
                to = Address(len(loaded.plan.stages), insert, PortKind.SINK)
                for _ in self.exchange.parts(Parcel(to, rows[insert], repairs=True)):
                    pass  # other workers accept what their shards get

    def receive(self, message: Message) -> list[Effect]:
        """Accept rows of a shard from another worker: they are acknowledged, and wait without a hold.

        Raises:
            InvariantError: if a row is below the released position.
        """
        message.check()
        self._accept(message.parcel)
        entry = AckEntry(message.parcel.to.stage, Kind.MESSAGE, message.root, message.id)
        return [Acknowledgement((entry,))]

    def _accept(self, parcel: Parcel) -> None:
        check_not_below(parcel.least_root(), self._bound, "rows at a shard")
        assert parcel.batch is not None
        shard = self._by_name[parcel.to.side, parcel.to.shard]
        shard.gate.accept(parcel.batch, repairs=parcel.repairs)

    def on_item(self, item: ReleaseShards | SyncShards) -> list[WorkerEffect]:
        """Release the rows below a position, or sync the stored rows.

        Raises:
            InvariantError: if the position goes back, or a row is retracted that was never added.
        """
        if isinstance(item, SyncShards):
            return [SyncSinks(self._epoch, item.snapshot)]
        check_not_below(item.bound, self._bound, "the position of shards")
        self._bound = item.bound
        effects: list[WorkerEffect] = []
        for number, bundles in self._release_below(item.bound):
            effects += self._deliver(number, bundles)
        self._report()
        return effects

    def on_event(self, event: ShardStored | SinksSynced) -> list[WorkerEffect]:
        """Record that a sink has stored a bundle, or that all have synced.

        Raises:
            PositionRefusedError: if no bundle that was sent ends at the position.
        """
        if isinstance(event, SinksSynced):
            self._put(COORDINATOR, ShardsSynced(event.snapshot, event.reason))
            return []
        bundles = self._shards[event.number].delivery.acknowledge(event.position)
        effects = self._deliver(event.number, bundles)
        self._report()
        return [*effects]

    def _report(self) -> None:
        """Report the released position, once, if everything below it is stored."""
        bound = self._bound
        shards = self._shards.values()
        if self._reported == bound or any(shard.delivery.position < bound for shard in shards):
            return
        self._reported = bound
        rows, self._rows = self._rows, Counter()
        self._put(COORDINATOR, ShardsReleased(bound, tuple(sorted(rows.items()))))

    def _release_all(self, bound: Root) -> list[tuple[int, list[Bundle]]]:
        return [(number, shard.release(bound)) for number, shard in self._shards.items()]

    def _deliver(self, number: int, bundles: list[Bundle]) -> list[DeliverShard]:
        self._rows[self._shards[number].insert] += sum(bundle.rows for bundle in bundles)
        return [DeliverShard(self._epoch, number, bundle) for bundle in bundles]


class _Shard:
    """One shard, by the number of its output."""

    def __init__(
        self,
        opened: OpenedShard,
        ports: Sequence[SinkPort],
        start: Root,
        rows_max: int,
        moves: Mapping[int, Root],
    ) -> None:
        output = opened.output
        assert output.insert is not None
        assert output.shard is not None
        self.number = opened.number
        self.insert = output.insert
        self.name = output.insert, output.shard.number
        self.gate = SinkGate(ports[output.insert], None, moves.get(output.insert))
        self.delivery = delivery_of(output, opened.position, opened.window, rows_max, start)

    def release(self, bound: Root) -> list[Bundle]:
        """Return the bundles to send now."""
        release = self.gate.release(bound)
        if release is not None:
            self.delivery.take(Released(self.insert, release))
        return [*self.delivery.advance(bound), *self.delivery.reach()]
