"""Pairs of conditions of a filter: how often the second is true where the first one is.

Sampled workers and profiles count them as operators with the names `FILTER#FIRST&SECOND`, whose input are the
rows for which the first condition is true.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.plan_choices import CONDITION, PAIR
from fsql.optimizer.statistics import ConditionPair

if TYPE_CHECKING:
    from collections.abc import Mapping


def condition_pairs(rows: Mapping[str, tuple[float, float]]) -> tuple[ConditionPair, ...]:
    """Return the measured pairs, given the rows in and out of each operator by its name."""
    found = []
    for name, (first_true, both) in rows.items():
        condition, is_pair, second = name.partition(PAIR)
        label, _, first = condition.partition(CONDITION)
        seen, second_true = rows.get(f"{label}{CONDITION}{second}", (0.0, 0.0))
        if is_pair and first_true > 0 and seen > 0:
            numbers = int(first), int(second)
            found.append(ConditionPair(label, *numbers, second_true / seen, both / first_true))
    return tuple(sorted(found))
