"""Moves conditions on whole partitions below an operator that computes each partition separately."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from fsql.compiler.expression import ColumnRef
from fsql.compiler.logical import Filter
from fsql.compiler.rules.columns import columns_of
from fsql.compiler.rules.conjuncts import conjunction, split_movable
from fsql.compiler.rules.equality import equal_means_same

if TYPE_CHECKING:
    from fsql.compiler.logical import Over, Plan, Rank


def filter_below_partitions(node: Filter, below: Over | Rank) -> Plan | None:
    """`Filter(below(x), p AND q)` → `Filter(below(Filter(x, p)), q)`, if p is over partition keys alone."""
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
