"""Functions on arrays, whose elements count from 1, and rows; those that maps have as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.functions.maps import value_at
from fsql.compiler.functions.signature import Function, Nullability, Signature, TypeVariable
from fsql.compiler.sqltypes import BIGINT, STRING, array_of

if TYPE_CHECKING:
    from fsql.compiler.expression import Value


def _element_at(array: tuple[Value, ...], ordinal: int) -> Value:
    return array[ordinal - 1] if 1 <= ordinal <= len(array) else None


def _join(array: tuple[Value, ...], separator: str, for_null: str | None = None) -> str:
    texts = (for_null if text is None else text for text in array)
    return separator.join(text for text in texts if isinstance(text, str))


ARRAYS = (
    Function(
        "join_texts",
        ("ARRAY_JOIN", "ARRAY_TO_STRING", "CONCAT_WS"),
        (
            Signature((array_of(STRING), STRING), STRING, _join),
            Signature((array_of(STRING), STRING, STRING), STRING, _join),
        ),
    ),
    Function(
        "cardinality",
        ("CARDINALITY", "ARRAY_LENGTH", "ARRAY_SIZE"),
        (
            Signature((TypeVariable.ARRAY,), BIGINT, len),
            Signature((TypeVariable.MAP,), BIGINT, len),
        ),
    ),
    Function(
        "element_at",
        ("ELEMENT_AT",),
        (
            Signature((TypeVariable.ARRAY, BIGINT), TypeVariable.ANY, _element_at),
            Signature((TypeVariable.MAP, TypeVariable.KEY), TypeVariable.VALUE, value_at),
        ),
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
    Function(
        "row",
        ("ROW()",),
        (
            Signature(
                (TypeVariable.EACH,),
                TypeVariable.ROW,
                lambda *fields: fields,
                variadic=True,
            ),
        ),
        Nullability.NEVER,
        strict=False,
    ),
)
