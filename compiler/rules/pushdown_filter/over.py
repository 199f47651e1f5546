"""Filters on partition keys move below running aggregates."""

from __future__ import annotations

import dataclasses

from fsql.compiler.expression import ColumnRef
from fsql.compiler.logical import Filter, Over, Plan
from fsql.compiler.rules.columns import columns_of
from fsql.compiler.rules.conjuncts import conjunction, split_movable
from fsql.compiler.rules.equality import equal_means_same
from fsql.compiler.rules.failures import operator_fallible


def pushdown_filter_over(node: Filter) -> Plan | None:
    """`Filter(Over(x, ks), p AND q)` → `Filter(Over(Filter(x, p), ks), q)`, if p is over ks alone.

    Then p keeps or drops whole partitions.  Keys and running aggregates must not fail: the rows of
    dropped partitions would not come to them.
    """
    below = node.input
    if not isinstance(below, Over) or operator_fallible(below):
        return None
    keys = {
        key.index
        for key in below.partition
        if isinstance(key, ColumnRef) and equal_means_same(key.type)
    }
    moved, kept = split_movable(node.predicate, lambda conjunct: columns_of(conjunct) <= keys)
    if not moved:
        return None
    made = dataclasses.replace(below, input=Filter(below.input, conjunction(moved)))
    return Filter(made, conjunction(kept)) if kept else made
