"""Expressions over one row, a value at a time.

`evaluate` follows compiler/expression.py word for word: `and`, `or`, `coalesce` and CASE are lazy from
the left; everything else evaluates all of its arguments from the left, fails with the first that
fails, and is NULL if one is NULL.  The functions are the table in docs/internals/semantics.md.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

from fsql.compiler.expression import (
    Call,
    Case,
    Cast,
    ColumnRef,
    Expression,
    FieldAccess,
    Literal,
    TryCast,
)
from fsql.compiler.sqltypes import (
    BIGINT_MAX,
    BIGINT_MIN,
    DATE_MAX,
    DATE_MIN,
    INT_MAX,
    INT_MIN,
    TIMESTAMP_MAX,
    TIMESTAMP_MIN,
    Kind,
    SqlType,
)
from fsql.tests.reference.decimals import (
    DECIMAL_FUNCTIONS,
    cast_of_decimal,
    decimal_result,
    half_away_from_zero,
)
from fsql.tests.reference.failure import (
    DIVISION_BY_ZERO,
    NOT_CASTABLE,
    OUT_OF_RANGE,
    TIMESTAMP_OUT_OF_RANGE,
    FailureError,
)
from fsql.tests.reference.lines import text
from fsql.tests.reference.order import order_key
from fsql.tests.reference.scalar_more import MORE_FUNCTIONS, MORE_OF_NULL
from fsql.tests.reference.scalar_numbers import NUMBER_FUNCTIONS, to_places
from fsql.tests.reference.scalar_texts import TEXT_FUNCTIONS
from fsql.tests.reference.scalar_times import TIME_FUNCTIONS, time_of_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fsql.compiler.expression import Value

RANGES: Final = {
    Kind.INT: (INT_MIN, INT_MAX, OUT_OF_RANGE),
    Kind.BIGINT: (BIGINT_MIN, BIGINT_MAX, OUT_OF_RANGE),
    Kind.INTERVAL: (BIGINT_MIN, BIGINT_MAX, OUT_OF_RANGE),
    Kind.DATE: (DATE_MIN, DATE_MAX, TIMESTAMP_OUT_OF_RANGE),
    Kind.TIMESTAMP: (TIMESTAMP_MIN, TIMESTAMP_MAX, TIMESTAMP_OUT_OF_RANGE),
}
DAY: Final = 86_400_000_000
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def evaluate(expression: Expression, row: Sequence[Value]) -> Value:  # noqa: PLR0911 - one a form
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
        case _:
            raise AssertionError(expression)


def call(expression: Call, row: Sequence[Value]) -> Value:
    """Return the value of a function call: the lazy functions first, the others by the table."""
    function, arguments = expression.function, expression.arguments
    if function in {"and", "or"}:
        return junction(arguments[0], arguments[1], row, decides=function == "or")
    if function == "coalesce":
        found = (evaluate(argument, row) for argument in arguments)
        return next((value for value in found if value is not None), None)
    values: list[Any] = [evaluate(argument, row) for argument in arguments]
    result: Value = None
    if function in NULL_FUNCTIONS:
        result = NULL_FUNCTIONS[function](*values)
    elif None not in values:
        if expression.type.kind is Kind.DECIMAL and function in DECIMAL_FUNCTIONS:
            return decimal_result(expression, values)
        result = FUNCTIONS[function](*values)
        if expression.type.kind is Kind.DATE and function in {"add", "subtract"}:
            # The date of the moment that the interval leads to.
            day, interval = values
            result = FUNCTIONS[function](day * DAY, interval) // DAY
    return in_range(result, expression.type)


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


def in_range(value: Value, type_: SqlType) -> Value:
    """Return `value` if its type has it.

    Raises:
        FailureError: it is out of range.
    """
    if type_.kind in RANGES and value is not None:
        least, greatest, code = RANGES[type_.kind]
        assert isinstance(value, int)
        if not least <= value <= greatest:
            raise FailureError(code)
    return value


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


def modulo(left: int, right: int) -> int:
    """Return what integer division leaves; it has the sign of the dividend."""
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


def substring(value: str, start: int, length: int | None = None) -> str:
    """Return the characters at positions `start` to `start + length - 1`, counted from 1."""
    return "".join(
        character
        for position, character in enumerate(value, 1)
        if position >= start and (length is None or position < start + length)
    )


def date_trunc(unit: str, at: int) -> int:
    """Return the beginning of a unit of time, by fields of the calendar."""
    moment = EPOCH + timedelta(microseconds=at)
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    beginnings = {
        "microsecond": moment,
        "millisecond": moment.replace(microsecond=moment.microsecond // 1000 * 1000),
        "second": moment.replace(microsecond=0),
        "minute": moment.replace(second=0, microsecond=0),
        "hour": moment.replace(minute=0, second=0, microsecond=0),
        "day": day,
        "week": day - timedelta(days=day.isoweekday() - 1),
        "month": day.replace(day=1),
        "quarter": day.replace(day=1, month={0: 1, 1: 4, 2: 7, 3: 10}[(day.month - 1) // 3]),
        "year": day.replace(day=1, month=1),
    }
    return (beginnings[unit.lower()] - EPOCH) // timedelta(microseconds=1)


def element_at(array: tuple[Value, ...], position: int) -> Value:
    """Return the element at `position` from 1, NULL where there is none."""
    return array[position - 1] if 1 <= position <= len(array) else None


def timestamp_of_text(value: str) -> int:
    """Read a TIMESTAMP as JSON input has it.

    Raises:
        FailureError: it is not one.
    """
    found = re.fullmatch(
        r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?(Z|([+-])(\d\d):(\d\d))?",
        value,
        re.ASCII,
    )
    if found is None:
        raise FailureError(NOT_CASTABLE)
    year, month, day, hour, minute = (int(part) for part in found.groups()[:5])
    second = int(found[6] or 0)
    microsecond = int((found[7] or "").ljust(6, "0"))
    try:
        moment = datetime(year, month, day, hour, minute, second, microsecond, UTC) - EPOCH
    except ValueError:
        raise FailureError(NOT_CASTABLE) from None
    if found[9] is not None:
        if int(found[10]) > 23 or int(found[11]) > 59:
            raise FailureError(NOT_CASTABLE)
        zone = timedelta(hours=int(found[10]), minutes=int(found[11]))
        moment = moment - zone if found[9] == "+" else moment + zone
    result = moment // timedelta(microseconds=1)
    if not TIMESTAMP_MIN <= result <= TIMESTAMP_MAX:
        raise FailureError(NOT_CASTABLE)
    return result


NULL_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "is_null": lambda a: a is None,
    "is_not_null": lambda a: a is not None,
    "array": lambda *a: a,
    "row": lambda *a: a,
    **MORE_OF_NULL,
}
"""The functions that see NULLs."""

FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": divide,
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
    "join_texts": lambda a, b: b.join(text for text in a if text is not None),
    "cardinality": len,
    "element_at": element_at,
    "floor": lambda a: integral(a, math.floor),
    "ceil": lambda a: integral(a, math.ceil),
    "round": lambda a, *n: (
        to_places(a, half_away_from_zero, *n) if n else integral(a, half_away_from_zero)
    ),
    "sqrt": lambda a: math.nan if a < 0.0 else math.sqrt(a),
    "power": power,
    "greatest": lambda *a: max(a, key=order_key),
    "least": lambda *a: min(a, key=order_key),
    "to_timestamp": lambda a, *b: time_of_pattern(a, *b) if b else timestamp_of_text(a),
    "timestamp_millis": lambda a: a * 1000,
    "epoch_millis": lambda a: a // 1000,
    "date_trunc": date_trunc,
    **TEXT_FUNCTIONS,
    **NUMBER_FUNCTIONS,
    **TIME_FUNCTIONS,
    **MORE_FUNCTIONS,
}
"""The functions over values that are not NULL; results out of range fail afterwards."""


def cast(value: Value, given: SqlType, wanted: SqlType) -> Value:  # noqa: PLR0911 - one a kind
    """Return `CAST(value AS wanted)` of a value that is not NULL.

    Raises:
        FailureError: the type has no such value.
    """
    if isinstance(value, tuple):
        return tuple(
            None if item is None else cast(item, *types)
            for item, types in zip(value, cycle_of_types(given, wanted), strict=False)
        )
    if given == wanted:
        return value
    if wanted.kind is Kind.STRING:
        return text(value, given)
    if isinstance(value, int) and Kind.DATE in {given.kind, wanted.kind}:
        return value * DAY if given.kind is Kind.DATE else value // DAY
    if Kind.DECIMAL in {given.kind, wanted.kind}:
        return in_range(cast_of_decimal(value, given, wanted), wanted)
    if given.kind is wanted.kind:
        return value
    if isinstance(value, str):
        return in_range(cast_of_text(value.strip(" "), wanted.kind), wanted)
    assert isinstance(value, int | float)
    if wanted.kind is Kind.DOUBLE:
        return float(value)
    if not math.isfinite(value):
        raise FailureError(OUT_OF_RANGE)
    return in_range(math.trunc(value), wanted)


def try_cast(value: Value, given: SqlType, wanted: SqlType) -> Value:
    """Return `TRY_CAST(value AS wanted)`."""
    try:
        return None if value is None else cast(value, given, wanted)
    except FailureError:
        return None


def cycle_of_types(given: SqlType, wanted: SqlType) -> Iterator[tuple[SqlType, SqlType]]:
    """Yield the types of the parts of a value: of the fields in turn, or of the element again and again."""
    if given.element is not None and wanted.element is not None:
        return repeat((given.element, wanted.element))
    pairs = zip(given.fields, wanted.fields, strict=True)
    return ((before, after) for (_, before), (_, after) in pairs)


def cast_of_text(value: str, wanted: Kind) -> Value:
    """Return the value that a stripped string spells.

    Raises:
        FailureError: it spells none.
    """
    number = r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?"
    match wanted:
        case Kind.BOOLEAN if value.lower() in {"true", "false"}:
            return value.lower() == "true"
        case Kind.INT | Kind.BIGINT if re.fullmatch(r"[+-]?\d+", value, re.ASCII):
            return int(value)
        case Kind.DOUBLE if re.fullmatch(rf"{number}|NaN|-?Infinity", value, re.ASCII):
            return float(value)
        case Kind.TIMESTAMP:
            return timestamp_of_text(value)
        case Kind.DATE if len(value) == len("YYYY-MM-DD"):
            return timestamp_of_text(f"{value}T00:00") // DAY
        case _:
            raise FailureError(NOT_CASTABLE)
