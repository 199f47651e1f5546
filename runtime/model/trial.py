"""Trials of graphs written by hand with the operations of `papers`.

    graph = wire((Input(), ()), (Map(Apply(function)), (0,)), (Output(), (1,)))
    Trial(graph, [[(1, "a"), (2, "b")]], seed=0).run().released

A front is a list of (time, payload); its items have the root (time, number of the front).  The released
payloads are in the order of metas, which is the total order of FlameStream.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.graph import Graph, Operation, Vertex
from fsql.runtime.batch import Root
from fsql.runtime.model.execution import READ_AHEAD, Execution
from fsql.runtime.model.front import Front
from fsql.runtime.model.papers import Input

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.runtime.model.barrier import Group
    from fsql.runtime.model.execution import ModelMetrics


def wire(*operations: tuple[Operation, tuple[int, ...]]) -> Graph:
    """Return the graph of operations with their inputs, as indexes into the same list."""
    return Graph(
        tuple(
            Vertex(operation, inputs, schema=(), depth=0, origin=type(operation).__name__)
            for operation, inputs in operations
        )
    )


class Trial:
    """One execution; `released` grows while it runs."""

    def __init__(
        self,
        graph: Graph,
        fronts: Sequence[Sequence[tuple[int, object]]],
        *,
        seed: int,
        workers: int = 2,
        read_ahead: int = READ_AHEAD,
    ) -> None:
        (source,) = (
            index
            for index, vertex in enumerate(graph.vertices)
            if isinstance(vertex.operation, Input)
        )
        arrivals = [
            [(Root(time, number), payload) for time, payload in front]
            for number, front in enumerate(fronts)
        ]
        self.released: list[tuple[Root, object]] = []
        self._execution = Execution(
            graph,
            [Front(source, items) for items in arrivals],
            self._release,
            seed=seed,
            workers=workers,
            read_ahead=read_ahead,
        )

    def run(self, steps: int | None = None) -> Trial:
        """Run to the end, or for a number of steps, as if the machine then lost power."""
        if steps is None:
            self._execution.run()
        else:
            for _ in range(steps):
                self._execution.step()
        return self

    @property
    def payloads(self) -> list[object]:
        """Return the released payloads, in order."""
        return [payload for _, payload in self.released]

    @property
    def metrics(self) -> ModelMetrics:
        """Return the metrics so far."""
        return self._execution.metrics

    def _release(self, root: Root, group: Group) -> bool:
        items = [item for items in group.values() for item in items]
        items.sort(key=lambda item: item.meta)
        self.released += [(root, item.payload) for item in items]
        return True
