"""Calls of functions of arrays in the forms of other systems.

ARRAY_JOIN(a, ',')         →   ARRAY_JOIN(CAST(a AS ARRAY<STRING>), ',')
ARRAY_PREPEND(1, a)        →   ARRAY_PREPEND(a, 1)
ARRAY_LENGTH(a, 1)         →   CASE WHEN CARDINALITY(a) <> 0 THEN CARDINALITY(a) END

In the last two, an empty array has no dimensions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.binder.report import refusal
from fsql.compiler.expression import Case, Expression, Literal
from fsql.compiler.functions.calls import call, make_cast
from fsql.compiler.functions.casts import castable
from fsql.compiler.functions.evaluate import constant_value
from fsql.compiler.sqltypes import BIGINT, STRING, STRUCTURED, Kind, SqlType, array_of

if TYPE_CHECKING:
    from fsql.compiler.text.source import Span


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


def check_position(array: Expression, position: Expression, span: Span) -> None:
    """Refuse a constant position that counts from the end elsewhere, as `a[-1]` does there.

    Raises:
        Refusal: E405.
    """
    number = constant_value(position)
    if array.type.kind is not Kind.ARRAY or not isinstance(number, int) or number >= 0:
        return
    last = "ARRAY_LAST(a)" if number == -1 else f"a[CARDINALITY(a) - {-number - 1}]"
    raise refusal(
        "E405",
        f"position {number} of an array",
        span,
        help=f"positions count from 1; write {last} to count from the end",
    )


def parts_of_text(arguments: list[Expression], parts: Expression) -> Expression:
    """Return STRING_TO_ARRAY(text, separator): as SPLIT, but of an empty text no parts."""
    nothing = Literal(parts.type, nullable=False, value=())
    empty = call("eq", arguments[0], Literal(STRING, nullable=False, value=""))
    return Case(parts.type, parts.nullable, branches=((empty, nothing),), otherwise=parts)


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
