"""The positions of the nodes of each layer from left to right."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.explain.drawing.layers import Layers

GAP: Final = 26.0
"""Between two boxes of a layer, in pixels."""
_ROUNDS_MAX: Final = 600
_STILL: Final = 0.05
"""The rounds end when no node moves further than this."""

_Distances = dict[tuple[int, int], float]


def spread(layers: Layers) -> list[float]:
    """Return the middle of each node, so that none overlap and edges are as close to vertical as possible.

    Nodes of one column are aligned vertically and move together.
    """
    movers = _movers(layers, by_column=True)
    distances = _distances(layers, movers)
    order = _left_to_right(set(movers), distances)
    if order is None:
        # Two columns are on both sides of each other; then each box moves separately.
        movers = _movers(layers, by_column=False)
        distances = _distances(layers, movers)
        order = _left_to_right(set(movers), distances)
        assert order is not None, "within layers, left to right is an order"
    positions = _positions(layers, movers, distances, order)
    return [positions[mover] for mover in movers]


def _movers(layers: Layers, *, by_column: bool) -> list[int]:
    """Return, for each node, the first node of the group that moves together."""
    first: dict[int, int] = {}
    movers = []
    for index, node in enumerate(layers.nodes):
        column = node.column if by_column else None
        movers.append(index if column is None else first.setdefault(column, index))
    return movers


def _distances(layers: Layers, movers: Sequence[int]) -> _Distances:
    """Return the minimum distance between two movers, from the first to the second on its right."""
    found: _Distances = defaultdict(float)
    for row in layers.rows:
        for left, right in pairwise(row):
            widths = layers.nodes[left].width + layers.nodes[right].width
            pair = movers[left], movers[right]
            found[pair] = max(found[pair], widths / 2 + GAP)
    return found


def _left_to_right(movers: set[int], distances: _Distances) -> list[int] | None:
    """Return the movers, each after all movers to its left; None if there is no such order."""
    left_of: dict[int, set[int]] = {mover: set() for mover in sorted(movers)}
    for left, right in distances:
        left_of[right].add(left)
    order: list[int] = []
    while left_of:
        free = [mover for mover, others in left_of.items() if not others]
        if not free:
            return None
        order += free
        for mover in free:
            del left_of[mover]
        for others in left_of.values():
            others.difference_update(free)
    return order


def _positions(
    layers: Layers, movers: Sequence[int], distances: _Distances, order: Sequence[int]
) -> Mapping[int, float]:
    """Return the position of each mover.

    Initially each mover is as far left as possible; then it approaches the middle of its neighbours.
    """
    forces = _Forces(layers, movers, distances)
    x: dict[int, float] = {}
    for mover in order:
        x[mover] = forces.least(mover, x, 0.0)
    for _ in range(_ROUNDS_MAX):
        # The first movers are blocked by the others, at whichever side the order begins.  The mean of
        # two drawings without overlaps has none either.
        one, other = forces.apply(x, order), forces.apply(x, order[::-1])
        middle = {mover: (one[mover] + other[mover]) / 2 for mover in order}
        still = all(abs(middle[mover] - x[mover]) < _STILL for mover in order)
        x = middle
        if still:
            break
    return x


class _Forces:
    """The preferred position of a mover, and the limits of its movement."""

    def __init__(self, layers: Layers, movers: Sequence[int], distances: _Distances) -> None:
        self._left_of: dict[int, list[tuple[int, float]]] = {mover: [] for mover in movers}
        self._right_of: dict[int, list[tuple[int, float]]] = {mover: [] for mover in movers}
        self._near: dict[int, list[int]] = {mover: [] for mover in movers}
        for (left, right), distance in distances.items():
            self._left_of[right].append((left, distance))
            self._right_of[left].append((right, distance))
        for index, node in enumerate(layers.nodes):
            others = (movers[other] for other in (*node.above, *node.below))
            self._near[movers[index]] += [other for other in others if other != movers[index]]

    def least(self, mover: int, x: Mapping[int, float], otherwise: float) -> float:
        """Return the leftmost position of the mover."""
        return max((x[other] + by for other, by in self._left_of[mover]), default=otherwise)

    def apply(self, x: Mapping[int, float], order: Sequence[int]) -> dict[int, float]:
        """Return the positions after each mover, in turn, has moved to the middle of its neighbours."""
        found = dict(x)
        for mover in order:
            if near := self._near[mover]:
                wish = sum(found[other] for other in near) / len(near)
                most = min((found[i] - by for i, by in self._right_of[mover]), default=inf)
                found[mover] = max(self.least(mover, found, -inf), min(wish, most))
        return found
