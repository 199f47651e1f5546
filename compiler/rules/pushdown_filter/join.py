"""Filters move to the sides of a join.

A predicate on the key of one side says the same of the other side's key, as far as rows that find a
partner go; so it moves to both.  Apart from failures, order may prevent that: of rows of one
side that share a position, the pairs are ordered by the rank that the other row has among each one's
pairs; and ranks shift, one more than another, where rows of the *other* side are dropped.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from fsql.compiler.analysis.nullability import with_nullability
from fsql.compiler.expression import ColumnRef, Expression
from fsql.compiler.logical import Filter, Join, JoinKind, Plan, append_only, may_tie
from fsql.compiler.rules.columns import (
    columns_of,
    renumber_columns,
    substitute,
    substitution_repeats_work,
)
from fsql.compiler.rules.conjuncts import conjunction, split_movable
from fsql.compiler.rules.equality import equal_means_same
from fsql.compiler.rules.failures import operator_fallible

if TYPE_CHECKING:
    from collections.abc import Sequence


def pushdown_filter_join(node: Filter) -> Plan | None:
    """`Filter(Join(x, y), p AND q AND r)` → `Filter(Join(Filter(x, p), Filter(y, q)), r)`.

    This is for p over x's columns and q over y's.  A predicate over key columns of one side alone
    goes to the other side as well, in terms of its keys, if equal keys are the same.  Predicates that
    move cannot fail (they come to see rows without a partner), and neither can the keys.  Of an outer join
    only the side whose rows are all kept takes predicates; the other one's rows that they rule out have
    no partner.
    """
    below = node.input
    if not isinstance(below, Join) or operator_fallible(below):
        return None
    width = len(below.left.schema)
    drop_left, drop_right = _droppable(below)

    def goes(conjunct: Expression) -> bool:
        used = columns_of(conjunct)
        if not used:
            return False
        return drop_left if max(used) < width else drop_right and min(used) >= width

    moved, kept = split_movable(node.predicate, goes)
    if not moved:
        return None
    of_left = [each for each in moved if max(columns_of(each)) < width]
    of_right = [
        renumber_columns(each, lambda index: index - width)
        for each in moved
        if min(columns_of(each)) >= width
    ]
    outer = below.kind is not JoinKind.INNER
    to_left = (
        _predicates_of_other_side(of_right, below.right_keys, below.left_keys)
        if drop_left or outer
        else []
    )
    to_right = (
        _predicates_of_other_side(of_left, below.left_keys, below.right_keys)
        if drop_right or outer
        else []
    )
    made = dataclasses.replace(
        below,
        left=_filter(below.left, [*of_left, *to_left]),
        right=_filter(below.right, [*of_right, *to_right]),
    )
    return Filter(made, conjunction(kept)) if kept else made


def _droppable(join: Join) -> tuple[bool, bool]:
    """Return of which side rows may be dropped by a filter over their columns.

    A row without a partner is padded with NULLs: a predicate over those must see them, and what drops the
    partner of such a row would show it without a match.  Of an append-only join, the order of the other
    side's pairs must not be disturbed.
    """
    if join.kind is not JoinKind.INNER:
        return join.kind not in {JoinKind.RIGHT, JoinKind.FULL}, join.kind is JoinKind.RIGHT
    if join.once or not append_only(join):
        return True, True
    return not may_tie(join.right), not may_tie(join.left)


def _predicates_of_other_side(
    conjuncts: Sequence[Expression],
    keys: Sequence[Expression],
    other_keys: tuple[Expression, ...],
) -> list[Expression]:
    """Return what the conjuncts over bare key columns alone say of the other side's rows."""
    new_index = {
        key.index: number
        for number, key in reversed([*enumerate(keys)])
        if isinstance(key, ColumnRef) and equal_means_same(key.type)
    }
    found = []
    for conjunct in conjuncts:
        if columns_of(conjunct) <= new_index.keys():
            # A key may be NULL here and not there; a row where it is finds no partner anyway.
            over_keys = with_nullability(
                renumber_columns(conjunct, new_index.__getitem__),
                lambda number: other_keys[number].nullable,
            )
            if not substitution_repeats_work([over_keys], other_keys):
                found.append(substitute(over_keys, other_keys.__getitem__))
    return found


def _filter(side: Plan, conjuncts: Sequence[Expression]) -> Plan:
    distinct = [*dict.fromkeys(conjuncts)]
    return Filter(side, conjunction(distinct)) if distinct else side
