"""Filters on group keys move below an unbounded aggregate."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from fsql.compiler.logical import Aggregate, Filter, Plan
from fsql.compiler.rules.columns import columns_of, substitute, substitution_repeats_work
from fsql.compiler.rules.conjuncts import conjunction, split_movable
from fsql.compiler.rules.equality import equal_means_same
from fsql.compiler.rules.failures import operator_fallible

if TYPE_CHECKING:
    from fsql.compiler.expression import Expression


def pushdown_filter_aggregate(node: Filter) -> Plan | None:
    """`Filter(Aggregate(x, ks), p AND q)` → `Filter(Aggregate(Filter(x, p[ks]), ks), q)`.

    This is for p over the keys alone, so that it keeps or drops whole groups, and has the same value for all
    rows of a group.  Keys and aggregates must not fail, because they would not receive the rows of dropped
    groups.  That excludes SUM of integers, which fails if it overflows.
    """
    below = node.input
    if not isinstance(below, Aggregate) or operator_fallible(below):
        return None

    def goes(conjunct: Expression) -> bool:
        used = columns_of(conjunct)
        return all(
            index < len(below.keys) and equal_means_same(below.keys[index].type) for index in used
        ) and not substitution_repeats_work([conjunct], below.keys)

    moved, kept = split_movable(node.predicate, goes)
    if not moved:
        return None
    predicate = conjunction([substitute(each, below.keys.__getitem__) for each in moved])
    made = dataclasses.replace(below, input=Filter(below.input, predicate))
    return Filter(made, conjunction(kept)) if kept else made
