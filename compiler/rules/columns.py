"""The columns that expressions refer to: which, how often, and how to substitute them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fsql.compiler.expression import ColumnRef, Expression, Literal
from fsql.compiler.node import Node, children, map_children, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


def columns_of(*expressions: Node | None) -> frozenset[int]:
    """Return the indexes of all columns that the expressions or aggregate calls refer to."""
    return frozenset(
        node.index
        for expression in expressions
        if expression is not None
        for node in walk(expression)
        if isinstance(node, ColumnRef)
    )


def uses(expressions: Iterable[Expression]) -> Counter[int]:
    """Return how often each column is referred to if the expressions are written out.

    Interned expressions are graphs: a part that occurs twice in the text is one node with two readers.
    """
    times: Counter[Node] = Counter(expressions)
    for node in _parents_first([*times]):
        for child in children(node):
            times[child] += times[node]
    found: Counter[int] = Counter()
    for node, count in times.items():
        if isinstance(node, ColumnRef):
            found[node.index] += count
    return found


def substitute(expression: Expression, take: Callable[[int], Expression]) -> Expression:
    """Return `expression` with each column replaced by `take(index)`, which has the same type."""
    references = [node for node in walk(expression) if isinstance(node, ColumnRef)]
    taken: dict[Node, Expression] = {each: take(each.index) for each in references}
    assert all(taken[each].type == each.type for each in references)
    return replace_parts(expression, taken)


def renumber_columns(expression: Expression, index_of: Callable[[int], int]) -> Expression:
    """Return `expression` over rows in which column `index` has become column `index_of(index)`."""
    references = [node for node in walk(expression) if isinstance(node, ColumnRef)]
    return replace_parts(
        expression,
        {each: ColumnRef(each.type, each.nullable, index_of(each.index)) for each in references},
    )


def replace_parts(expression: Expression, by: Mapping[Node, Expression]) -> Expression:
    """Return `expression` with the parts that are keys of `by` replaced by its values."""
    became: dict[Node, Node] = {**by}
    for node in walk(expression):
        if node not in became:
            became[node] = map_children(node, became.__getitem__)
    result = became[expression]
    assert isinstance(result, Expression)
    return result


def substitution_repeats_work(
    readers: Iterable[Expression], expressions: tuple[Expression, ...]
) -> bool:
    """Return whether substituting `expressions` into `readers` would compute one of them more than once.

    To refuse that prevents a chain of views from doubling the size of an expression at every step.
    """
    return any(
        count > 1 and not isinstance(expressions[index], ColumnRef | Literal)
        for index, count in uses(readers).items()
    )


def _parents_first(expressions: list[Node]) -> list[Node]:
    ordered: dict[Node, None] = {}
    for expression in expressions:
        for node in walk(expression):
            ordered.setdefault(node)
    return [*reversed(ordered)]
