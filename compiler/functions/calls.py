"""Calls of functions by their names: signatures chosen, arguments coerced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.analysis.nullability import call_nullable
from fsql.compiler.expression import Call, Case, Cast, Expression, Literal
from fsql.compiler.functions.casts import cast_fallible, cast_value
from fsql.compiler.functions.coercion import coerce, exact_literals
from fsql.compiler.functions.signature import match_signature
from fsql.compiler.functions.table import FUNCTIONS
from fsql.compiler.sqltypes import MONTHS, TIMESTAMP, SqlType, instants

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


_OF_UNITS: Final = frozenset({"timestamp_add", "timestamp_diff"})
_ROUNDED: Final = frozenset({"date_trunc", "date_ceil"})
_ELAPSED: Final = ("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR")
"""Units of a fixed duration."""
_DAYS: Final = ("DAY", "WEEK")
"""Units that are 24 hours, or 7 times that, when they are added, and begin at a local midnight."""


def make_call(name: str, *arguments: Expression) -> Expression | None:
    """Return the call of a built-in function, with coerced arguments; None if no signature fits."""
    if any(argument.type.zone for argument in arguments):
        return zoned_call(name, arguments, _make_call)
    return _make_call(name, *arguments)


def _make_call(name: str, *arguments: Expression) -> Expression | None:
    function = FUNCTIONS[name]
    arguments = tuple(exact_literals(arguments))
    match = match_signature(function, [argument.type for argument in arguments])
    if match is None:
        return None
    coerced = tuple(
        coerce(argument, target)
        for argument, target in zip(arguments, match.parameters, strict=True)
    )
    return Call(match.result, call_nullable(function.nullability, coerced), name, coerced)


def call(name: str, *arguments: Expression) -> Expression:
    """Return the call of a function; the caller has checked that the arguments fit."""
    made = make_call(name, *arguments)
    assert made is not None, f"{name} does not take its arguments"
    return made


def combine_balanced(name: str, operands: Sequence[Expression]) -> Expression:
    """Return the operands connected by the associative function `name`, as a balanced tree."""
    level = list(operands)
    while len(level) > 1:
        pairs = [call(name, *level[i : i + 2]) for i in range(0, len(level) - 1, 2)]
        level = pairs + level[len(pairs) * 2 :]
    return level[0]


def zoned_call(
    name: str, arguments: Sequence[Expression], call: Callable[..., Expression | None]
) -> Expression | None:
    """Return the call of a function with a TIMESTAMP_LTZ among its arguments; None if no signature fits.

    `call` constructs the call for arguments of any types, by the table of functions.
    """
    zoned = instants(next(each.type.zone for each in arguments if each.type.zone))
    if name in _ROUNDED and _unit(arguments) in _ELAPSED:
        unit, at = arguments
        local = coerce(at, TIMESTAMP)
        moved = call("subtract", local, call(name, unit, local))
        return call("subtract", at, moved)
    calendar = any(each.type == MONTHS for each in arguments)
    if calendar or (name in _OF_UNITS and _unit(arguments) not in _ELAPSED + _DAYS):
        arguments = [coerce(each, TIMESTAMP) if each.type.zone else each for each in arguments]
    made = call(name, *arguments)
    if made is not None and made.type == TIMESTAMP:
        return made if made.type == zoned else Cast(zoned, made.nullable, made)
    return made


def _unit(arguments: Sequence[Expression]) -> str:
    first = arguments[0] if arguments else None
    text = first.value if isinstance(first, Literal) else None
    return text.upper().removesuffix("S") if isinstance(text, str) else ""


def make_case(branches: Sequence[tuple[Expression, Expression]], otherwise: Expression) -> Case:
    """Return the CASE of branches whose results have one type."""
    nullable = otherwise.nullable or any(result.nullable for _, result in branches)
    return Case(otherwise.type, nullable, tuple(branches), otherwise)


def make_cast(operand: Expression, target: SqlType) -> Expression:
    """Return the cast; for a literal, if it cannot fail, the converted literal."""
    if operand.type == target:
        return operand
    if isinstance(operand, Literal) and not cast_fallible(operand.type, target):
        return Literal(target, operand.nullable, cast_value(operand.value, operand.type, target))
    return Cast(target, operand.nullable, operand)
