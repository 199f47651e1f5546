"""Implicit coercion: which types convert to which, in one table.

| from    | to, without a CAST                                       |
|---------|----------------------------------------------------------|
| integers | an integer type that has all values of the type, the nearest FLOAT or DOUBLE, |
|         | a DECIMAL of at least 3, 5, 10 or 19 (UBIGINT: 20) whole digits |
| DECIMAL | DOUBLE (the nearest), a DECIMAL of no fewer whole digits and no smaller scale |
| FLOAT   | DOUBLE                                                   |
| DATE    | TIMESTAMP, TIMESTAMP_LTZ (midnight)                      |
| TIMESTAMP | TIMESTAMP_LTZ                                          |
| TIME(n), TIMESTAMP(n) | the same with more digits, or without a number |
| NULL    | every type                                               |

A literal with a fraction is a DOUBLE.  In an operation with a DECIMAL it is the DECIMAL of its digits
(`exact_literals`): `price * 0.1` is exact, and so is `price * (0.06 + 0.01)`.  With a UBIGINT an integer
literal without a sign is a UBIGINT.

For text in quotes only (a literal, not a STRING column), also STRING to TIMESTAMP, DATE or TIME where one is
compared with it or expected: `at >= '2024-01-01T00:00:00Z'`, or
`at >= '2024-01-01'` for midnight.  The text is read when the query is compiled, so it cannot fail a row.
Likewise `ARRAY[1, 2]` is an ARRAY<BIGINT> where one is expected:
its elements are coerced, as are the fields of `ROW(1, 'a')`, and the keys and values of
`MAP['a', 1]`.  A ROW converts to a ROW with as many fields if each field converts and none has the name of a
field at another place.  ROWs of several values have a common type if their fields have the same names, or one
has none, as ROW(x, y).  An ARRAY of rows converts if the rows do, a MAP if its keys and values do.

Where several values get a common type, and no DECIMAL has the whole digits of some and the fractions of
others, it is the one of 38 digits with all fractions: DECIMAL(38, 6) of DECIMAL(38, 2) and DECIMAL(38, 6).
A value with more whole digits than that fails its row (`aligns`).  Comparisons need no common type, and are
exact.

Every implicit coercion becomes an explicit `Cast` in the plan, or a literal of the new type; none of
the others can fail, except at the ends of the range of times, where an offset leads out of it.  All other
conversions need a CAST in the query.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING, Final, TypeGuard

from fsql.compiler.expression import Call, Cast, Expression, Literal
from fsql.compiler.functions.casts import cast_value
from fsql.compiler.functions.decimals import (
    EXACT,
    as_decimal,
    common_decimal,
    decimal_of,
    union_type,
)
from fsql.compiler.functions.failure import (
    OutOfRangeFailure,
    RowFailure,
    TimestampRangeFailure,
)
from fsql.compiler.sqltypes import (
    CLOCK_TIMES,
    INTEGER_RANGES,
    NULL,
    NUMERIC,
    UBIGINT,
    Kind,
    SqlType,
    array_of,
    has_range_of,
    is_unnamed,
    moves_fields,
    row_of,
    same_names,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.compiler.expression import Value


OF_QUOTED: Final = frozenset({Kind.DATE, Kind.TIME, Kind.TIMESTAMP})
"""The kinds whose values can be written as a text in quotes."""
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def coercible(source: SqlType, target: SqlType) -> bool:  # noqa: PLR0911 - one a kind
    """Return whether every value of `source` converts to `target` without a CAST."""
    if source == target or source.kind is Kind.NULL:
        return True
    if source.has_fraction and source.without_fraction == target:
        return True
    if source.fields and len(source.fields) == len(target.fields):
        types = zip(source.field_types, target.field_types, strict=True)
        return not moves_fields(source, target) and all(coercible(*pair) for pair in types)
    if source.element is not None and target.element is not None:
        # An ARRAY of another element needs a CAST.
        rows = source.contains(Kind.ROW) and target.contains(Kind.ROW)
        same = source.kind is target.kind
        return same and rows and coercible(source.element, target.element)
    if source.kind is Kind.DATE:
        return target.kind is Kind.TIMESTAMP
    if source.kind in CLOCK_TIMES:
        of_zone = bool(target.zone) or not source.zone
        return source.kind is target.kind and of_zone and _keeps_digits(source, target)
    if target.kind is Kind.DECIMAL:
        given = as_decimal(source)
        return given is not None and union_type(given, target) == target
    return source.numeric and target.numeric and _number_coercible(source.kind, target.kind)


def aligns(source: SqlType, target: SqlType) -> bool:
    """Return whether values of `source` convert to `target`, the common type of several, without a CAST.

    In addition to what is coercible: a number converts to a DECIMAL with its fraction, and fails if it has
    more whole digits.
    """
    if coercible(source, target):
        return True
    if source.fields and len(source.fields) == len(target.fields):
        return all(map(aligns, source.field_types, target.field_types))
    if source.kind is target.kind and source.element is not None and target.element is not None:
        rows = source.contains(Kind.ROW) and target.contains(Kind.ROW)
        return rows and aligns(source.element, target.element)
    number = as_decimal(source)
    return number is not None and target.kind is Kind.DECIMAL and number.scale <= target.scale


def _number_coercible(source: Kind, target: Kind) -> bool:
    if target in INTEGER_RANGES:
        return source in INTEGER_RANGES and has_range_of(target, source)
    of_decimal = source is Kind.DECIMAL and target is Kind.FLOAT
    return not of_decimal and NUMERIC.index(source) <= NUMERIC.index(target)


def _keeps_digits(source: SqlType, target: SqlType) -> bool:
    """Return whether a type of times has as many digits of fraction as another one."""
    if target.fraction is None or source.fraction is None:
        return target.fraction is None
    return source.fraction <= target.fraction


def passes(source: SqlType, target: SqlType) -> bool:
    """Return whether a value of `source` is accepted where one of `target` is expected.

    In addition to what is coercible, an instant as its local time; where both meet, the local time becomes
    one.
    """
    local = source.kind is Kind.TIMESTAMP and bool(source.zone)
    return coercible(source, target) or (local and target.kind is Kind.TIMESTAMP)


def common_type(types: Sequence[SqlType]) -> SqlType | None:
    """Return the least type that all of `types` align with; None if no type is.

    >>> from fsql.compiler.sqltypes import BIGINT, DOUBLE, INT, NULL, STRING
    >>> str(common_type([INT, NULL, DOUBLE]))
    'DOUBLE'
    >>> common_type([INT, STRING]) is None
    True
    """
    common = NULL
    for each in types:
        wider = _wider(common, each)
        if wider is None:
            return None
        common = wider
    return common


def _wider(left: SqlType, right: SqlType) -> SqlType | None:
    """Return the least type that both coerce to; a ROW has the names of both, or of the one with names."""
    if left.fields and len(left.fields) == len(right.fields) and same_names(left, right):
        types = [_wider(*pair) for pair in zip(left.field_types, right.field_types, strict=True)]
        names = (name for name, _ in (right if is_unnamed(left) else left).fields)
        fields = [(n, t) for n, t in zip(names, types, strict=True) if t is not None]
        return row_of(fields) if len(fields) == len(types) else None
    if left.kind is right.kind and left.kind in CLOCK_TIMES:
        digits = None if None in {left.fraction, right.fraction} else _most_digits(left, right)
        return replace(left, zone=left.zone or right.zone, fraction=digits)
    if left.without_fraction == right.without_fraction and left != right:
        return left.without_fraction
    if left.contains(Kind.ROW):
        return _wider_structure(left, right)
    if coercible(left, right):
        return right
    return left if coercible(right, left) else _number_of_both(left, right)


def _wider_structure(left: SqlType, right: SqlType) -> SqlType | None:
    """Return the type of ARRAYs or MAPs of rows, or of a structure and NULL."""
    if right.kind is Kind.NULL or left == right:
        return left
    if left.kind is not right.kind or left.element is None or right.element is None:
        return None
    element = _wider(left.element, right.element)
    return element and replace(left, element=element)


def _number_of_both(left: SqlType, right: SqlType) -> SqlType | None:
    """Return the least signed integer type that has the values of both, otherwise their common DECIMAL."""
    if {left.kind, right.kind} <= INTEGER_RANGES.keys():
        for kind in _SIGNED:
            if has_range_of(kind, left.kind) and has_range_of(kind, right.kind):
                return SqlType(kind)
    given, other = as_decimal(left), as_decimal(right)
    return given and other and common_decimal(given, other)


_SIGNED: Final = tuple(kind for kind, (least, _) in INTEGER_RANGES.items() if least < 0)
"""The integer types with a sign, from the fewest bits to the most."""


def _most_digits(left: SqlType, right: SqlType) -> int:
    return max(left.fraction or 0, right.fraction or 0)


def exact_literals(expressions: Sequence[Expression]) -> Sequence[Expression]:
    """Return the expressions; where one is a DECIMAL, literals of DOUBLE become the DECIMAL they write.

    Where one is a UBIGINT, integer literals without a sign become UBIGINT: together with INT it is DECIMAL.
    """
    kinds = {expression.type.kind for expression in expressions}
    if Kind.UBIGINT in kinds:
        expressions = [_unsigned_literal(expression) for expression in expressions]
    if Kind.DECIMAL not in kinds:
        return expressions
    return [exact_literal(expression) for expression in expressions]


def _unsigned_literal(expression: Expression) -> Expression:
    """Return an integer literal that is not negative as a UBIGINT; any other expression as it is."""
    if isinstance(expression, Literal) and expression.type.kind in INTEGER_RANGES:
        value = expression.value
        if isinstance(value, int) and value >= 0:
            return Literal(UBIGINT, expression.nullable, value)
    return expression


_EXACT_OPERATIONS: Final[dict[str, Callable[..., Decimal]]] = {
    "add": EXACT.add,
    "subtract": EXACT.subtract,
    "multiply": EXACT.multiply,
    "negate": EXACT.minus,
}
"""Operations on DECIMAL that do not round."""


def exact_literal(expression: Expression) -> Expression:
    """Return a literal of DOUBLE as the DECIMAL that it writes, if there is one; else the expression.

    So is what is computed from literals alone, without division: `0.06 + 0.01` is 0.07.
    """
    if expression.type.kind is not Kind.DOUBLE:
        return expression
    value = _written_value(expression)
    exact = None if value is None else decimal_of(value)
    return expression if exact is None else Literal(exact[1], expression.nullable, exact[0])


def _written_value(expression: Expression) -> Decimal | None:
    """Return the exact value of literals of DOUBLE and what is computed from them; None if there is none."""
    if isinstance(expression, Literal):
        value = expression.value
        return Decimal(repr(value)) if isinstance(value, float) and isfinite(value) else None
    if not isinstance(expression, Call) or expression.function not in _EXACT_OPERATIONS:
        return None
    values = [_written_value(argument) for argument in expression.arguments]
    try:
        return None if None in values else _EXACT_OPERATIONS[expression.function](*values)
    except ArithmeticError:
        return None


def _readable(expression: Expression, target: SqlType) -> bool:
    """Return whether `expression` is quoted text that can be read as a time of the type."""
    if not isinstance(expression, Literal) or expression.type.kind is not Kind.STRING:
        return False
    text = expression.value if isinstance(expression.value, str) else ""
    if target.kind is Kind.DATE and _DAY.fullmatch(text.strip(" ")) is None:
        # A cast would take the day of a time, which a comparison of days does not mean.
        return False
    try:
        cast_value(as_written(expression.value, target), expression.type, target)
    except RowFailure:
        return False
    return True


def as_written(value: Value, target: SqlType) -> Value:
    """Return a text in quotes as a cast reads it: a day is its midnight for a TIMESTAMP."""
    is_day = isinstance(value, str) and _DAY.fullmatch(value) is not None
    return f"{value} 00:00:00" if is_day and target.kind is Kind.TIMESTAMP else value


def accepts(expression: Expression, target: SqlType) -> bool:
    """Return whether `coerce` takes `expression` to `target`."""
    if target.element is not None and constructs_map(expression, target):
        return accepts(expression.arguments[0], array_of(target.element))
    if target.kind is Kind.ARRAY and constructs_array(expression):
        (element,) = target.parts
        return all(accepts(argument, element) for argument in expression.arguments)
    if target.fields and constructs_row(expression):
        arguments = expression.arguments
        return len(arguments) == len(target.fields) and all(
            map(accepts, arguments, target.field_types)
        )
    return passes(expression.type, target) or (
        target.kind in OF_QUOTED and _readable(expression, target)
    )


def constructs_array(expression: Expression) -> TypeGuard[Call]:
    """Return whether `expression` is `ARRAY[…]`, whose elements can be coerced."""
    return isinstance(expression, Call) and expression.function == "array"


def constructs_row(expression: Expression) -> TypeGuard[Call]:
    """Return whether `expression` is `ROW(…)`, whose fields can be coerced."""
    return isinstance(expression, Call) and expression.function == "row"


def constructs_map(expression: Expression, target: SqlType) -> TypeGuard[Call]:
    """Return whether `expression` is `MAP[…]`, and a MAP is wanted, to which its entries can be coerced."""
    return (
        target.kind is Kind.MAP
        and isinstance(expression, Call)
        and expression.function == "map_from_entries"
        and constructs_array(expression.arguments[0])
    )


def coerce(expression: Expression, target: SqlType) -> Expression:
    """Return `expression` as a value of `target`; itself if it has that type.

    The caller has checked `accepts(expression, target)`, or found `target` as a common type.
    """
    if expression.type == target:
        return expression
    assert accepts(expression, target) or aligns(expression.type, target)
    if isinstance(expression, Literal):
        with suppress(TimestampRangeFailure, OutOfRangeFailure):
            written = as_written(expression.value, target)
            value = cast_value(written, expression.type, target)
            return Literal(target, expression.nullable, value)
    if target.element is not None and constructs_map(expression, target):
        entries = coerce(expression.arguments[0], array_of(target.element))
        return Call(target, expression.nullable, "map_from_entries", (entries,))
    if target.kind is Kind.ARRAY and constructs_array(expression):
        (element,) = target.parts
        elements = tuple(coerce(argument, element) for argument in expression.arguments)
        return Call(target, expression.nullable, "array", elements)
    if target.fields and constructs_row(expression):
        fields = tuple(map(coerce, expression.arguments, target.field_types))
        made = row_of((f"f{i}", field.type) for i, field in enumerate(fields, 1))
        expression = Call(made, expression.nullable, "row", fields)
        if made == target:
            return expression
    return Cast(target, expression.nullable, expression)
