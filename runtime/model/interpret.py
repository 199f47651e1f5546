"""The operations of a query, as functions of payloads.

`execution` implements Map, Grouping, Broadcast and Merge without SQL, and calls this module for the rest.
`fsql.runtime.model.papers` has the same functions for graphs written by hand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler import graph as g
from fsql.compiler.functions.evaluate import evaluate
from fsql.runtime.model.combine import combine, finish
from fsql.runtime.model.grouping import GroupingRule
from fsql.runtime.model.item import Punctuation, Row, State
from fsql.runtime.model.papers import Apply, GroupBy
from fsql.runtime.model.row_functions import (
    apply_to_row,
    closing_roots,
)
from fsql.runtime.model.value_order import as_key, order, row_order

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from fsql.compiler.expression import Value
    from fsql.runtime.batch import Root
    from fsql.runtime.model.item import Item
    from fsql.runtime.model.value_order import Key

AFTER_ALL_ROWS: Final = (1,)


def map_item(function: g.MapFunction, item: Item) -> Iterable[object]:
    """Return the payloads into which a map function transforms an item, in order."""
    payload = item.payload
    match function:
        case Apply():
            return function.function(payload)
        case g.Combine():
            assert isinstance(payload, tuple)
            return combine(function, payload, item.meta.global_time)
        case g.Finish():
            return finish(payload)
        case _:
            assert isinstance(payload, Row)
            return apply_to_row(function, payload, item.meta.global_time)


def grouping_rule(vertex: g.Vertex) -> GroupingRule:
    """Return the rule of a grouping.

    Rows of one root are ordered by path, then the side of a join, then their own columns; with `right_first`
    by the side, then their own columns.  A state has the
    position of the item that made it, and its longer lineage orders it directly after that item.
    """
    operation = vertex.operation
    if isinstance(operation, GroupBy):
        return operation.rule
    assert isinstance(operation, g.Grouping)
    grouping = operation
    closing = grouping.closing

    def key(payload: object) -> Hashable:
        match payload:
            case State():
                return key(payload.made_by)
            case Punctuation():
                return payload.key
            case _:
                assert isinstance(payload, Row)
                return _key_of_row(grouping, payload)

    def place(payload: object) -> Key:
        match payload:
            case State():
                return place(payload.made_by)
            case Punctuation():
                return AFTER_ALL_ROWS
            case _:
                assert isinstance(payload, Row)
                path = payload.path + (-1,) * (vertex.depth - len(payload.path))
                side = (-payload.side, ()) if grouping.right_first else (0, path, payload.side)
                return (0, *side, first(payload), row_order(payload.values))

    def first(row: Row) -> Value:
        # Rows of sessions with equal paths are ordered by their time.
        return row.values[closing.window_end] if isinstance(closing, g.SessionClosing) else None

    def closes_at(payload: object) -> tuple[Root, ...]:
        assert closing is not None
        assert isinstance(payload, Row)
        return closing_roots(closing, payload)

    return GroupingRule(
        key,
        grouping.window,
        place,
        closes_at=None if closing is None else closes_at,
        closes_per_payload=isinstance(closing, g.SessionClosing | g.SliceClosing),
        closes_roots=grouping.by_root,
    )


def _key_of_row(grouping: g.Grouping, row: Row) -> Hashable:
    """Return the key of a row; None if it is NULL in a join, because NULL equals nothing."""
    expressions = grouping.keys[row.side]
    values = tuple(as_key(evaluate(expression, row.values)) for expression in expressions)
    if len(grouping.keys) > 1 and None in values:
        return None
    return tuple(map(order, values))
