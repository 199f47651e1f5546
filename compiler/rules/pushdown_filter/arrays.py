"""Filters on a row's own columns move below the operators that read its arrays."""

from __future__ import annotations

import dataclasses

from fsql.compiler.logical import Filter, LateralAggregate, Plan, Unnest
from fsql.compiler.rules.columns import columns_of
from fsql.compiler.rules.conjuncts import conjunction, split_movable
from fsql.compiler.rules.failures import operator_fallible


def pushdown_filter_array(node: Filter) -> Plan | None:
    """`Filter(Unnest(x), p AND q)` → `Filter(Unnest(Filter(x, p)), q)`, if p is over x's columns.

    Likewise below LateralAggregate.  The operator must not fail, because it would not receive the rows that p
    drops; and p must not fail, because it would receive the rows that have no elements.
    """
    below = node.input
    if not isinstance(below, Unnest | LateralAggregate) or operator_fallible(below):
        return None
    width = len(below.input.schema)
    moved, kept = split_movable(
        node.predicate, lambda conjunct: all(index < width for index in columns_of(conjunct))
    )
    if not moved:
        return None
    made = dataclasses.replace(below, input=Filter(below.input, conjunction(moved)))
    return Filter(made, conjunction(kept)) if kept else made
