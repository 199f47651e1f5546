"""The order of values: the one of comparison, MIN, MAX, GREATEST and LEAST.

FALSE < TRUE; numbers by value, NaN equal to itself and greater than all others, -0.0 equal to 0.0;
strings by code point; arrays lexicographically, a shorter prefix first, NULL elements last and equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fsql.compiler.expression import Value


def compare(left: Value, right: Value) -> int:
    """Return -1, 0 or 1 as `left` sorts before, with or after `right`; NULL sorts last.

    Both are values of one type.
    """
    if left is None or right is None:
        return (left is None) - (right is None)
    if isinstance(left, tuple) and isinstance(right, tuple):
        return _compare_arrays(left, right)
    if left != left or right != right:  # noqa: PLR0124 - only NaN differs from itself
        return (left != left) - (right != right)  # noqa: PLR0124
    return (left > right) - (left < right)  # type: ignore[operator]


def _compare_arrays(left: tuple[Value, ...], right: tuple[Value, ...]) -> int:
    for left_element, right_element in zip(left, right, strict=False):
        if order := compare(left_element, right_element):
            return order
    return (len(left) > len(right)) - (len(left) < len(right))
