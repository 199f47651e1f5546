"""Mistakes that shards written by workers could have; simulation has to find them all.  See `mutants`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fsql.runtime.batch import Root
from fsql.runtime.cluster.delivery import worker_shards
from fsql.runtime.cluster.delivery.delivery import Delivery, delivery_of
from fsql.runtime.cluster.delivery.output_release import OutputRelease
from fsql.runtime.cluster.delivery.shard_writers import ShardWriters
from fsql.runtime.cluster.delivery.worker_shards import WorkerShards
from fsql.runtime.cluster.ticks.proposed_ticks import ProposedTicks
from fsql.runtime.dataflow.messages import Acknowledgement, Parcel
from fsql.runtime.dataflow.outbox import Outbox
from fsql.runtime.dataflow.shard_exchange import ShardExchange, writer_of
from fsql.runtime.dataflow.sink_gate import SinkGate
from fsql.runtime.hosts.shard_sinks import ShardSinks

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from fsql.runtime.dataflow.messages import Message

    Patch = pytest.MonkeyPatch


def rows_of_shards_are_not_in_the_ack_table(patch: Patch) -> None:
    """Min time passes rows that are on their way to the writer."""
    finish, receive = Outbox.finish, WorkerShards.receive

    def without_shards(self: Outbox, *arguments: Any) -> Any:
        sent = [*self._sent_first, *self._sent]
        ids = {each.message.id for each in sent if each.message.parcel.to.shard >= 0}
        return [
            replace(each, entries=tuple(entry for entry in each.entries if entry.id not in ids))
            if isinstance(each, Acknowledgement)
            else each
            for each in finish(self, *arguments)
        ]

    def silently(self: WorkerShards, message: Message) -> list[Any]:
        receive(self, message)
        return []

    patch.setattr(Outbox, "finish", without_shards)
    patch.setattr(WorkerShards, "receive", silently)


def shards_release_what_is_at_min_time(patch: Patch) -> None:
    right = SinkGate.release

    def release(self: SinkGate, bound: Root) -> Any:
        return right(self, Root(bound.time, min(bound.origin + 1, (1 << 63) - 1)))

    patch.setattr(SinkGate, "release", release)


def shards_are_reported_before_sinks_have_them(patch: Patch) -> None:
    """A snapshot is committed ahead of what the sink has."""
    patch.setattr(Delivery, "position", property(lambda self: self._made))


def a_snapshot_does_not_wait_for_shards(patch: Patch) -> None:
    patch.setattr(
        ShardWriters, "are_waited_for", property(lambda _: False, lambda *_: None), raising=False
    )


def a_snapshot_is_committed_before_shards_are_synced(patch: Patch) -> None:
    patch.setattr(ShardWriters, "sync", lambda *_: [])


def the_job_is_finished_before_shards_have_it(patch: Patch) -> None:
    patch.setattr(ShardWriters, "stored_below", property(lambda _: ()))


def shards_go_on_after_the_error_that_stops_the_job(patch: Patch) -> None:
    right = OutputRelease.release

    def release(self: OutputRelease, below: Root | None = None) -> Any:
        delivers = right(self, below)
        if self.stopped is not None:
            self.deliveries._writers.advance(self.min_time)
        return delivers

    patch.setattr(OutputRelease, "release", release)


def sinks_of_shards_go_on_in_an_epoch_that_is_over(patch: Patch) -> None:
    """They are not closed, and a later epoch of the same worker writes by them."""
    right, known = ShardSinks.open, dict[int, list[Any]]()

    def open_once(self: ShardSinks, begin: Any, *arguments: Any) -> Any:
        if id(self) not in known:
            known[id(self)] = [*right(self, begin, *arguments)]
        self._epoch = begin.epoch
        return iter(known[id(self)])

    patch.setattr(ShardSinks, "open", open_once)


def rows_that_a_shard_has_come_again(patch: Patch) -> None:
    """A new epoch delivers from the snapshot, not from the position of the sink."""

    def delivery_of_output(output: Any, _: Any, window: int, rows_max: int, start: Root) -> Any:
        return delivery_of(output, start, window, rows_max, start)

    patch.setattr(worker_shards, "delivery_of", delivery_of_output)


def shards_depend_on_weights(patch: Patch) -> None:
    """So an undo does not meet what it undoes."""
    right = ShardExchange.parts

    def parts(self: ShardExchange, parcel: Any) -> Any:
        for receiver, part in right(self, parcel):
            batch, to = part.batch, part.to
            if (
                to.shard >= 0
                and batch is not None
                and batch.weight is not None
                and batch.weight.min() < 0
            ):
                last = Parcel(to._replace(shard=2), batch, part.repairs)
                if writer_of(2, self._writers) == self._own:
                    self._accept(last)
                else:
                    yield writer_of(2, self._writers), last
            else:
                yield receiver, part

    patch.setattr(ShardExchange, "parts", parts)


def writers_leave(patch: Patch) -> None:
    """A tick sends a worker away that writes shards, and rows for it find no link."""
    right = ProposedTicks._fault

    def fault(self: ProposedTicks, proposal: Any, epoch: Any, now: float) -> str:
        found = right(self, proposal, epoch, now)
        return "" if "writes shards" in found else found

    patch.setattr(ProposedTicks, "_fault", fault)


MUTANTS_OF_SLOW_SINKS: tuple[Callable[[Patch], None], ...] = (a_snapshot_does_not_wait_for_shards,)
MUTANTS_OF_WRITERS: tuple[Callable[[Patch], None], ...] = (writers_leave,)
MUTANTS: tuple[Callable[[Patch], None], ...] = (
    rows_of_shards_are_not_in_the_ack_table,
    shards_release_what_is_at_min_time,
    shards_are_reported_before_sinks_have_them,
    a_snapshot_is_committed_before_shards_are_synced,
    the_job_is_finished_before_shards_have_it,
    shards_go_on_after_the_error_that_stops_the_job,
    sinks_of_shards_go_on_in_an_epoch_that_is_over,
    rows_that_a_shard_has_come_again,
    shards_depend_on_weights,
)
