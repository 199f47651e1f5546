"""The route of an item: a function of its payload, so that a tombstone takes the route of its victim.

* Into a Grouping, and into a Map with a balancing function, to the worker that owns the key's hash;
* to the barrier for a port of the job, and for failures and malformed rows at any vertex;
* otherwise to the instance on the same worker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from fsql.compiler import graph as g
from fsql.compiler.functions.failure import RowFailure
from fsql.runtime.model.item import Failure, Item, Row
from fsql.runtime.model.papers import Output
from fsql.runtime.model.partition import balancing_hash, covering, owner
from fsql.runtime.ports import DeadLetter

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

ACKER: Final = -1
BARRIER: Final = -2
FIRST_FRONT: Final = -3
"""Addresses: front i is `FIRST_FRONT - i`, the instance of a vertex `vertex * workers + worker`."""

FAILURES: Final = -1
"""The port of the barrier for failures."""
DEAD_LETTERS: Final = -2
"""The port of the barrier for malformed rows; the port of a Sink, LateSink or Output is its vertex."""


class Route(NamedTuple):
    """The address of an item, with the port of the barrier or the key by which it was routed.

    The item is the one that is sent, or its failure if a key failed.
    """

    address: int
    item: Item
    port: int | None = None
    key: Hashable = None


class Routing:
    """The routes of a graph on a number of workers; `balances` has the balancing functions by vertex."""

    def __init__(
        self, graph: g.Graph, workers: int, balances: Mapping[int, Callable[[Any], Hashable]]
    ) -> None:
        self.workers = workers
        self._balances = balances
        self._bounds = covering(workers)
        self._owners: dict[Hashable, int] = {}
        self._ports = {
            index
            for index, vertex in enumerate(graph.vertices)
            if isinstance(vertex.operation, g.Sink | g.LateSink | Output)
        }

    def route(self, worker: int, reader: int, item: Item) -> Route | None:
        """Return the route of an item for vertex `reader` from `worker`; None if it enters no bucket."""
        port = self._port(reader, item.payload)
        if port is not None:
            return Route(BARRIER, item, port)
        balance = self._balances.get(reader)
        if balance is None:
            return Route(reader * self.workers + worker, item)
        try:
            key = balance(item.payload)
        except RowFailure as failure:
            return Route(BARRIER, _failure_item(item, failure), FAILURES)
        if key is None:
            return None
        return Route(reader * self.workers + self._owner(key), item, key=key)

    def _port(self, reader: int, payload: object) -> int | None:
        match payload:
            case Failure():
                return FAILURES
            case DeadLetter():
                return DEAD_LETTERS
            case _:
                return reader if reader in self._ports else None

    def _owner(self, key: Hashable) -> int:
        if key not in self._owners:
            self._owners[key] = owner(self._bounds, balancing_hash(key))
        return self._owners[key]


def _failure_item(item: Item, failure: RowFailure) -> Item:
    assert isinstance(item.payload, Row)
    return Item(item.meta, Failure(failure.code, str(failure), item.payload.weight))
