"""Joins: each row is paired with the earlier rows of the other side.

The state contains the rows of both sides so far, in their order.  A row of weight -1 removes an equal one.
If there is none, which may happen within one root, the row is kept; the weight of a pair is the product of
the weights of its rows.

The rows of a preserved side are paired with NULLs while the other side has no rows. These pairs are added
with the row, or when the last row of the other side is removed, and are retracted when its first row is
added.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from fsql.compiler.functions.evaluate import evaluate
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.logical import JoinKind
from fsql.compiler.records import dataclass
from fsql.runtime.model.item import Failure, Row, State
from fsql.runtime.model.value_order import row_order

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.compiler.graph import CombineJoin
    from fsql.runtime.batch import Root
    from fsql.runtime.model.item import Values

LEFT = 0


class Earlier(NamedTuple):
    """An earlier row and its position in the total order."""

    root: Root
    row: Row


@dataclass(frozen=True, slots=True)
class Sides:
    """The rows of the left side and of the right side, in the order of their arrival."""

    rows: tuple[tuple[Earlier, ...], tuple[Earlier, ...]] = ((), ())

    def present(self, side: int) -> tuple[Earlier, ...]:
        """Return the rows of a side without those that were retracted before they came."""
        return tuple(each for each in self.rows[side] if each.row.weight > 0)

    def add(self, row: Row, root: Root) -> Sides:
        """Return the sides with `row` added, or with the row that it retracts removed."""
        own = list(self.rows[row.side])
        same = row_order(row.values)
        for index, (_, other) in enumerate(own):
            if other.weight == -row.weight and row_order(other.values) == same:
                del own[index]
                break
        else:
            own.append(Earlier(root, row))
        if row.side == LEFT:
            return Sides((tuple(own), self.rows[1]))
        return Sides((self.rows[0], tuple(own)))


def combine_join(function: CombineJoin, sides: Sides | None, row: Row, root: Root) -> State:
    """Return the state after `row`, which causes a pair with each earlier row that it joins with.

    Earlier rows that share a position tie, and so do their pairs: they share an index, or the position.
    """
    sides = sides or Sides()
    depth = max(function.left_depth, function.right_depth)
    if function.once:
        if row.side != LEFT:
            return State(row, (), sides.add(row, root))
        return State(row, tuple(_joined_once(function, sides, row, depth)), sides)
    after = sides.add(row, root)
    path = row.path + (-1,) * (depth - len(row.path))
    pairs: list[Row] = []
    if function.kind is not JoinKind.INNER:
        pairs.extend(
            replace(each, path=(*path, 0)) for each in _unpaired_changes(function, sides, after)
        )
    if not function.kind.makes_pairs:
        return State(row, tuple(pairs), after)
    positions: dict[tuple[Root, tuple[int, ...]], int] = {}
    below: tuple[int, ...]
    for other_root, other in sides.rows[1 - row.side]:
        left, right = (row, other) if row.side == LEFT else (other, row)
        if _in_time(function, left.values, right.values, later=row.side, root=root):
            index = positions.setdefault((other_root, other.path), len(positions))
            values = left.values + right.values
            below = (index,)
            if function.by_position:
                below = (*other_root, *other.path, *(-1,) * (depth - len(other.path)))
            pairs.append(Row(values, (*path, *below), left.weight * right.weight))
    return State(row, tuple(pairs), after)


def _joined_once(
    function: CombineJoin, sides: Sides, row: Row, depth: int
) -> Iterator[Row | Failure]:
    """Yield the pairs of a left row with the rows that the right side has."""
    path, matches = (0,) * (depth + 1), 0
    for _, other in sides.present(1 - LEFT):
        pair = row.values + other.values
        try:
            joins = function.condition is None or evaluate(function.condition, pair)
        except RowFailure as failure:
            yield Failure(failure.code, str(failure), row.weight)
            continue
        if joins:
            matches += 1
            yield Row(pair, path, row.weight)
    if not matches and function.kind.keeps_left:
        yield Row(row.values + (None,) * function.right_width, path, row.weight)


def _unpaired_changes(function: CombineJoin, before: Sides, after: Sides) -> Iterator[Row]:
    """Yield the changes of the rows without a partner, or with a partner for a SEMI join."""
    kind = function.kind
    widths = function.left_width, function.right_width
    for side, keeps in enumerate((kind.keeps_left or kind is JoinKind.SEMI, kind.keeps_right)):
        if not keeps:
            continue
        present = kind is JoinKind.SEMI
        for sides, sign in ((before, -1), (after, 1)):
            if (sum(other.weight for _, other in sides.rows[1 - side]) > 0) is not present:
                continue
            nulls = (None,) * widths[1 - side] if kind.makes_pairs else ()
            for _, row in sides.rows[side]:
                values = row.values + nulls if side == LEFT else nulls + row.values
                yield Row(values, weight=sign * row.weight)


def _in_time(function: CombineJoin, left: Values, right: Values, *, later: int, root: Root) -> bool:
    """Return whether the times match, and the watermark at `root` had not passed the earlier row."""
    bounds = function.time_range
    if bounds is None:
        return True
    left_time, right_time = left[bounds.left_time], right[bounds.right_time]
    assert isinstance(left_time, int)
    assert isinstance(right_time, int)
    if not bounds.low_us <= right_time - left_time <= bounds.high_us:
        return False
    grain = function.grain_us
    watermark = (root.time - function.delay_us) // grain * grain
    matches_until = right_time - bounds.low_us if later == LEFT else left_time + bounds.high_us
    return watermark <= matches_until
