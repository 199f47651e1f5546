"""Calls of aggregate functions in Python: the aggregate of the accumulator, and the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler import syntax
from fsql.compiler.binder.report import not_implemented, refusal
from fsql.compiler.expression import AggregateCall, AggregateFunction, Expression, Literal
from fsql.compiler.functions.calls import call, combine_balanced, make_case
from fsql.compiler.functions.coercion import coerce, coercible

if TYPE_CHECKING:
    from fsql.compiler.binder.expressions.clause import ClauseBinder
    from fsql.compiler.functions.python_aggregates import PythonAggregate


def make_python_aggregate(
    binder: ClauseBinder,
    written: syntax.FunctionCall,
    function: PythonAggregate,
    *,
    append_only: bool,
) -> AggregateCall:
    """Return the accumulator of a group; `binder` binds the arguments.

    The argument is NULL for rows that the aggregate ignores: those that FILTER leaves out, and, if the
    function is strict, those with a NULL among their arguments.

    Raises:
        Refusal: E2xx to E4xx.
    """
    name = written.name.parts[-1].name.upper()
    for clause, present in {
        "DISTINCT": written.distinct,
        "ORDER BY": bool(written.order_by),
        "IGNORE NULLS": written.ignore_nulls,
        "RESPECT NULLS": written.respect_nulls,
    }.items():
        if present:
            raise not_implemented(
                f"{clause} of {name}, which is a function in Python", written.span
            )
    arguments = _arguments(binder, written, function, name)
    strict = function.loaded.strict
    argument = arguments[0] if strict and len(arguments) == 1 else call("row", *arguments)
    kept = [call("is_not_null", each) for each in arguments if each.nullable and strict]
    if written.filter is not None:
        kept.insert(0, binder.bind_condition_and_check_size(written.filter))
    if kept and (argument is not arguments[0] or written.filter is not None):
        condition = combine_balanced("and", kept)
        nothing = Literal(argument.type, nullable=True, value=None)
        argument = make_case([(condition, argument)], nothing)
    made = AggregateCall(
        AggregateFunction.PYTHON,
        argument,
        function.state,
        nullable=True,
        python=function.name,
        in_value_order=not append_only,
    )
    binder.source_spans.add(made, written.span)
    return made


def _arguments(
    binder: ClauseBinder, written: syntax.FunctionCall, function: PythonAggregate, name: str
) -> list[Expression]:
    """Return the arguments, of the types of the parameters.

    Raises:
        Refusal: E401, E404.
    """
    bound: list[Expression] = []
    for each in written.arguments:
        if isinstance(each, syntax.Star):
            raise refusal("E404", f"{name} does not take *", each.span)
        bound.append(binder.bind_and_check_size(each))
    parameters = function.types.parameters
    fits = len(bound) == len(parameters) and all(
        coercible(argument.type, type_) for argument, type_ in zip(bound, parameters, strict=True)
    )
    if not fits:
        given = ", ".join(str(argument.type) for argument in bound)
        raise refusal(
            "E401",
            f"function {name} does not take ({given})",
            written.span,
            note=f"it is {name}{function.types}",
        )
    return [coerce(argument, type_) for argument, type_ in zip(bound, parameters, strict=True)]


def python_result(function: PythonAggregate, accumulator: Expression) -> Expression:
    """Return the result that the function computes from an accumulator."""
    return call(function.result.name, accumulator)
