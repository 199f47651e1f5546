"""Arrays of the values of a group of which only the first or the last are read have no others.

    SELECT k, ARRAY_SLICE(ARRAY_AGG(x ORDER BY x DESC), 1, 3) FROM t GROUP BY k

A change of a group then costs as much as the values that are read, not as all values of the group.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler.expression import AggregateFunction, Call, ColumnRef, Expression, Literal
from fsql.compiler.logical import Aggregate, Plan, Project, WindowAggregate
from fsql.compiler.node import children

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.expression import AggregateCall
    from fsql.compiler.node import Node

_ALL = 0


def limit_collected(node: Project) -> Plan | None:
    """`Project(Aggregate(ARRAY_AGG(x)), (slice))` → the same with the greatest number that a slice reads."""
    below = node.input
    if not isinstance(below, Aggregate | WindowAggregate):
        return None
    read = _numbers_read(node.expressions)
    keys = len(below.keys)
    calls = tuple(
        _limited(call, read.get(keys + index, [_ALL]))
        for index, call in enumerate(below.aggregates)
    )
    if calls == below.aggregates:
        return None
    return replace(node, input=replace(below, aggregates=calls))


def _limited(call: AggregateCall, numbers: Sequence[int]) -> AggregateCall:
    if call.function is not AggregateFunction.ARRAY_AGG:
        return call
    least, greatest = min(numbers), max(numbers)
    if least <= 0 <= greatest:
        return call  # All are read, or both ends.
    return replace(call, parameter=float(greatest if least > 0 else least))


def _numbers_read(expressions: Sequence[Expression]) -> dict[int, list[int]]:
    """Return by column how many first values of it are read, last ones if negative, 0 for all."""
    found: dict[int, list[int]] = {}
    waiting: list[Node] = [*expressions]
    while waiting:
        each = waiting.pop()
        if isinstance(each, ColumnRef):
            found.setdefault(each.index, []).append(_ALL)
            continue
        number = _number_read(each)
        if number == _ALL:
            waiting += children(each)
            continue
        assert isinstance(each, Call)
        array = each.arguments[0]
        assert isinstance(array, ColumnRef)
        found.setdefault(array.index, []).append(number)
    return found


def _number_read(expression: Node) -> int:
    """Return how many values of a column an element or a slice reads; 0 for other expressions."""
    match expression:
        case Call(function="element_at", arguments=(ColumnRef(), Literal(value=int(place)))):
            return place
        case Call(function="array_slice", arguments=(ColumnRef(), Literal(value=int(start)))):
            return min(start, _ALL)
        case Call(
            function="array_slice",
            arguments=(ColumnRef(), Literal(value=int(start)), Literal(value=int(end))),
        ):
            return end if 1 <= start <= end else _ALL
        case _:
            return _ALL
