"""Implicit coercion: which types convert to which, in one table.

| from   | to, without being asked                                   |
|--------|-----------------------------------------------------------|
| INT    | BIGINT, DOUBLE                                            |
| BIGINT | DOUBLE (rounded to the nearest, beyond 2^53)              |
| NULL   | every type                                                |

and, for text in quotes only (a literal, not a STRING column), STRING to TIMESTAMP where a TIMESTAMP is
compared with it or expected: `at >= '2024-01-01T00:00:00Z'`.  The text is read when the query is
compiled, so it cannot fail a row.  Likewise `ARRAY[1, 2]` is an ARRAY<BIGINT> where one is expected: it
is the elements that are coerced.

Every implicit coercion becomes an explicit `Cast` in the plan, or a literal of the new type; none of
them can fail.  Everything else takes a CAST in the query.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

from fsql.compiler.expression import Call, Cast, Expression, Literal
from fsql.compiler.functions.casts import cast_value
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.sqltypes import NULL, NUMERIC, TIMESTAMP, Kind, SqlType

if TYPE_CHECKING:
    from collections.abc import Sequence


def coercible(source: SqlType, target: SqlType) -> bool:
    """Return whether every value of `source` converts to `target` without a CAST."""
    if source == target or source.kind is Kind.NULL:
        return True
    if source.numeric and target.numeric:
        return NUMERIC.index(source.kind) <= NUMERIC.index(target.kind)
    return False


def common_type(types: Sequence[SqlType]) -> SqlType | None:
    """Return the least type that all of `types` coerce to; None if there is none.

    >>> from fsql.compiler.sqltypes import BIGINT, DOUBLE, INT, NULL, STRING
    >>> str(common_type([INT, NULL, DOUBLE]))
    'DOUBLE'
    >>> common_type([INT, STRING]) is None
    True
    """
    common = NULL
    for each in types:
        if coercible(common, each):
            common = each
        elif not coercible(each, common):
            return None
    return common


def readable_as_timestamp(expression: Expression) -> bool:
    """Return whether `expression` is quoted text that can be read as a TIMESTAMP."""
    if not isinstance(expression, Literal) or expression.type.kind is not Kind.STRING:
        return False
    try:
        cast_value(expression.value, expression.type, TIMESTAMP)
    except RowFailure:
        return False
    return True


def accepts(expression: Expression, target: SqlType) -> bool:
    """Return whether `coerce` takes `expression` to `target`."""
    if target.element is not None and constructs_array(expression):
        element = target.element
        return all(accepts(argument, element) for argument in expression.arguments)
    return coercible(expression.type, target) or (
        target.kind is Kind.TIMESTAMP and readable_as_timestamp(expression)
    )


def constructs_array(expression: Expression) -> TypeGuard[Call]:
    """Return whether `expression` is `ARRAY[…]`, whose elements can be coerced."""
    return isinstance(expression, Call) and expression.function == "array"


def coerce(expression: Expression, target: SqlType) -> Expression:
    """Return `expression` as a value of `target`; itself if it has that type.

    The caller has checked `accepts(expression, target)`.
    """
    if expression.type == target:
        return expression
    assert accepts(expression, target)
    if isinstance(expression, Literal):
        value = cast_value(expression.value, expression.type, target)
        return Literal(target, expression.nullable, value)
    if target.element is not None and constructs_array(expression):
        elements = tuple(coerce(argument, target.element) for argument in expression.arguments)
        return Call(target, expression.nullable, "array", elements)
    return Cast(target, expression.nullable, expression)
