"""Constants are computed once, when the script is compiled, instead of on every row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.expression import (
    Call,
    Case,
    Cast,
    Expression,
    FieldAccess,
    InSet,
    Literal,
    TryCast,
)
from fsql.compiler.functions.evaluate import evaluate, fallible
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.functions.table import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator


def fold_constants(node: Expression) -> Expression | None:
    """`f(1, 2)` → its value, if it has one.  An expression that fails is kept, and fails rows."""
    operands = [*_operands(node)]
    if not operands or not all(isinstance(operand, Literal) for operand in operands):
        return None
    try:
        value = evaluate(node, ())
    except RowFailure:
        return None
    return Literal(node.type, value is None, value)


def fold_null_arguments(node: Call) -> Expression | None:
    """`f(x, NULL)` → `NULL`, if f is strict and x cannot fail."""
    nothing = any(isinstance(a, Literal) and a.value is None for a in node.arguments)
    if not nothing or not FUNCTIONS[node.function].strict:
        return None
    if any(fallible(argument) for argument in node.arguments):
        return None
    return Literal(node.type, nullable=True, value=None)


def _operands(node: Expression) -> Iterator[Expression]:
    match node:
        case Call(arguments=arguments):
            yield from arguments
        case Cast() | TryCast() | FieldAccess() | InSet():
            yield node.argument
        case Case(branches=branches, otherwise=otherwise):
            for branch in branches:
                yield from branch
            yield otherwise
        case _:
            pass
