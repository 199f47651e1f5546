"""Layers: the boxes of each height, their order, and the bends of long edges."""

from __future__ import annotations

from dataclasses import field
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Final

from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SWEEPS: Final = 16

Edge = tuple[int, int]


@dataclass(slots=True)
class LayerNode:
    """An item of a layer: a box, or the bend of an edge (without width).

    `above` and `below` are the nodes that edges lead to, in the layers next to this one.
    """

    layer: int
    width: float
    column: int | None = None
    above: list[int] = field(default_factory=list)
    below: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Layers:
    """The nodes, the indexes of the nodes of each layer from left to right, and the bends of each edge."""

    nodes: list[LayerNode]
    rows: list[list[int]]
    bends: Mapping[Edge, Sequence[int]]


def arrange_layers(
    widths: Sequence[float], inputs: Sequence[Sequence[int]], columns: Sequence[int | None]
) -> Layers:
    """Return the layers of boxes; the inputs of each box are earlier boxes."""
    nodes = [
        LayerNode(layer, width, column)
        for layer, width, column in zip(_heights(inputs), widths, columns, strict=True)
    ]
    bends: dict[Edge, Sequence[int]] = {}
    for target, sources in enumerate(inputs):
        for source in sources:
            between = range(nodes[source].layer + 1, nodes[target].layer)
            chain = [len(nodes) + i for i in range(len(between))]
            nodes += [LayerNode(layer, 0.0) for layer in between]
            for upper, lower in pairwise([source, *chain, target]):
                nodes[upper].below.append(lower)
                nodes[lower].above.append(upper)
            bends[source, target] = chain
    return Layers(nodes, _order_layers(nodes), bends)


def _heights(inputs: Sequence[Sequence[int]]) -> list[int]:
    """Return the layer of each box: below all inputs; for a source directly above its first reader."""
    heights: list[int] = []
    for sources in inputs:
        heights.append(max((heights[source] + 1 for source in sources), default=0))
    readers: dict[int, list[int]] = {}
    for target, sources in enumerate(inputs):
        for source in sources:
            readers.setdefault(source, []).append(heights[target])
    for box, sources in enumerate(inputs):
        if not sources and box in readers:
            heights[box] = min(readers[box]) - 1
    return heights


def _order_layers(nodes: Sequence[LayerNode]) -> list[list[int]]:
    """Return the layers, ordered by the mean rank of neighbours: the best result of several sweeps."""
    count = max((node.layer for node in nodes), default=-1) + 1
    rows: list[list[int]] = [[] for _ in range(count)]
    for index, node in enumerate(nodes):
        rows[node.layer].append(index)
    best, fewest = [[*row] for row in rows], _crossings(nodes, rows)
    for sweep in range(_SWEEPS):
        _sweep(nodes, rows, down=sweep % 2 == 0)
        crossings = _crossings(nodes, rows)
        if crossings < fewest:
            best, fewest = [[*row] for row in rows], crossings
    return best


def _sweep(nodes: Sequence[LayerNode], rows: list[list[int]], *, down: bool) -> None:
    rank = _ranks(rows)
    for row in rows if down else reversed(rows):
        middle: dict[int, float] = {}
        for index in row:
            near = nodes[index].above if down else nodes[index].below
            ranks = [rank[other] for other in near] or [rank[index]]
            middle[index] = sum(ranks) / len(ranks)
        row.sort(key=lambda index: (middle[index], rank[index]))
        rank |= {index: position for position, index in enumerate(row)}


def _crossings(nodes: Sequence[LayerNode], rows: Sequence[Sequence[int]]) -> int:
    rank = _ranks(rows)
    count = 0
    for row in rows:
        edges = [(rank[upper], rank[lower]) for upper in row for lower in nodes[upper].below]
        count += sum((a - c) * (b - d) < 0 for (a, b), (c, d) in combinations(edges, 2))
    return count


def _ranks(rows: Sequence[Sequence[int]]) -> dict[int, int]:
    return {index: rank for row in rows for rank, index in enumerate(row)}
