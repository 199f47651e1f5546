"""Expressions over one row, a value at a time.

`evaluate` follows compiler/expression.py word for word: `and`, `or`, `coalesce` and CASE are lazy from
the left; everything else evaluates all of its arguments from the left, fails with the first that
fails, and is NULL if one is NULL.  The functions are the table in docs/internals/semantics.md.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from fsql.compiler.expression import (
    Call,
    Case,
    Cast,
    ColumnRef,
    Expression,
    FieldAccess,
    InSet,
    LambdaCall,
    Literal,
    TryCast,
)
from fsql.compiler.sqltypes import (
    Kind,
)
from fsql.tests.reference.decimals import (
    COMPARISONS,
    DECIMAL_FUNCTIONS,
    decimal_result,
    half_away_from_zero,
    rationals,
)
from fsql.tests.reference.failure import (
    DIVISION_BY_ZERO,
    OUT_OF_RANGE,
    FailureError,
)
from fsql.tests.reference.lines import json_text
from fsql.tests.reference.octets import OCTET_FUNCTIONS, call_of_octets
from fsql.tests.reference.order import order_key
from fsql.tests.reference.python_functions import PREFIX, call_in_python
from fsql.tests.reference.scalar_casts import (
    DAY,
    cast,
    in_range,
    try_cast,
)
from fsql.tests.reference.scalar_json import JSON_FUNCTIONS, text_of_documents, with_clauses
from fsql.tests.reference.scalar_maps import MAP_FUNCTIONS, at_key
from fsql.tests.reference.scalar_more import MORE_FUNCTIONS, MORE_OF_NULL
from fsql.tests.reference.scalar_numbers import NUMBER_FUNCTIONS, to_places
from fsql.tests.reference.scalar_texts import TEXT_FUNCTIONS
from fsql.tests.reference.scalar_times import TIME_FUNCTIONS, months_later

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.compiler.expression import Value


def evaluate(  # noqa: C901, PLR0911 - one a form
    expression: Expression, row: Sequence[Value]
) -> Value:
    """Return the value of `expression` over `row`.

    Raises:
        FailureError: the row has no value for it.
    """
    match expression:
        case ColumnRef():
            return row[expression.index]
        case Literal():
            return expression.value
        case Cast():
            value = evaluate(expression.argument, row)
            return None if value is None else cast(value, expression.argument.type, expression.type)
        case TryCast():
            value = evaluate(expression.argument, row)
            return try_cast(value, expression.argument.type, expression.type)
        case Case():
            for condition, result in expression.branches:
                if evaluate(condition, row) is True:
                    return evaluate(result, row)
            return evaluate(expression.otherwise, row)
        case Call():
            return call(expression, row)
        case FieldAccess():
            whole: Any = evaluate(expression.argument, row)
            return None if whole is None else whole[expression.index]
        case InSet():
            return in_set(evaluate(expression.argument, row), expression)
        case LambdaCall():
            return of_elements(expression, row)
        case _:
            raise AssertionError(expression)


def call(  # noqa: C901, PLR0911 - one a kind
    expression: Call, row: Sequence[Value]
) -> Value:
    """Return the value of a function call: the lazy functions first, the others by the table."""
    function, arguments = expression.function, expression.arguments
    if function in {"and", "or"}:
        return junction(arguments[0], arguments[1], row, decides=function == "or")
    if function == "coalesce":
        found = (evaluate(argument, row) for argument in arguments)
        return next((value for value in found if value is not None), None)
    values: list[Any] = [evaluate(argument, row) for argument in arguments]
    if function == "element_at" and arguments[0].type.kind is Kind.MAP:
        function = "element_at of a map"
    if function.startswith("json_") and "_or" in function:
        return with_clauses(function, values, expression.type)
    result: Value = None
    if function in NULL_FUNCTIONS:
        result = NULL_FUNCTIONS[function](*values)
    elif None not in values:
        if function.startswith(PREFIX):
            return call_in_python(expression, values)
        if expression.type.kind is Kind.DECIMAL and function in DECIMAL_FUNCTIONS:
            return decimal_result(expression, values)
        if function in COMPARISONS and {each.type.kind for each in arguments} == {Kind.DECIMAL}:
            return COMPARISONS[function](*rationals(expression, values))
        if function == "json_of_documents":
            return text_of_documents(values[0], arguments[0].type)
        if function == "json_string":
            return json_text(values[0], arguments[0].type)
        octets = [argument.type.kind is Kind.BYTES for argument in arguments]
        if octets[:1] == [True] and function in OCTET_FUNCTIONS:
            return call_of_octets(function, values, octets)
        moved = expression.type.kind in {Kind.DATE, Kind.TIMESTAMP}
        if moved and function in {"add", "subtract"} and arguments[1].type.kind is Kind.MONTHS:
            return months_later(expression.type.kind, values[0], FUNCTIONS[function](0, values[1]))
        result = FUNCTIONS[function](*values)
        if expression.type.kind is Kind.TIME and function in {"add", "subtract"}:
            return FUNCTIONS[function](*values) % DAY
        if expression.type.kind is Kind.DATE and function in {"add", "subtract"}:
            # The date of the moment that the interval leads to.
            day, interval = values
            result = FUNCTIONS[function](day * DAY, interval) // DAY
    return in_range(result, expression.type)


def in_set(value: Value, test: InSet) -> bool | None:
    """Return whether a value is one of several, each of which may be NULL."""
    if value is None:
        return None
    for other in test.values:
        if other is not None and order_key(other) == order_key(value):
            return not test.negated
    return None if None in test.values else test.negated


def of_elements(expression: LambdaCall, row: Sequence[Value]) -> Value:
    """Return the value of a function that takes a lambda, an element at a time."""
    given: list[Any] = [evaluate(each, row) for each in expression.arguments]
    captured = tuple(evaluate(each, row) for each in expression.captured)
    body, name = expression.body.expression, expression.function.name
    if given[0] is None:
        return None
    if name == "REDUCE":
        reached = given[1]
        for element in given[0]:
            reached = evaluate(body, (reached, element, *captured))
        return reached
    pairs = [(element, evaluate(body, (element, *captured))) for element in given[0]]
    if name == "TRANSFORM":
        return tuple(value for _, value in pairs)
    if name == "FILTER":
        return tuple(element for element, value in pairs if value)
    found = {value for _, value in pairs}
    return next((value for value in (True, None) if value in found), False)


def junction(
    left: Expression, right: Expression, row: Sequence[Value], *, decides: bool
) -> bool | None:
    """Return the AND or OR of two operands; the value that decides leaves the right one alone."""
    first = evaluate(left, row)
    if first is decides:
        return decides
    second = evaluate(right, row)
    if second is decides:
        return decides
    return None if first is None or second is None else not decides


def divide(left: Any, right: Any) -> Any:
    """Divide as IEEE does, or integers truncating towards zero."""
    if isinstance(left, float):
        if right != 0.0:
            return left / right
        if left == 0.0 or math.isnan(left) or math.isnan(right):
            return math.nan
        return math.copysign(math.inf, math.copysign(1.0, left) * math.copysign(1.0, right))
    if right == 0:
        raise FailureError(DIVISION_BY_ZERO)
    return math.trunc(Fraction(left, right))


def modulo(left: Any, right: Any) -> Any:
    """Return what division leaves, exactly; it has the sign of the dividend."""
    if isinstance(left, float):
        if not math.isfinite(left) or math.isnan(right) or right == 0.0:
            return math.nan
        if math.isinf(right):
            return left
        remainder = abs(Fraction(left)) % abs(Fraction(right))
        return math.copysign(float(remainder), left)
    quotient: int = divide(left, right)
    return left - right * quotient


def integral(value: float, rounding: Callable[[Fraction], int]) -> float:
    """Round a DOUBLE to an integral DOUBLE, keeping the sign of a zero."""
    if not math.isfinite(value):
        return value
    return math.copysign(float(rounding(Fraction(value))), value)


def power(base: float, exponent: float) -> float:
    """Raise to a power as IEEE pow does, which never fails."""
    try:
        return math.pow(base, exponent)
    except OverflowError:
        odd = exponent == math.trunc(exponent) and math.fmod(exponent, 2.0) != 0.0
        return -math.inf if base < 0 and odd else math.inf
    except ValueError:
        if base != 0.0:
            return math.nan
        odd = exponent == math.trunc(exponent) and math.fmod(exponent, 2.0) != 0.0
        return math.copysign(math.inf, base) if odd else math.inf


def rounded(value: int) -> float:
    """Return the nearest DOUBLE."""
    return float(Fraction(value))


def divided(value: float, by: float) -> float:
    """Return a quotient of an interval, which a divisor of zero has not."""
    if by == 0:
        raise FailureError(DIVISION_BY_ZERO)
    return value / by


def to_microseconds(value: float) -> int:
    """Return the nearest integer, of two the even one."""
    if not math.isfinite(value):
        raise FailureError(OUT_OF_RANGE)
    return round(Fraction(value))


def substring(value: str, start: int, length: int | None = None) -> str:
    """Return the characters at positions `start` to `start + length - 1`, counted from 1."""
    return "".join(
        character
        for position, character in enumerate(value, 1)
        if position >= start and (length is None or position < start + length)
    )


def element_at(array: tuple[Value, ...], position: int) -> Value:
    """Return the element at `position` from 1, NULL where there is none."""
    return array[position - 1] if 1 <= position <= len(array) else None


def _time_before(time: int, later: int, behind: int) -> int:
    """Return the time, of which the binder knows that it is at most `behind` before `later`."""
    assert later - behind <= time <= later
    return time


NULL_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "is_null": lambda a: a is None,
    "is_not_null": lambda a: a is not None,
    "array": lambda *a: a,
    "row": lambda *a: a,
    "time_before": _time_before,
    **MORE_OF_NULL,
}
"""The functions that see NULLs."""

FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": divide,
    "multiply_interval": lambda a, b: to_microseconds(rounded(a) * b),
    "divide_interval": lambda a, b: to_microseconds(divided(rounded(a), b)),
    "modulo": modulo,
    "negate": lambda a: -a,
    "abs": abs,
    "eq": lambda a, b: order_key(a) == order_key(b),
    "ne": lambda a, b: order_key(a) != order_key(b),
    "lt": lambda a, b: order_key(a) < order_key(b),
    "le": lambda a, b: order_key(a) <= order_key(b),
    "gt": lambda a, b: order_key(a) > order_key(b),
    "ge": lambda a, b: order_key(a) >= order_key(b),
    "not": lambda a: not a,
    "lower": str.lower,
    "upper": str.upper,
    "char_length": len,
    "substring": substring,
    "concat": lambda a, b: a + b,
    "replace": lambda a, b, c: a.replace(b, c) if b else a,
    "starts_with": str.startswith,
    "split": lambda a, b: tuple(a.split(b)),
    "join_texts": lambda a, b, *c: b.join(
        c[0] if text is None else text for text in a if c or text is not None
    ),
    "cardinality": len,
    "element_at": element_at,
    "element_at of a map": at_key,
    "floor": lambda a: integral(a, math.floor),
    "ceil": lambda a: integral(a, math.ceil),
    "round": lambda a, *n: (
        to_places(a, half_away_from_zero, *n) if n else integral(a, half_away_from_zero)
    ),
    "sqrt": lambda a: math.nan if a < 0.0 else math.sqrt(a),
    "power": power,
    "greatest": lambda *a: max(a, key=order_key),
    "least": lambda *a: min(a, key=order_key),
    **TEXT_FUNCTIONS,
    **MAP_FUNCTIONS,
    **NUMBER_FUNCTIONS,
    **TIME_FUNCTIONS,
    **MORE_FUNCTIONS,
    **JSON_FUNCTIONS,
}
"""The functions over values that are not NULL; results out of range fail afterwards."""
