"""Functions on arrays; elements count from 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.functions.signature import Function, Nullability, Signature, TypeVariable
from fsql.compiler.sqltypes import BIGINT

if TYPE_CHECKING:
    from fsql.compiler.expression import Value


def _element_at(array: tuple[Value, ...], ordinal: int) -> Value:
    return array[ordinal - 1] if 1 <= ordinal <= len(array) else None


ARRAYS = (
    Function(
        "cardinality",
        ("CARDINALITY", "ARRAY_LENGTH"),
        (Signature((TypeVariable.ARRAY,), BIGINT, len),),
    ),
    Function(
        "element_at",
        ("ELEMENT_AT",),
        (Signature((TypeVariable.ARRAY, BIGINT), TypeVariable.ANY, _element_at),),
        Nullability.ALWAYS,
    ),
    Function(
        "array",
        ("ARRAY[]",),
        (
            Signature(
                (TypeVariable.ANY,),
                TypeVariable.ARRAY,
                lambda *elements: elements,
                variadic=True,
            ),
        ),
        Nullability.NEVER,
        strict=False,
    ),
)
