"""The deliveries of one epoch: the bundles for each output, and the positions of their sinks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.runtime.cluster.coordinator.events import Deliver, SinkOpened
from fsql.runtime.cluster.delivery.delivery import delivery_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fsql.runtime.batch import Root
    from fsql.runtime.cluster.coordinator.events import Delivered
    from fsql.runtime.cluster.delivery.delivery import Bundle, Contents, Delivery
    from fsql.runtime.cluster.delivery.shard_writers import ShardWriters
    from fsql.runtime.cluster.frames import ShardsReleased
    from fsql.runtime.cluster.job_spec import Output


class Deliveries:
    """All outputs of a job in one epoch, by number."""

    def __init__(
        self,
        outputs: tuple[Output, ...],
        writers: ShardWriters,
        epoch: int,
        start: Root,
        bundle_rows_max: int,
    ) -> None:
        """Start without positions of sinks; the input is replayed from `start`.

        The outputs that `writers` write have their deliveries on the workers.
        """
        self.rows_of_inserts: dict[int, int] = {}
        """How many rows were sent, by the number of the INSERT."""
        self._outputs = outputs
        self._writers = writers
        self._written = writers.outputs
        self._opened: dict[int, Root] = {}
        """The positions of the sinks of shards that workers write, at the start of the epoch."""
        self._epoch = epoch
        self._start = start
        self._rows_max = bundle_rows_max
        self._deliveries: dict[int, Delivery] = {}
        self._has_stored = False

    def on_sink_position(self, event: SinkOpened | Delivered) -> list[Deliver]:
        """Record the position of a sink: at the start of the epoch, or a new one.

        Raises:
            PositionRefusedError: if the sink has lost stored rows, or the position is not possible.
        """
        number = event.output
        if isinstance(event, SinkOpened):
            delivery = delivery_of(
                self._outputs[number], event.position, event.window, self._rows_max, self._start
            )
            if number in self._written:
                self._opened[number] = event.position
            else:
                self._deliveries[number] = delivery
            return []
        self._has_stored = True
        return self._send(number, self._deliveries[number].acknowledge(event.position))

    def on_shards_released(self, writer: int, item: ShardsReleased) -> None:
        """Record that a worker has stored the rows of its shards."""
        self._has_stored = True
        self._writers.on_released(writer, item)
        for insert, rows in item.rows:
            self._count(insert, rows)

    def take_has_stored(self) -> bool:
        """Return whether a sink has stored something since the last call."""
        has_stored, self._has_stored = self._has_stored, False
        return has_stored

    @property
    def are_open(self) -> bool:
        """Return whether the position of every sink is known."""
        return len(self._deliveries) + len(self._opened) == len(self._outputs)

    def max_stored_position(self) -> Root:
        """Return the position below which at least one sink has stored everything."""
        return max([self._start, *self._positions()])

    def min_stored_position(self) -> Root:
        """Return the position below which every sink has reported everything as stored."""
        return min(self._positions(), default=self._start)

    def _positions(self) -> list[Root]:
        """Return the positions of all sinks whose position is known."""
        here = [each.position for each in self._deliveries.values()]
        shards = self._opened.items()
        return here + [max(opened, self._writers.stored_position(each)) for each, opened in shards]

    def out_below(self, released: Root) -> Root:
        """Return the position below which everything is released and stored by every sink."""
        waiting = [each.position for each in self._deliveries.values() if each.rows_waiting]
        return min([released, *waiting, *self._writers.stored_below])

    def complete_below(self, released: Root) -> Root:
        """Return the position below which a snapshot may rely on every sink."""
        shards = self._writers.stored_below if self._writers.are_waited_for else ()
        here = (delivery.complete_below for _, delivery in self._snapshot_deliveries())
        return min([released, *here, *shards])

    def are_complete(self, end: Root) -> bool:
        """Return whether every sink has stored everything below `end`, where the job ends."""
        deliveries = self._deliveries.values()
        return all(
            each.complete_below >= end and not each.rows_waiting for each in deliveries
        ) and all(position >= end for position in self._writers.stored_below)

    def release(self, released: Iterable[Contents], bound: Root) -> list[Deliver]:
        """Accept the output that the barrier has released, which is everything below `bound`."""
        self._writers.advance(bound)
        is_told = False
        for contents in released:
            for number, output in enumerate(self._outputs):
                share = output.share(contents)
                if share is not None:
                    self._deliveries[number].take(share)
                    is_told |= output.tells_bounds
        return [
            deliver
            for number, delivery in self._deliveries.items()
            for deliver in self._send(
                number, self._advance(number, delivery, bound, is_told=is_told)
            )
        ]

    def _advance(
        self, number: int, delivery: Delivery, bound: Root, *, is_told: bool
    ) -> Iterable[Bundle]:
        bundles = delivery.advance(bound)
        # A reader of several results needs their common position, and some may have no rows for long.
        return (
            [*bundles, *delivery.reach()]
            if is_told and self._outputs[number].tells_bounds
            else bundles
        )

    def announce_bound(self) -> list[Deliver]:
        """Send the released bound to the sinks that a snapshot waits for, even without rows."""
        return [
            deliver
            for number, delivery in self._snapshot_deliveries()
            for deliver in self._send(number, delivery.reach())
        ]

    def _snapshot_deliveries(self) -> list[tuple[int, Delivery]]:
        """Return the deliveries that a snapshot waits for."""
        return [
            (number, self._deliveries[number])
            for number, output in enumerate(self._outputs)
            if output.option.is_waited_for and number not in self._written
        ]

    def _send(self, output: int, bundles: Iterable[Bundle]) -> list[Deliver]:
        effects = [Deliver(self._epoch, output, bundle) for bundle in bundles]
        insert = self._outputs[output].insert
        if insert is not None:
            self._count(insert, sum(effect.bundle.rows for effect in effects))
        return effects

    def _count(self, insert: int, rows: int) -> None:
        self.rows_of_inserts[insert] = self.rows_of_inserts.get(insert, 0) + rows
