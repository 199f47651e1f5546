"""Filters on partition keys move below running aggregates."""

from __future__ import annotations

from fsql.compiler.logical import Filter, Over, Plan
from fsql.compiler.rules.failures import operator_fallible
from fsql.compiler.rules.pushdown_filter.partitions import filter_below_partitions


def pushdown_filter_over(node: Filter) -> Plan | None:
    """`Filter(Over(x, ks), p AND q)` → `Filter(Over(Filter(x, p), ks), q)`, if p is over ks alone.

    Then p keeps or drops whole partitions.  Keys and running aggregates must not fail, because they would not
    receive the rows of dropped partitions.
    """
    below = node.input
    if not isinstance(below, Over) or operator_fallible(below):
        return None
    return filter_below_partitions(node, below)
