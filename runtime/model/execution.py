"""The machine: a graph on several workers, executed item by item.

Every worker has a station for every vertex.  A message carries one item to one station; links keep order,
and the network picks the next link at random.  A station deals with a message in one step: it takes the
item, sends what the vertex makes of it, and acknowledges.  Where an item goes depends on the payload only:

* into a Grouping, and into a Map with a balancing function, to the worker that owns the key's hash;
* to a port of the job, and for failures and rejects wherever they come up, to the barrier;
* anywhere else to the station of the same worker.

Fronts, acker and barrier are stations too, so that a promise, an acknowledgement or a new min time is as
slow on its way as any item.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from fsql.compiler import graph as g
from fsql.compiler.functions.failure import RowFailure
from fsql.runtime.batch import END, Root
from fsql.runtime.hashing import mix
from fsql.runtime.model.acker import Acker
from fsql.runtime.model.barrier import Barrier
from fsql.runtime.model.grouping import Grouping
from fsql.runtime.model.interpret import grouping_rule, map_item
from fsql.runtime.model.item import Failure, Item, Row
from fsql.runtime.model.meta import Meta
from fsql.runtime.model.network import Network
from fsql.runtime.model.papers import Apply, GroupBy, Output
from fsql.runtime.model.partition import balancing_hash, covering, owner
from fsql.runtime.ports import Reject

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from fsql.runtime.model.barrier import Group
    from fsql.runtime.model.front import Front

LEAD: Final = 4
"""How many payloads a front may be ahead of min time, unless said; see `front`."""

FAILURES: Final = -1
"""The barrier's port for failures."""
REJECTS: Final = -2
"""The barrier's port for malformed rows."""

ACKER: Final = -1
BARRIER: Final = -2
FIRST_FRONT: Final = -3
"""Addresses: front i is `FIRST_FRONT - i`, the station of a vertex `vertex * workers + worker`."""


class Delivery(NamedTuple):
    """An item on its way to a station; `key` is what it was routed by."""

    item: Item
    message_id: int
    key: Hashable = None


class Arrival(NamedTuple):
    """An item on its way to a port of the barrier."""

    item: Item
    message_id: int
    port: int


class Acknowledgement(NamedTuple):
    """What a station did, for the acker: ids under their roots."""

    entries: Sequence[tuple[Root, int]]


class Promise(NamedTuple):
    """Nothing below `bound` comes from `front` any more."""

    front: int
    bound: Root


class MinTime(NamedTuple):
    """Nothing below `bound` is in flight any more."""

    bound: Root


class ReadOn(NamedTuple):
    """A front's message to itself: hand in the next payload."""


@dataclass(frozen=True)
class Counters:
    """What an execution cost: `repairs` are the tombstones that groupings made for late items."""

    messages: int
    acknowledgements: int
    repairs: int
    releases: int


