"""Adjacent filters become one, and a filter that drops nothing is removed."""

from __future__ import annotations

from fsql.compiler.expression import Literal
from fsql.compiler.logical import Filter, Plan
from fsql.compiler.rules.conjuncts import conjunction
from fsql.compiler.rules.failures import fallible_over


def merge_filters(node: Filter) -> Plan | None:
    """`Filter(Filter(x, p), q)` → `Filter(x, p AND q)`, if q cannot fail or p is never NULL.

    A row on which p is NULL is not evaluated by q; after AND it would be.
    """
    below = node.input
    if not isinstance(below, Filter):
        return None
    if below.predicate.nullable and fallible_over(below, node.predicate):
        return None
    return Filter(below.input, conjunction((below.predicate, node.predicate)))


def drop_true_filter(node: Filter) -> Plan | None:
    """`Filter(x, TRUE)` → `x`."""
    always = isinstance(node.predicate, Literal) and node.predicate.value is True
    return node.input if always else None
