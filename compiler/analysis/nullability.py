"""Recomputes whether expressions may be NULL, after that of the columns below has changed."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from fsql.compiler.expression import (
    Call,
    Case,
    Cast,
    ColumnRef,
    Expression,
    InSet,
    LambdaCall,
    LambdaFunction,
)
from fsql.compiler.functions.signature import Nullability
from fsql.compiler.functions.table import FUNCTIONS
from fsql.compiler.node import Node, map_children, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def with_nullability(expression: Expression, nullable: Callable[[int], bool]) -> Expression:
    """Return `expression` over columns that may be NULL where `nullable(index)`."""
    became: dict[Node, Node] = {}
    for node in walk(expression):
        rebuilt = map_children(node, became.__getitem__)
        if isinstance(rebuilt, ColumnRef):
            rebuilt = dataclasses.replace(rebuilt, nullable=nullable(rebuilt.index))
        elif isinstance(rebuilt, Expression):
            rebuilt = dataclasses.replace(rebuilt, nullable=_nullable(rebuilt))
        became[node] = rebuilt
    result = became[expression]
    assert isinstance(result, Expression)
    return result


def _nullable(expression: Expression) -> bool:
    match expression:
        case Call(function=function, arguments=arguments):
            return call_nullable(FUNCTIONS[function].nullability, arguments)
        case Cast(argument=argument):
            return argument.nullable
        case InSet(argument=argument, values=values):
            return argument.nullable or None in values
        case Case(branches=branches, otherwise=otherwise):
            return otherwise.nullable or any(result.nullable for _, result in branches)
        case LambdaCall(function=function, arguments=arguments):
            of_array = function in {LambdaFunction.TRANSFORM, LambdaFunction.FILTER}
            return arguments[0].nullable or not of_array
        case _:
            return expression.nullable


def call_nullable(rule: Nullability, arguments: Sequence[Expression]) -> bool:
    """Return whether a call of these arguments can be NULL."""
    match rule:
        case Nullability.ANY_ARGUMENT:
            return any(argument.nullable for argument in arguments)
        case Nullability.ALL_ARGUMENTS:
            return all(argument.nullable for argument in arguments)
        case Nullability.ALWAYS:
            return True
        case Nullability.NEVER:
            return False
