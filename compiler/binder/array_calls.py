"""Calls of functions of arrays in the forms of other systems.

ARRAY_JOIN(a, ',')         →   ARRAY_JOIN(CAST(a AS ARRAY<STRING>), ',')
ARRAY_PREPEND(1, a)        →   ARRAY_PREPEND(a, 1)
ARRAY_LENGTH(a, 1)         →   CASE WHEN CARDINALITY(a) <> 0 THEN CARDINALITY(a) END

The last two are of PostgreSQL, where an empty array has no dimensions.
"""

from __future__ import annotations

from fsql.compiler.binder.conditionals import make_cast
from fsql.compiler.binder.operators import call
from fsql.compiler.expression import Case, Expression, Literal
from fsql.compiler.functions.casts import castable
from fsql.compiler.functions.evaluate import constant_value
from fsql.compiler.sqltypes import BIGINT, STRING, STRUCTURED, Kind, SqlType, array_of


def of_arrays(name: str, arguments: list[Expression]) -> list[Expression]:
    """Return the arguments of a function of arrays as its signatures have them."""
    if not arguments:
        return arguments
    first, *others = arguments
    element = first.type.element if first.type.kind is Kind.ARRAY else None
    if name == "join_texts" and element is not None and _has_text(element):
        return [make_cast(first, array_of(STRING)), *others]
    if name == "array_prepend" and len(others) == 1 and element is None:
        return [*others, first] if others[0].type.kind is Kind.ARRAY else arguments
    return arguments


def _has_text(element: SqlType) -> bool:
    """Return whether elements are joined as the texts that a cast of them gives."""
    no_text = {Kind.NULL, Kind.BYTES, *STRUCTURED}
    return element.kind not in no_text and castable(element, STRING)


def length_of_dimension(arguments: list[Expression]) -> Expression | None:
    """Return ARRAY_LENGTH(a, 1), the length of the first dimension; None for other arguments."""
    if len(arguments) != 2 or arguments[0].type.kind is not Kind.ARRAY:
        return None
    if constant_value(arguments[1]) != 1:
        return None
    length = call("cardinality", arguments[0])
    zero, nothing = (Literal(BIGINT, value is None, value) for value in (0, None))
    empty = call("eq", length, zero)
    return Case(BIGINT, nullable=True, branches=((empty, nothing),), otherwise=length)
