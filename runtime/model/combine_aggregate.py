"""Aggregates: the result of a bucket of `Aggregate` or `WindowAggregate` after each item.

A group has one row, or a failure instead, while the weights of its rows add up to more than 0.  If the
aggregate is updating, each item that changes the row retracts the old one and adds the new one; with `final`,
the group has no row until the punctuation, after which no item can arrive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.functions.evaluate import evaluate
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.records import dataclass
from fsql.runtime.model.accumulator import Accumulators, arguments
from fsql.runtime.model.item import Failure, Punctuation, Row, State
from fsql.runtime.model.value_order import as_key

if TYPE_CHECKING:
    from fsql.compiler.graph import CombineAggregate
    from fsql.runtime.batch import Root
    from fsql.runtime.model.item import Values


@dataclass(frozen=True, slots=True)
class Group:
    """The state of the rows of one key so far."""

    key: Values
    weight: int
    accumulators: Accumulators


def combine_aggregate(
    function: CombineAggregate, group: Group | None, item: Row | Punctuation, root: Root
) -> State | None:
    """Return the state after `item`; None after a punctuation that does not emit rows."""
    if isinstance(item, Punctuation):
        shown = _group_row(function, group) if function.final else ()
        return State(item, shown, None) if shown else None
    if group is None:
        key = tuple(as_key(evaluate(expression, item.values)) for expression in function.keys)
        group = Group(key, 0, Accumulators.of(function.aggregates))
    given = arguments(function.aggregates, item.values)
    accumulators = group.accumulators.add(given, item.weight, (root, item.path))
    after = Group(group.key, group.weight + item.weight, accumulators)
    if function.final:
        return State(item, (), after)
    old, new = _group_row(function, group), _group_row(function, after)
    changes = () if old == new else (*(shown.retraction() for shown in old), *new)
    return State(item, changes, after)


def _group_row(function: CombineAggregate, group: Group | None) -> tuple[Row | Failure, ...]:
    if group is None or group.weight <= 0:
        return ()
    try:
        return (Row(group.key + group.accumulators.results(), (function.scan_number,)),)
    except RowFailure as failure:
        return (Failure(failure.code, str(failure)),)
