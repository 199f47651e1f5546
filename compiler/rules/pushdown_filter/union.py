"""Filters move into the branches of a union."""

from __future__ import annotations

from fsql.compiler.logical import Filter, Plan, Union


def pushdown_filter_union(node: Filter) -> Plan | None:
    """`Filter(Union(x, y), p)` → `Union(Filter(x, p), Filter(y, p))`.

    The predicate is evaluated on the same rows, so it may fail.
    """
    below = node.input
    if not isinstance(below, Union):
        return None
    return Union(tuple(Filter(branch, node.predicate) for branch in below.branches))