class Execution:
    """One execution, driven by `step`; `release` is given each final group (see `Barrier`)."""

    def __init__(
        self,
        graph: g.Graph,
        fronts: Sequence[Front],
        release: Callable[[Root, Group], bool],
        *,
        seed: int,
        workers: int,
        lead: int = LEAD,
    ) -> None:
        self._vertices = graph.vertices
        self._readers = [graph.readers(index) for index in range(len(graph.vertices))]
        self._workers = workers
        self._hash_ranges = covering(workers)
        self._owners: dict[Hashable, int] = {}
        self._balances: dict[int, Callable[[object], Hashable]] = {}
        self._groupings: dict[int, Grouping] = {}
        for index, vertex in enumerate(graph.vertices):
            self._set_up(index, vertex)
        self._fronts = fronts
        self._lead = lead
        self._waiting: set[int] = set()
        self._network = Network(seed)
        self._acker = Acker(range(len(fronts)))
        self._barrier = Barrier(release)
        self._message_count = 0
        self._acknowledgement_count = 0
        for front in range(len(fronts)):
            self._network.send(FIRST_FRONT - front, FIRST_FRONT - front, ReadOn())

    def _set_up(self, index: int, vertex: g.Vertex) -> None:
        match vertex.operation:
            case g.Grouping() | GroupBy():
                rule = grouping_rule(vertex)
                self._balances[index] = rule.key
                for worker in range(self._workers):
                    self._groupings[index * self._workers + worker] = Grouping(index, rule)
            case g.Map(function=Apply(balance=balance)) if balance is not None:
                self._balances[index] = balance

    def run(self) -> None:
        """Step until the end of all input, or until a release stops the run."""
        while self.step():
            pass
        assert self._barrier.stopped or self._acker.min_time == END, "a message was lost"

    def step(self) -> bool:
        """Deliver one message; False where none is left, or the run has stopped."""
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
                self._tell_front(FIRST_FRONT - receiver, message)
            case _:
                assert isinstance(message, Acknowledgement | Promise)
                self._track(message)
        return True

    @property
    def counters(self) -> Counters:
        """Return what has been done so far."""
        repairs = sum(grouping.repairs for grouping in self._groupings.values())
        return Counters(
            self._message_count, self._acknowledgement_count, repairs, self._barrier.releases
        )

    def _work(self, station: int, message: Delivery) -> None:
        """Let a station deal with an item."""
        vertex, worker = divmod(station, self._workers)
        sent: list[tuple[Root, int]] = []
        for reader, item in self._made(vertex, station, message):
            self._send(station, worker, reader, item, sent)
        self._acknowledge(station, message, sent)

    def _made(self, vertex: int, station: int, message: Delivery) -> Iterator[tuple[int, Item]]:
        """Yield what a station makes of an item, and the vertex that each is for."""
        meta, payload = item = message.item
        readers = self._readers[vertex]
        match self._vertices[vertex].operation:
            case g.Map(function=function):
                for ordinal, made in enumerate(map_item(function, item)):
                    yield readers[0], Item(meta.output(ordinal, vertex), made)
            case g.Grouping() | GroupBy():
                for window in self._groupings[station].accept(item, message.key):
                    yield readers[0], window
            case g.Broadcast():
                for ordinal, reader in enumerate(readers):
                    yield reader, Item(meta.copy(ordinal), payload)
            case _:
                yield readers[0], item

    def _send(
        self, sender: int, worker: int, reader: int, item: Item, sent: list[tuple[Root, int]]
    ) -> None:
        """Send an item to `reader`, or to the barrier, and note its id in `sent`."""
        self._message_count += 1
        message_id = mix(self._message_count)
        port = self._port(reader, item.payload)
        balance = self._balances.get(reader)
        key: Hashable = None
        if port is None and balance is not None:
            try:
                key = balance(item.payload)
            except RowFailure as failure:
                assert isinstance(item.payload, Row)
                failed = Failure(failure.code, str(failure), item.payload.weight)
                port, item = FAILURES, Item(item.meta, failed)
            else:
                if key is None:
                    return  # It enters no bucket: nothing is sent.
                worker = self._owner(key)
        sent.append((item.meta.global_time, message_id))
        if port is not None:
            self._network.send(sender, BARRIER, Arrival(item, message_id, port))
        else:
            address = reader * self._workers + worker
            self._network.send(sender, address, Delivery(item, message_id, key))

    def _port(self, reader: int, payload: object) -> int | None:
        """Return the port that takes a payload on its way to `reader`; None if `reader` itself does."""
        if isinstance(payload, Failure):
            return FAILURES
        if isinstance(payload, Reject):
            return REJECTS
        operation = self._vertices[reader].operation
        return reader if isinstance(operation, g.Sink | g.LateSink | Output) else None

    def _owner(self, key: Hashable) -> int:
        """Return the worker that owns `key`."""
        if key not in self._owners:
            self._owners[key] = owner(self._hash_ranges, balancing_hash(key))
        return self._owners[key]

    def _acknowledge(
        self, station: int, message: Delivery | Arrival, sent: list[tuple[Root, int]]
    ) -> None:
        """Tell the acker, in one message, that `message` is dealt with and what was sent for it."""
        entries = [(message.item.meta.global_time, message.message_id), *sent]
        self._network.send(station, ACKER, Acknowledgement(entries))
        self._acknowledgement_count += 1

    def _tell_front(self, number: int, message: ReadOn | MinTime) -> None:
        """Let a front read on, if it may; if not, it waits for a min time that lets it."""
        front = self._fronts[number]
        if isinstance(message, ReadOn):
            self._waiting.add(number)
        else:
            front.heed(message.bound)
        if number in self._waiting and front.ahead() < self._lead:
            self._waiting.remove(number)
            self._read(number, front)

    def _read(self, number: int, front: Front) -> None:
        """Let a front hand in its next payload, and promise."""
        address = FIRST_FRONT - number
        arrival = front.read()
        if arrival is None:
            self._network.send(address, ACKER, Promise(number, END))
            return
        root, payload = arrival
        item = Item(Meta(root), payload)
        sent: list[tuple[Root, int]] = []
        self._send(address, number % self._workers, front.vertex, item, sent)
        self._network.send(address, ACKER, Acknowledgement(sent))
        self._network.send(address, ACKER, Promise(number, Root(root.time, root.origin + 1)))
        self._network.send(address, address, ReadOn())

    def _track(self, message: Acknowledgement | Promise) -> None:
        """Let the acker apply a message, and tell the barrier if min time has moved."""
        before = self._acker.min_time
        if isinstance(message, Promise):
            self._acker.promise(message.front, message.bound)
        else:
            self._acker.acknowledge(message.entries)
        if self._acker.min_time > before:
            news = MinTime(self._acker.min_time)
            self._network.send(ACKER, BARRIER, news)
            for front in range(len(self._fronts)):
                self._network.send(ACKER, FIRST_FRONT - front, news)
