"""ROW_NUMBER, RANK and DENSE_RANK: the rows of a partition sorted anew, and counted.

A row is numbered by counting: those before it, those that are less, the distinct ones that are less.
"""

from __future__ import annotations

from functools import cmp_to_key
from typing import TYPE_CHECKING, Any, NamedTuple

from fsql.compiler.logical import Rank, RankFunction
from fsql.tests.reference.order import order_key, row_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fsql.compiler.expression import Expression, Value
    from fsql.tests.reference.order import Key
    from fsql.tests.reference.relations import Row

    Values = tuple[Value, ...]
    ValuesOf = Callable[[Sequence[Expression], Row], Values | None]


class Ordered(NamedTuple):
    """A row, what it is ordered by, and what orders rows that are equal in that."""

    values: tuple[Value, ...]
    by: tuple[Value, ...]
    tie: Any


def ranked(plan: Rank, rows: Sequence[Row], values_of: ValuesOf) -> list[Values]:
    """Return the rows that show, with their rank if it has a name; `values_of` evaluates expressions."""
    expressions = [*plan.partition, *(key.expression for key in plan.order)]
    partitions: dict[Key, list[Ordered]] = {}
    for row in rows:
        values = values_of(expressions, row)
        if values is not None:
            key = tuple(order_key(value) for value in values[: len(plan.partition)])
            tie = (row.root, row.path, row_key(row.values))
            ordered = Ordered(row.values, values[len(plan.partition) :], tie)
            partitions.setdefault(key, []).append(ordered)
    return [row for partition in partitions.values() for row in _numbered(plan, partition)]


def _numbered(plan: Rank, rows: Sequence[Ordered]) -> Iterator[Values]:

    def compare(one: Ordered, other: Ordered) -> int:
        by = _compare(plan, one, other)
        return by or (one.tie > other.tie) - (one.tie < other.tie)

    ordered = sorted(rows, key=cmp_to_key(compare))
    for place, row in enumerate(ordered):
        less = [other for other in ordered if _compare(plan, other, row) < 0]
        match plan.function:
            case RankFunction.ROW_NUMBER:
                number = place + 1
            case RankFunction.RANK:
                number = len(less) + 1
            case RankFunction.DENSE_RANK:
                number = len({tuple(map(order_key, other.by)) for other in less}) + 1
        if plan.skipped < number and (plan.limit is None or number <= plan.limit):
            yield row.values if plan.rank_name is None else (*row.values, number)


def _compare(plan: Rank, one: Ordered, other: Ordered) -> int:
    """Return a negative number if the first row is less by the keys of the order, 0 if they are equal."""
    for key, left, right in zip(plan.order, one.by, other.by, strict=True):
        if left is None or right is None:
            if left is not right:
                return -1 if (left is None) is key.nulls_first else 1
            continue
        first, second = order_key(left), order_key(right)
        if first != second:
            return -1 if (first < second) is not key.descending else 1
    return 0
