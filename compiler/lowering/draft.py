"""The graph under construction.

Operators append vertices to a `Draft` and refer to inputs by the index that `add` returned; several
vertices may have the same input.  `finish` makes the sharing explicit: it inserts a `Broadcast` after every
vertex that has several readers, and renumbers.  So operators are lowered independently of the other
readers of their inputs, and equal subplans are shared.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import TYPE_CHECKING

from fsql.compiler.graph import Broadcast, Graph, LateSink, Operation, Source, Vertex

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.logical import Plan, Table


class Draft:
    """Vertices in dependency order, and counters of cycles and ports for late rows."""

    def __init__(self, operator_ids: Mapping[Plan, str]) -> None:
        self.operator_ids = operator_ids
        self._vertices: list[Vertex] = []
        self._sources: dict[Table, int] = {}
        self._cycle_count = 0
        self._late_window_count = 0
        self._late_rows: dict[Plan, int] = {}

    def __getitem__(self, index: int) -> Vertex:
        """Return the vertex at `index`, for its schema and depth."""
        return self._vertices[index]

    def add(self, vertex: Vertex) -> int:
        """Append `vertex` and return its index."""
        self._vertices.append(vertex)
        return len(self._vertices) - 1

    def add_after(self, operation: Operation, index: int, origin: str) -> int:
        """Append an operation that reads `index` and keeps its schema and depth."""
        below = self._vertices[index]
        return self.add(Vertex(operation, (index,), below.schema, below.depth, origin))

    def source(self, table: Table) -> int:
        """Return the one vertex that reads `table`, created at its first scan."""
        if table not in self._sources:
            vertex = Vertex(Source(table), (), table.schema, 0, f"Scan {table.name}")
            self._sources[table] = self.add(vertex)
        return self._sources[table]

    def next_cycle(self) -> int:
        """Return the number of a new drifting-state cycle."""
        self._cycle_count += 1
        return self._cycle_count - 1

    def add_late_port(self, plan: Plan, rows: int) -> None:
        """Append a port for the late rows of an operator, which come from a vertex."""
        port = LateSink(self._late_window_count)
        self._late_window_count += 1
        self._late_rows[plan] = rows
        self.add_after(port, rows, self._vertices[rows].origin)

    def copy_late_port(self, copy: Plan, original: Plan) -> None:
        """Append a port for late rows like that of `original`, if it has one and the copy has none yet."""
        if original in self._late_rows and copy not in self._late_rows:
            self.add_late_port(copy, self._late_rows[original])

    def close_cycle(self, merge: int, back_edge: int) -> None:
        """Add `back_edge` to the inputs of `merge`: the only input that follows its reader."""
        vertex = self._vertices[merge]
        inputs = (*vertex.inputs, back_edge)
        self._vertices[merge] = dataclasses.replace(vertex, inputs=inputs)

    def finish(self) -> tuple[Graph, Sequence[int]]:
        """Return the graph, with a Broadcast after each vertex that has several readers.

        Return also, for the index of each vertex, that of the vertex of the graph that has its rows.
        """
        readers = Counter(index for vertex in self._vertices for index in vertex.inputs)
        finished: list[Vertex] = []
        output_of: list[int] = []
        for index, vertex in enumerate(self._vertices):
            finished.append(vertex)
            if readers[index] > 1:
                finished.append(self._copies(index, len(finished) - 1))
            output_of.append(len(finished) - 1)
        vertices = tuple(
            vertex
            if isinstance(vertex.operation, Broadcast)
            else dataclasses.replace(
                vertex, inputs=tuple(output_of[index] for index in vertex.inputs)
            )
            for vertex in finished
        )
        return Graph(vertices), output_of

    def _copies(self, index: int, position: int) -> Vertex:
        """Return the Broadcast after vertex `index`, which is at `position` in the finished graph.

        It is on a cycle if and only if an earlier vertex reads it.
        """
        vertex = self._vertices[index]
        on_cycle = any(index in reader.inputs for reader in self._vertices[:index])
        return dataclasses.replace(
            vertex,
            operation=Broadcast(),
            inputs=(position,),
            cycle=vertex.cycle if on_cycle else None,
        )
