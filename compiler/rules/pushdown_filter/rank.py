"""Conditions on ranks become bounds of the ranking; filters on partition keys move below it."""

from __future__ import annotations

import dataclasses
from typing import Final

from fsql.compiler.expression import Call, ColumnRef, Expression, Literal
from fsql.compiler.logical import Filter, Plan, Rank
from fsql.compiler.rules.conjuncts import conjunction, split_movable
from fsql.compiler.rules.failures import operator_fallible
from fsql.compiler.rules.pushdown_filter.partitions import filter_below_partitions

_MIRRORED: Final = {"eq": "eq", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def bound_rank(node: Filter) -> Plan | None:
    """`Filter(Rank(x), rank <= n AND p)` → `Filter(Rank(x, n), p)`, where rows beyond n are not kept."""
    below = node.input
    if not isinstance(below, Rank) or below.rank_name is None:
        return None
    rank = len(below.input.schema)
    taken, kept = split_movable(node.predicate, lambda each: _bounds(each, rank) is not None)
    skipped, limit = below.skipped, below.limit
    for condition in taken:
        bounds = _bounds(condition, rank)
        assert bounds is not None
        skipped = max(skipped, bounds[0])
        if bounds[1] is not None:
            limit = bounds[1] if limit is None else min(limit, bounds[1])
    if not taken or (limit is not None and limit <= skipped):
        return None
    made = dataclasses.replace(below, skipped=skipped, limit=limit)
    return Filter(made, conjunction(kept)) if kept else made


def _bounds(condition: Expression, rank: int) -> tuple[int, int | None] | None:
    """Return `skipped` and `limit` if the condition bounds the rank, the column at `rank`."""
    if not isinstance(condition, Call) or condition.function not in _MIRRORED:
        return None
    function, (left, right) = condition.function, condition.arguments
    if isinstance(left, Literal):
        function, left, right = _MIRRORED[function], right, left
    if not (isinstance(left, ColumnRef) and left.index == rank and isinstance(right, Literal)):
        return None
    value = right.value
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return {
        "eq": (value - 1, value),
        "lt": (0, value - 1),
        "le": (0, value),
        "gt": (value, None),
        "ge": (value - 1, None),
    }[function]


def pushdown_filter_rank(node: Filter) -> Plan | None:
    """`Filter(Rank(x, ks), p AND q)` → `Filter(Rank(Filter(x, p), ks), q)`, if p is over ks alone.

    Then p keeps or drops whole partitions.  It does not apply to windows, which count all late rows.
    """
    below = node.input
    if not isinstance(below, Rank) or below.window_end is not None or operator_fallible(below):
        return None
    return filter_below_partitions(node, below)
