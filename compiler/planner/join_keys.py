"""Keys of joins that compare as IS NOT DISTINCT FROM does."""

from __future__ import annotations

from typing import Final

from fsql.compiler.expression import Expression, Literal
from fsql.compiler.functions.calls import call
from fsql.compiler.functions.null_safe import instead_of_null
from fsql.compiler.sqltypes import INT

ZERO: Final = Literal(INT, nullable=False, value=0)
"""The key of both sides where no condition of a join is an equality."""


def null_safe_keys(one: Expression, other: Expression) -> list[tuple[Expression, Expression]]:
    """Return keys that are never NULL, and equal if and only if both sides are equal or both NULL."""
    if not (one.nullable and other.nullable):
        return [(one, other)]
    of_one, of_other = (call("coalesce", each, instead_of_null(each.type)) for each in (one, other))
    return [(call("is_null", one), call("is_null", other)), (of_one, of_other)]
