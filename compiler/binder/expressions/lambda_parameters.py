"""The parameters of lambdas: the placeholders that their names stand for, and where they are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler import syntax
    from fsql.compiler.expression import Expression
    from fsql.compiler.sqltypes import SqlType
    from fsql.compiler.text.source import Span


class Parameters(NamedTuple):
    """The parameters of the lambdas around an expression by name, and the number of their placeholders.

    `kinds` has the types of the accumulators in the outermost of these lambdas, as far as they are known. Its
    body may be bound twice, together with the lambdas inside, which would otherwise be bound 4, 8, 16 times.
    """

    values: Mapping[str, Expression]
    placeholders: int
    kinds: dict[Span, SqlType]

    def get(self, name: syntax.Identifier) -> Expression | None:
        """Return the placeholder of a parameter; None if there is no parameter of that name."""
        return self.values.get(name.name if name.quoted else name.name.lower())


NO_PARAMETERS: Final = Parameters({}, 0, {})
