"""The canonical order and identity of SQL values.

FALSE < TRUE; numbers by value, NaN last and equal to itself, -0.0 equal to 0.0; strings by code point; arrays
lexicographically, a shorter prefix first; NULL last and equal to NULL.  Equal values may differ: -0.0 and 0.0
are equal, but not the same.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fsql.compiler.expression import Value
    from fsql.runtime.model.item import Values

Key = tuple[object, ...]


def order(value: Value) -> Key:
    """Return a key that sorts like `value` among the values of its type; equal values have equal keys."""
    match value:
        case None:
            return (2,)
        case float() if math.isnan(value):
            return (1,)
        case tuple():
            return (0, tuple(order(element) for element in value))
        case _:
            return (0, value)


def zero_signs(value: Value) -> object:
    """Return a key that distinguishes equal values by the signs of their zeros; -0.0 sorts first."""
    match value:
        case float():
            return 0 if value == 0 and math.copysign(1, value) < 0 else 1
        case tuple():
            return tuple(zero_signs(element) for element in value)
        case _:
            return 1


def row_order(values: Values) -> tuple[Key, Key]:
    """Return the key by which rows of one schema sort; equal if and only if all values are the same."""
    return tuple(map(order, values)), tuple(map(zero_signs, values))


def as_key(value: Value) -> Value:
    """Return `value` in the form of a key or a result of MIN and MAX: -0.0 is replaced by 0.0."""
    match value:
        case float():
            return value + 0.0
        case tuple():
            return tuple(as_key(element) for element in value)
        case _:
            return value
