"""Joins, as functions of the rows of both sides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from fsql.compiler import logical
from fsql.compiler.logical import JoinKind
from fsql.tests.reference.delays import watermark
from fsql.tests.reference.order import row_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fsql.compiler.expression import Expression, Value
    from fsql.tests.reference.order import Key

    Values = tuple[Value, ...]
    Path = tuple[int, ...]
    Root = tuple[int, int]


class KeyedRow(NamedTuple):
    """A row of a side with its key, which is None if a part of it is NULL."""

    key: Key | None
    values: Values
    root: tuple[int, int]
    path: Path


def pairs(
    plan: logical.Join, left: Sequence[KeyedRow], right: Sequence[KeyedRow]
) -> Iterator[tuple[Values, tuple[int, int], Path]]:
    """Let the rows of both sides arrive in order; each meets the earlier ones of the other side.

    In an updating relation the order is arbitrary and the result the product of the two bags.
    """
    depth = logical.depth(plan) - 1
    arrivals: list[tuple[tuple[Any, ...], KeyedRow]] = []
    for side, rows in enumerate((left, right)):
        for row in rows:
            if row.key is not None:
                path = row.path + (-1,) * (depth - len(row.path))
                arrivals.append(((row.root, path, side, row_key(row.values)), row))
    arrivals.sort(key=lambda arrival: arrival[0])
    seen: tuple[list[KeyedRow], list[KeyedRow]] = ([], [])
    for (root, path, side, _), row in arrivals:
        index, met = -1, None
        for earlier in seen[1 - side]:
            one, other = (earlier, row) if side == 1 else (row, earlier)
            if earlier.key != row.key or not in_time(plan, one, other, later_side=side):
                continue
            if (earlier.root, earlier.path) != met:
                index, met = index + 1, (earlier.root, earlier.path)
            yield one.values + other.values, root, (*path, index)
        seen[side].append(row)


def joined_once(
    plan: logical.Join,
    left: Sequence[KeyedRow],
    rights: Callable[[Root], Sequence[KeyedRow]],
    computed: Callable[[Sequence[Expression], Any, Root], Values | None],
) -> Iterator[tuple[Values, Root, Path]]:
    """Join each row of the left with what the right has up to its root.

    `computed` returns the values of expressions over a row, None if one fails.
    """
    path = (0,) * logical.depth(plan)
    conditions = () if plan.condition is None else (plan.condition,)
    for row in left:
        partners = 0
        for other in rights(row.root):
            if row.key is None or other.key != row.key:
                continue
            pair = row._replace(values=row.values + other.values)
            if computed(conditions, pair, row.root) in {(), (True,)}:
                partners += 1
                yield pair.values, row.root, path
        if not partners and plan.kind is JoinKind.LEFT:
            yield row.values + (None,) * len(plan.right.schema), row.root, path


def in_time(plan: logical.Join, left: KeyedRow, right: KeyedRow, *, later_side: int) -> bool:
    """Say whether a pair is in the time range, and the watermark had not passed the earlier row."""
    bounds = plan.time_range
    if bounds is None:
        return True
    assert logical.append_only(plan), "a time range joins rows that have positions"
    left_time, right_time = left.values[bounds.left_time], right.values[bounds.right_time]
    assert isinstance(left_time, int)
    assert isinstance(right_time, int)
    if not left_time + bounds.low_us <= right_time <= left_time + bounds.high_us:
        return False
    matches_until = left_time + bounds.high_us if later_side == 1 else right_time - bounds.low_us
    return watermark(plan, bounds, (left, right)[later_side].root[0]) <= matches_until


def outer_join(
    plan: logical.Join, left: Sequence[KeyedRow], right: Sequence[KeyedRow]
) -> Iterator[Values]:
    """Take the pairs of both bags, and the rows that are in none beside NULLs.

    Of SEMI and ANTI take the left rows that have a partner, or none.
    """
    kind = plan.kind
    left_keys, right_keys = ({row.key for row in side} - {None} for side in (left, right))
    if kind in {JoinKind.SEMI, JoinKind.ANTI}:
        for row in left:
            if (row.key in right_keys) is (kind is JoinKind.SEMI):
                yield row.values
        return
    nulls = [(None,) * len(side.schema) for side in (plan.left, plan.right)]
    for row in left:
        matches = [other.values for other in right if row.key is not None and other.key == row.key]
        for other in matches:
            yield row.values + other
        if not matches and kind is not JoinKind.RIGHT:
            yield row.values + nulls[1]
    if kind is not JoinKind.LEFT:
        for row in right:
            if row.key not in left_keys:
                yield nulls[0] + row.values
