"""The arguments of PRINTF: one for each directive of its pattern, of a type that fits, converted to text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.binder.report import refusal
from fsql.compiler.expression import Expression, Literal
from fsql.compiler.functions.calls import make_cast
from fsql.compiler.functions.casts import castable
from fsql.compiler.functions.printf import Directive, format_pieces
from fsql.compiler.sqltypes import INTEGER_RANGES, STRING, Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler import syntax
    from fsql.compiler.sqltypes import SqlType


def printf_arguments(
    arguments: Sequence[Expression], written: syntax.FunctionCall
) -> list[Expression]:
    """Return the arguments of PRINTF, those after the pattern as texts.

    A pattern that is not constant, or wrong, is left to the check of the function.

    Raises:
        Refusal: E401 if the arguments do not fit the pattern.
    """
    pattern = arguments[0] if arguments else None
    pieces = None
    if isinstance(pattern, Literal) and isinstance(pattern.value, str):
        pieces = format_pieces(pattern.value)
    if pieces is None:
        return [
            make_cast(each, STRING) if castable(each.type, STRING) else each for each in arguments
        ]
    directives = [piece for piece in pieces if isinstance(piece, Directive)]
    values = arguments[1:]
    if len(directives) != len(values):
        raise refusal(
            "E401",
            f"PRINTF takes a value for each of {len(directives)} directives, not {len(values)}",
            written.span,
        )
    for directive, value, argument in zip(directives, values, written.arguments[1:], strict=True):
        if not _fits(directive, value.type):
            raise refusal(
                "E401",
                f"%{directive.kind} of PRINTF does not take {value.type}",
                argument.span,
                f"this is {value.type}",
                help="%s takes any type that can be cast to STRING, %d integers, %f numbers",
            )
    return [arguments[0], *(make_cast(value, STRING) for value in values)]


def _fits(directive: Directive, given: SqlType) -> bool:
    if given.kind is Kind.NULL:
        return True
    if directive.kind == "d":
        return given.kind in INTEGER_RANGES
    return given.numeric if directive.kind == "f" else castable(given, STRING)
