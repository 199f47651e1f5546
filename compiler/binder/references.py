"""The relations that a condition refers to, found in the syntax before it is bound."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from fsql.compiler import syntax


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

        A name that is neither's may be a column of either, whose field is meant.
        """
        if self.qualifiers is None:
            return True
        named = self.qualifiers
        return not named <= left and not named <= right


def read_condition(expression: syntax.Expression) -> Condition:
    """Return the condition with the relations that it names."""
    qualifiers: set[str] = set()
    waiting: list[object] = [expression]
    while waiting:
        value = waiting.pop()
        if isinstance(value, syntax.ColumnReference):
            if len(value.parts) == 1:
                return Condition(expression, None)
            qualifiers.add(value.parts[0].name.lower())
        elif isinstance(value, tuple):
            waiting.extend(value)
        elif isinstance(value, syntax.Syntax):
            waiting.extend(getattr(value, field.name) for field in dataclasses.fields(value))
    return Condition(expression, frozenset(qualifiers))
