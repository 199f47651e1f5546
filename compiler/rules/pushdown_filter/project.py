"""Filters move below projections."""

from __future__ import annotations

from fsql.compiler.logical import Filter, Plan, Project
from fsql.compiler.rules.columns import substitute, substitution_repeats_work
from fsql.compiler.rules.failures import operator_fallible


def pushdown_filter_project(node: Filter) -> Plan | None:
    """`Filter(Project(x, es), p)` → `Project(Filter(x, p[es]), es)`, if no e can fail.

    The predicate is evaluated on the same rows, so it may fail.  Expressions that it uses are computed
    again after it; so it does not move if it would itself compute an expression twice.
    """
    below = node.input
    if not isinstance(below, Project) or operator_fallible(below):
        return None
    if substitution_repeats_work([node.predicate], below.expressions):
        return None
    predicate = substitute(node.predicate, below.expressions.__getitem__)
    return Project(Filter(below.input, predicate), below.expressions, below.names)
