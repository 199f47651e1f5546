"""The canonical order of values, and when two values are the same.

`order_key` maps values of one type to Python values that sort as semantics.md says: FALSE before TRUE,
numbers by value with NaN last and equal to itself, -0.0 equal to 0.0, strings by code point, arrays
lexicographically with a shorter prefix first, NULL last.  Equal keys mean equal values; `same_key`
also tells -0.0 from 0.0, for values that are equal but not the same.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.expression import Value

Key = tuple[object, ...]


def order_key(value: Value) -> Key:
    """Return what `value` sorts by, and what equal values share."""
    match value:
        case None:
            return (1,)
        case float():
            return (0, (1, 0.0) if math.isnan(value) else (0, value))
        case tuple():
            return (0, tuple(order_key(item) for item in value))
        case _:
            return (0, value)


def same_key(value: Value) -> Key:
    """Return what tells values apart that are equal: the sign of a zero, -0.0 first."""
    match value:
        case float():
            return (0.0 if math.isnan(value) else math.copysign(1.0, value),)
        case tuple():
            return tuple(same_key(item) for item in value)
        case _:
            return ()


def row_key(row: Sequence[Value]) -> Key:
    """Return what a row sorts by: its columns' values, then what tells equal ones apart."""
    return (tuple(order_key(value) for value in row), tuple(same_key(value) for value in row))


def normalised(value: Value) -> Value:
    """Return `value` as it stands in a group's key: 0.0 for -0.0."""
    match value:
        case float():
            return 0.0 if value == 0.0 else value
        case tuple():
            return tuple(normalised(item) for item in value)
        case _:
            return value
