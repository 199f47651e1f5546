"""The machine: a graph on several workers, executed item by item.

Every worker has an instance of every vertex.  A message carries one item to one instance; links keep order,
and the network picks the next link at random.  An instance processes a message in one step: it takes the
item, sends the outputs of the vertex for it, and acknowledges.  Fronts, acker and barrier are instances, too,
so that promises, acknowledgements and min times are delayed like items.

If the victim of a tombstone still waits on the link, the tombstone removes it, and neither is delivered. For
the receiver this is equivalent to receiving both. Without this rule, repairs multiply: a late item causes all
later items in its bucket to be recomputed, each of which does the same in the next bucket, and most of the
results are undone before they are used.  (Two aggregates over one key after a join, about 350 items:
2,000,000 messages without recalls, 28,000 with them.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fsql.compiler import graph as g
from fsql.compiler.records import dataclass
from fsql.runtime.batch import END, Root
from fsql.runtime.hashing import mix
from fsql.runtime.model.acker import Acker
from fsql.runtime.model.barrier import Barrier
from fsql.runtime.model.grouping import Grouping
from fsql.runtime.model.interpret import grouping_rule, map_item
from fsql.runtime.model.item import Item
from fsql.runtime.model.messages import (
    Acknowledgement,
    Arrival,
    Delivery,
    MinTime,
    Promise,
    ReadOn,
)
from fsql.runtime.model.meta import Meta
from fsql.runtime.model.network import Network
from fsql.runtime.model.papers import Apply, GroupBy
from fsql.runtime.model.routing import ACKER, BARRIER, FIRST_FRONT, Routing

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from fsql.runtime.model.barrier import Group
    from fsql.runtime.model.front import Front

READ_AHEAD: Final = 4
"""The default maximum number of payloads by which a front may be ahead of min time; see `front`."""


@dataclass(frozen=True)
class ModelMetrics:
    """The metrics of an execution.

    `messages` counts items sent; `repairs` the tombstones that groupings made for late items, and `recalls`
    the tombstones that removed their victims from a link.
    """

    messages: int
    recalls: int
    repairs: int
    acknowledgements: int
    releases: int


class Execution:
    """One execution, driven by `step`; calls `release` for each final group (see `Barrier`)."""

    def __init__(
        self,
        graph: g.Graph,
        fronts: Sequence[Front],
        release: Callable[[Root, Group], bool],
        *,
        seed: int,
        workers: int,
        read_ahead: int = READ_AHEAD,
    ) -> None:
        self._vertices = graph.vertices
        self._readers = [graph.readers(index) for index in range(len(graph.vertices))]
        self._groupings: dict[int, Grouping] = {}
        self._routing = Routing(graph, workers, self._set_up_groupings(workers))
        self._fronts = fronts
        self._read_ahead = read_ahead
        self._waiting: set[int] = set()
        self._network = Network(seed)
        self._acker = Acker(range(len(fronts)))
        self._barrier = Barrier(release)
        self._messages = 0
        self._recalls = 0
        self._acknowledgements = 0
        for front in range(len(fronts)):
            self._network.send(FIRST_FRONT - front, FIRST_FRONT - front, ReadOn())

    def _set_up_groupings(self, workers: int) -> dict[int, Callable[[Any], Hashable]]:
        """Make the groupings of all workers; return the balancing functions of all vertices."""
        balances: dict[int, Callable[[Any], Hashable]] = {}
        for index, vertex in enumerate(self._vertices):
            match vertex.operation:
                case g.Grouping() | GroupBy():
                    rule = grouping_rule(vertex)
                    balances[index] = rule.key
                    for worker in range(workers):
                        self._groupings[index * workers + worker] = Grouping(index, rule)
                case g.Map(function=Apply(balance=balance)) if balance is not None:
                    balances[index] = balance
        return balances

    def run(self, on_step: Callable[[], None] = lambda: None) -> None:
        """Step until the end of all input, or until a release stops the run."""
        while self.step():
            on_step()
        assert self._barrier.stopped or self._acker.min_time == END, "a message was lost"

    def step(self) -> bool:
        """Deliver one message; return False if there is none, or the run has stopped."""
        delivered = None if self._barrier.stopped else self._network.next()
        if delivered is None:
            return False
        receiver, message = delivered
        match message:
            case Delivery():
                self._work(receiver, message)
            case Arrival():
                self._barrier.accept(message.port, message.item)
                self._acknowledge(BARRIER, message, [])
            case MinTime() if receiver == BARRIER:
                self._barrier.advance(message.bound)
            case ReadOn() | MinTime():
                self._notify_front(FIRST_FRONT - receiver, message)
            case _:
                assert isinstance(message, Acknowledgement | Promise)
                self._track(message)
        return True

    @property
    def metrics(self) -> ModelMetrics:
        """Return the metrics so far."""
        return ModelMetrics(
            self._messages,
            self._recalls,
            sum(grouping.repairs for grouping in self._groupings.values()),
            self._acknowledgements,
            self._barrier.releases,
        )

    def _work(self, instance: int, message: Delivery) -> None:
        """Process an item at an instance of a vertex."""
        vertex, worker = divmod(instance, self._routing.workers)
        sent: list[tuple[Root, int]] = []
        for reader, item in self._outputs(vertex, instance, message):
            self._send(instance, worker, reader, item, sent)
        self._acknowledge(instance, message, sent)

    def _outputs(self, vertex: int, instance: int, message: Delivery) -> Iterator[tuple[int, Item]]:
        """Yield the outputs of an instance for an item, each with the vertex that reads it."""
        meta, payload = item = message.item
        readers = self._readers[vertex]
        match self._vertices[vertex].operation:
            case g.Map(function=function):
                for ordinal, made in enumerate(map_item(function, item)):
                    yield readers[0], Item(meta.output(ordinal, vertex), made)
            case g.Grouping() | GroupBy():
                for window in self._groupings[instance].accept(item, message.key):
                    yield readers[0], window
            case g.Broadcast():
                for ordinal, reader in enumerate(readers):
                    yield reader, Item(meta.copy(ordinal), payload)
            case _:
                yield readers[0], item

    def _send(
        self, sender: int, worker: int, reader: int, item: Item, sent: list[tuple[Root, int]]
    ) -> None:
        """Send an item to `reader`, or to the barrier, and add its id to `sent`."""
        route = self._routing.route(worker, reader, item)
        if route is None:
            return
        address, item, port, key = route
        root = item.meta.global_time
        if item.meta.tombstone:
            recalled = self._network.recall(sender, address, item.meta.victim())
            if isinstance(recalled, Delivery | Arrival):
                self._recalls += 1
                # The id is acknowledged a second time, which removes it from the ack table.
                sent.append((root, recalled.message_id))
                return
        self._messages += 1
        message_id = mix(self._messages)
        sent.append((root, message_id))
        message = (
            Delivery(item, message_id, key) if port is None else Arrival(item, message_id, port)
        )
        self._network.send(sender, address, message, name=item.meta)

    def _acknowledge(
        self, instance: int, message: Delivery | Arrival, sent: list[tuple[Root, int]]
    ) -> None:
        """Send a message to the acker: `message` was processed, with the ids sent for it."""
        entries = [(message.item.meta.global_time, message.message_id), *sent]
        self._network.send(instance, ACKER, Acknowledgement(entries))
        self._acknowledgements += 1

    def _notify_front(self, number: int, message: ReadOn | MinTime) -> None:
        """Let a front read its next payload, if its read-ahead allows; otherwise it waits for a min time."""
        front = self._fronts[number]
        if isinstance(message, ReadOn):
            self._waiting.add(number)
        else:
            front.on_min_time(message.bound)
        if number in self._waiting and front.ahead() < self._read_ahead:
            self._waiting.remove(number)
            self._read(number, front)

    def _read(self, number: int, front: Front) -> None:
        """Emit a front's next payload and its promise."""
        address = FIRST_FRONT - number
        arrival = front.read()
        if arrival is None:
            self._network.send(address, ACKER, Promise(number, END))
            return
        root, payload = arrival
        sent: list[tuple[Root, int]] = []
        worker = number % self._routing.workers
        self._send(address, worker, front.vertex, Item(Meta(root), payload), sent)
        self._network.send(address, ACKER, Acknowledgement(sent))
        self._network.send(address, ACKER, Promise(number, Root(root.time, root.origin + 1)))
        self._network.send(address, address, ReadOn())

    def _track(self, message: Acknowledgement | Promise) -> None:
        """Apply a message to the acker, and notify barrier and fronts if min time has advanced."""
        before = self._acker.min_time
        if isinstance(message, Promise):
            self._acker.promise(message.front, message.bound)
        else:
            self._acker.acknowledge(message.entries)
        if self._acker.min_time > before:
            update = MinTime(self._acker.min_time)
            self._network.send(ACKER, BARRIER, update)
            for front in range(len(self._fronts)):
                self._network.send(ACKER, FIRST_FRONT - front, update)
