"""The parameters of lambdas: the placeholders that their names stand for, and where they are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from fsql.compiler import syntax
from fsql.compiler.binder.references import parts_of
from fsql.compiler.binder.report import refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler.binder.expressions.expression import ExpressionBinder
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


def refuse_parameters(binder: ExpressionBinder, written: syntax.FunctionCall) -> None:
    """Refuse an aggregate of a parameter: aggregates are computed over rows.

    Raises:
        Refusal: E303.
    """
    if not binder.parameters.values:
        return
    for part in parts_of(written):
        if isinstance(part, syntax.ColumnReference) and binder.parameters.get(part.parts[0]):
            name = part.parts[0].name
            raise refusal(
                "E303",
                f'aggregate of "{name}", a parameter of a lambda',
                part.span,
                note="aggregates are computed over rows",
                help="of the elements of an array: REDUCE(array, 0, (total, x) -> total + x)",
            )
