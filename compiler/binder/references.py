"""The names to which an expression refers, found in the syntax before it is bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler import syntax
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition of WHERE, and the relations that it refers to.

    `qualifiers` are their names in lower case; None if a column has no qualifier, so that its relation is
    known only after binding.
    """

    expression: syntax.Expression
    qualifiers: frozenset[str] | None

    def connects(self, left: frozenset[str], right: frozenset[str]) -> bool:
        """Return whether the condition may be one between two relations with these qualifiers.

        A qualifier of neither may be the name of a column of either, whose field is accessed.
        """
        if self.qualifiers is None:
            return True
        named = self.qualifiers
        return not named <= left and not named <= right


def read_condition(expression: syntax.Expression) -> Condition:
    """Return the condition with the relations to which it refers."""
    qualifiers: set[str] = set()
    for part in parts_of(expression):
        if isinstance(part, syntax.ColumnReference):
            if len(part.parts) == 1:
                return Condition(expression, None)
            qualifiers.add(part.parts[0].name.lower())
    return Condition(expression, frozenset(qualifiers))


def and_parts(condition: syntax.Expression | None) -> tuple[syntax.Expression, ...]:
    """Return the conditions that a condition of WHERE connects by AND."""
    if condition is None:
        return ()
    if isinstance(condition, syntax.Logical) and condition.operator == "AND":
        return tuple(part for operand in condition.operands for part in and_parts(operand))
    return (condition,)


def has_subquery(expression: syntax.Syntax) -> bool:
    """Return whether the expression has a subquery."""
    return any(isinstance(part, syntax.Query) for part in parts_of(expression))


def outer_reference(
    part: syntax.Syntax, subquery: syntax.Query, qualifiers: frozenset[str]
) -> syntax.ColumnReference | None:
    """Return the first of the `outer_references`."""
    found = outer_references(part, subquery, qualifiers)
    return min(found, key=lambda each: each.span.start, default=None)


def outer_references(
    part: syntax.Syntax, subquery: syntax.Query, qualifiers: frozenset[str]
) -> list[syntax.ColumnReference]:
    """Return the columns in a part of a subquery that are those of the outer query, by their qualifiers.

    `qualifiers` are the names of the outer query's relations in lower case; those of the subquery hide them.
    """
    found = []
    for each in parts_of(subquery):
        if isinstance(each, syntax.TableAlias):
            qualifiers -= {each.name.name.lower()}
        elif isinstance(each, syntax.TableReference) and each.alias is None:
            qualifiers -= {each.name.parts[-1].name.lower()}
    for each in parts_of(part):
        if isinstance(each, syntax.ColumnReference) and len(each.parts) > 1:
            found += [each] if each.parts[0].name.lower() in qualifiers else []
    return found


def parts_of(expression: syntax.Syntax) -> Iterator[syntax.Syntax]:
    """Yield the expression and all of its parts, including those in subqueries."""
    waiting: list[object] = [expression]
    while waiting:
        value = waiting.pop()
        if isinstance(value, tuple):
            waiting.extend(value)
        elif isinstance(value, syntax.Syntax):
            yield value
            waiting.extend(syntax.parts(value))


def parts_without_subqueries(expression: syntax.Syntax) -> Iterator[syntax.Syntax]:
    """Yield the expression and its parts that are not in subqueries."""
    waiting: list[object] = [expression]
    while waiting:
        value = waiting.pop()
        if isinstance(value, tuple):
            waiting.extend(value)
        elif isinstance(value, syntax.Syntax) and not isinstance(value, syntax.Query):
            yield value
            waiting.extend(syntax.parts(value))


def has_running_call(items: Sequence[syntax.Syntax]) -> bool:
    """Return whether a function is called OVER a window in any of the items."""
    parts = (part for item in items for part in parts_without_subqueries(item))
    return any(isinstance(part, syntax.FunctionCall) and part.over is not None for part in parts)
