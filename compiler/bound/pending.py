"""Placeholders for aggregates, subqueries, parameters and similar values, while a SELECT is bound.

The planner replaces them by references to the columns of the operators that compute them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.expression import ColumnRef, Expression
from fsql.compiler.node import children, map_children
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.compiler.bound.source_spans import SourceSpans
    from fsql.compiler.node import Node


@dataclass(frozen=True, eq=False)
class AggregateValue(Expression):
    """The value of the aggregate at `index` among those of the SELECT."""

    index: int


@dataclass(frozen=True, eq=False)
class RunningValue(Expression):
    """The value of the running aggregate at `index` among those of the SELECT."""

    index: int


@dataclass(frozen=True, eq=False)
class GroupingValue(Expression):
    """One bit for each argument, the last one lowest: 1 if the row's grouping set lacks that key."""

    arguments: tuple[Expression, ...]


@dataclass(frozen=True, eq=False)
class SubqueryValue(Expression):
    """A column of the subquery at `index` among those of the clause; NULL if the subquery has no row."""

    index: int
    column: int


@dataclass(frozen=True, eq=False)
class OuterValue(Expression):
    """The value of the outer query's column at `index`, next to aggregates of a LATERAL subquery."""

    index: int


@dataclass(frozen=True, eq=False)
class NavigationValue(Expression):
    """The value of the navigation at `index` among those of a clause of MATCH_RECOGNIZE."""

    index: int


@dataclass(frozen=True, eq=False)
class ParameterValue(ColumnRef):
    """The value of a parameter of a lambda; `index` is its position among those of all enclosing lambdas."""


def replace_pending(
    expression: Expression,
    replacement: Callable[[Expression], Expression | None],
    source_spans: SourceSpans,
) -> Expression:
    """Return `expression` with each largest part that has a replacement replaced.

    The new parts get the spans of the original parts.
    """
    results: dict[Node, Node] = {}
    waiting: list[tuple[Node, bool]] = [(expression, False)]
    while waiting:
        node, below_done = waiting.pop()
        if below_done:
            results[node] = map_children(node, results.__getitem__)
        elif node not in results:
            found = replacement(node) if isinstance(node, Expression) else None
            if found is not None:
                results[node] = found
            else:
                waiting.append((node, True))
                waiting.extend((child, False) for child in reversed(children(node)))
    result = results[expression]
    source_spans.copy(expression, result)
    assert isinstance(result, Expression)
    return result
