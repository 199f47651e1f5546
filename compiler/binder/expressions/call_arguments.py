"""Checks of the arguments of calls: their types, and whether they are constants where they must be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler import syntax
from fsql.compiler.binder.report import Refusal, refusal
from fsql.compiler.expression import Call, Expression, Literal
from fsql.compiler.functions.calls import call
from fsql.compiler.functions.evaluate import constant_value
from fsql.compiler.sqltypes import STRING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.functions.signature import Function
    from fsql.compiler.text.source import Span


def argument_error(
    function: Function, name: str, arguments: list[Expression], span: Span
) -> Refusal:
    """Return the refusal of arguments that a function does not take."""
    from fsql.compiler.dialects.advice.functions import OTHER_ARGUMENTS

    given = ", ".join(str(argument.type) for argument in arguments)
    forms = "; ".join(f"{name}{signature}" for signature in function.signatures)
    return refusal(
        "E401",
        f"function {name} does not take ({given})",
        span,
        note=f"it is {forms}",
        help=OTHER_ARGUMENTS.get(name),
    )


def require_literal(
    function: Function, made: Expression, written: syntax.FunctionCall | syntax.Like
) -> Expression:
    """Return the call, with a literal as the argument if the function requires one.

    Raises:
        Refusal: E403 if it is not constant, E405 if the function does not accept it.
    """
    if function.literal_check is None:
        return made
    assert isinstance(made, Call)
    return call(function.name, *require_literals(function, made.arguments, written))


def require_literals(
    function: Function,
    arguments: Sequence[Expression],
    written: syntax.FunctionCall | syntax.Like,
) -> list[Expression]:
    """Return the arguments of a function, with a literal where it requires one.

    Raises:
        Refusal: E403 if it is not constant, E405 if the function does not accept it.
    """
    arguments = list(arguments)
    index = function.literal_index
    if function.literal_check is None or index >= len(arguments):
        return arguments
    span = (
        written.arguments[index] if isinstance(written, syntax.FunctionCall) else written.pattern
    ).span
    value = constant_value(arguments[index])
    if not isinstance(value, str):
        name = "LIKE" if isinstance(written, syntax.Like) else written.name.parts[-1].name.upper()
        first = None if index == 0 else constant_value(arguments[0])
        # A constant before a column is likely the pattern, which comes first elsewhere.
        if function.may_vary and (name == "LIKE" or not isinstance(first, str)):
            return arguments
        raise refusal(
            "E403",
            f"{function.literal_word} of {name} is not constant",
            span,
            help=f"the text comes first, then the {function.literal_word}"
            if isinstance(first, str)
            else None,
        )
    if wrong := function.literal_check(value):
        raise refusal("E405", wrong, span)
    arguments[index] = Literal(STRING, nullable=False, value=value)
    return arguments
