"""The meaning of bound expressions, over one row.

`evaluate` follows `fsql.compiler.expression` exactly: what is evaluated lazily, what fails, and what
NULL does.  It is the reference that column kernels are tested against, what the item-by-item model
runs, and how a failing row gets its message.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from fsql.compiler.expression import (
    Call,
    Case,
    Cast,
    ColumnRef,
    Expression,
    FieldAccess,
    InSet,
    LambdaCall,
    LambdaFunction,
    Literal,
    TryCast,
)
from fsql.compiler.functions.casts import cast_fallible, cast_value, try_cast_value
from fsql.compiler.functions.comparison import LAZY
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.functions.table import FUNCTIONS, match_call
from fsql.compiler.functions.value_ranges import Ranges, add_range, cannot_fail
from fsql.compiler.node import walk
from fsql.compiler.sqltypes import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.compiler.expression import Value


def evaluate(expression: Expression, row: Sequence[Value]) -> Value:  # noqa: PLR0911 - one a form
    """Return the value of `expression` over `row`, the values of the input's columns.

    Chains of AND and of OR may have any length; apart from them the depth of the expression is bounded
    by the interpreter's stack.

    Raises:
        RowFailure: E501 to E504, if the expression fails on this row.
    """
    match expression:
        case ColumnRef(index=index):
            return row[index]
        case Literal(value=value):
            return value
        case Call():
            return _call(expression, row)
        case Cast(argument=argument, type=target):
            return cast_value(evaluate(argument, row), argument.type, target)
        case TryCast(argument=argument, type=target):
            return try_cast_value(evaluate(argument, row), argument.type, target)
        case Case():
            return _case(expression, row)
        case FieldAccess(argument=argument, index=index):
            return _field(evaluate(argument, row), index)
        case InSet():
            return _in_set(expression, evaluate(expression.argument, row))
        case LambdaCall():
            return _lambda(expression, row)
        case _:
            raise AssertionError(expression)


def _field(row: Value, index: int) -> Value:
    assert row is None or isinstance(row, tuple)
    return None if row is None else row[index]


def _in_set(test: InSet, value: Value) -> Value:
    if value is None:
        return None
    if _member(value) in _members(test):
        return not test.negated
    return None if None in _members(test) else test.negated


@lru_cache(maxsize=4096)
def _members(test: InSet) -> frozenset[object]:
    return frozenset(map(_member, test.values))


def _member(value: Value) -> object:
    """Return a value that is equal to others as `value` is in the order of values, where NaN equals NaN."""
    return value if value == value else Kind.DOUBLE  # noqa: PLR0124 - only NaN differs from itself


def _lambda(call: LambdaCall, row: Sequence[Value]) -> Value:
    array, *others = [evaluate(argument, row) for argument in call.arguments]
    captured = [evaluate(part, row) for part in call.captured]
    if array is None:
        return None
    assert isinstance(array, tuple)
    body = call.body.expression
    if call.function is LambdaFunction.REDUCE:
        (result,) = others
        for element in array:
            result = evaluate(body, (result, element, *captured))
        return result
    values = [evaluate(body, (element, *captured)) for element in array]
    match call.function:
        case LambdaFunction.TRANSFORM:
            return tuple(values)
        case LambdaFunction.FILTER:
            return tuple(each for each, value in zip(array, values, strict=True) if value is True)
        case _:
            return True if True in values else None if None in values else False


def _call(call: Call, row: Sequence[Value]) -> Value:
    if call.function in LAZY:
        lazy = _coalesce if call.function == "coalesce" else _connective
        return lazy(call, row)
    values: list[Value] = []
    # A loop, where a comprehension would take one more frame of the stack for each level.
    for argument in call.arguments:
        values.append(evaluate(argument, row))  # noqa: PERF401
    if FUNCTIONS[call.function].strict and any(value is None for value in values):
        return None
    return _scalar(call)(*values)


@lru_cache(maxsize=4096)
def _scalar(call: Call) -> Callable[..., Value]:
    return match_call(call).signature.scalar


def _case(case: Case, row: Sequence[Value]) -> Value:
    for condition, result in case.branches:
        if evaluate(condition, row) is True:
            return evaluate(result, row)
    return evaluate(case.otherwise, row)


def _coalesce(call: Call, row: Sequence[Value]) -> Value:
    for argument in call.arguments:
        value = evaluate(argument, row)
        if value is not None:
            return value
    return None


def _connective(call: Call, row: Sequence[Value]) -> Value:
    """Return the value of a chain of AND or of OR, whatever its shape, without recursing into it.

    Both are associative also in what they evaluate and where they fail, so a chain is the list of its
    operands, left to right, and ends at the first that decides it.
    """
    decisive = call.function == "or"
    known = True
    waiting: list[Expression] = [call]
    while waiting:
        operand = waiting.pop()
        if isinstance(operand, Call) and operand.function == call.function:
            waiting.extend(reversed(operand.arguments))
            continue
        value = evaluate(operand, row)
        if value is decisive:
            return decisive
        known = known and value is not None
    return (not decisive) if known else None


def fallible(expression: Expression) -> bool:
    """Return whether `expression` may fail on some row; False is a proof, True is not.

    An expression that cannot fail may be evaluated earlier, later, or on more rows than written.
    """
    return _first_fallible(expression) is not None


def fallible_by_itself(node: object) -> bool:
    """Return whether a node may fail apart from its operands; False is a proof."""
    if not _declared_fallible(node):
        return False
    assert isinstance(node, Expression)
    ranges = _ranges_below(node)
    return not _holds(node, ranges)


def _first_fallible(expression: Expression) -> Expression | None:
    """Return the first part, operands first, that may fail; None if no part can."""
    suspects = {part for part in walk(expression) if _declared_fallible(part)}
    if not suspects:
        return None
    ranges: Ranges = {}
    for part in walk(expression):
        if isinstance(part, Expression):
            if part in suspects and not _holds(part, ranges):
                return part
            add_range(part, ranges)
    return None


def _ranges_below(node: Expression) -> Ranges:
    ranges: Ranges = {}
    for part in walk(node):
        if isinstance(part, Expression) and part is not node:
            add_range(part, ranges)
    return ranges


def _declared_fallible(node: object) -> bool:
    """Return whether a node may fail as its function or cast is declared, for some operands."""
    match node:
        case Call(function=name) if name in LAZY:
            return False
        case Call():
            return match_call(node).signature.fallible
        case Cast(argument=argument, type=target):
            return cast_fallible(argument.type, target)
        case LambdaCall(body=body):
            return fallible(body.expression)
        case _:
            return False


def _holds(node: Expression, ranges: Ranges) -> bool:
    """Return whether the operands of a node prove that it does not fail: as constants, or by their ranges."""
    match node:
        case Call(arguments=arguments):
            operands = arguments
        case Cast(argument=argument):
            operands = (argument,)
        case _:
            return False
    if cannot_fail(node, ranges):
        return True
    if not all(isinstance(operand, Literal) for operand in operands):
        return False
    try:
        evaluate(node, ())
    except RowFailure:
        return False
    return True


_COMPUTED: Final = (Literal, Call, Cast, TryCast, Case, FieldAccess, InSet, LambdaCall)
"""The expressions that are computed from those in them; others stand for what a row or a group has."""


def constant(expression: Expression) -> bool:
    """Return whether `expression` is the same for all rows: it has no column, and no aggregate."""
    parts = (node for node in walk(expression) if isinstance(node, Expression))
    return all(isinstance(part, _COMPUTED) for part in parts)


def constant_value(expression: Expression) -> Value:
    """Return the value of an expression that is the same for all rows.

    None, if it is not, or if it fails: it then fails on the rows.
    """
    if not constant(expression):
        return None
    try:
        return evaluate(expression, ())
    except RowFailure:
        return None
