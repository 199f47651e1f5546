"""Functions that compare, order, cut and join arrays; positions count from 1.

Elements are equal as in `ordering`: NULL equals NULL, NaN equals NaN, and -0.0 equals 0.0.  Where several are
equal, the first one is kept.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cmp_to_key
from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.casts import NAN, integer_in_range
from fsql.compiler.functions.failure import OutOfRangeFailure
from fsql.compiler.functions.ordering import compare
from fsql.compiler.functions.signature import (
    Function,
    Match,
    Nullability,
    Signature,
    TypeVariable,
)
from fsql.compiler.sqltypes import BIGINT, BOOLEAN, DOUBLE, INT, Kind, array_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.compiler.expression import Value
    from fsql.compiler.sqltypes import SqlType

    Array = tuple[Value, ...]

ELEMENTS_MAX: Final = 1_000_000
"""The longest array that SEQUENCE and ARRAY_REPEAT make."""


def _identity(value: Value) -> object:
    """Return what equal elements have in common."""
    if isinstance(value, tuple):
        return tuple(map(_identity, value))
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


def _distinct(elements: Array) -> Array:
    seen: dict[object, Value] = {}
    for each in elements:
        seen.setdefault(_identity(each), each)
    return tuple(seen.values())


def _identities(elements: Array) -> set[object]:
    return set(map(_identity, elements))


def _position(elements: Array, wanted: Value) -> int:
    identity = _identity(wanted)
    return next((n for n, each in enumerate(elements, 1) if _identity(each) == identity), 0)


def _concatenation(*arrays: Array) -> Array:
    return tuple(each for array in arrays for each in array)


def _union(left: Array, right: Array) -> Array:
    return _distinct(left + right)


def _intersect(left: Array, right: Array) -> Array:
    both = _identities(right)
    return tuple(each for each in _distinct(left) if _identity(each) in both)


def _except(left: Array, right: Array) -> Array:
    without = _identities(right)
    return tuple(each for each in _distinct(left) if _identity(each) not in without)


def _remove(elements: Array, unwanted: Value) -> Array:
    identity = _identity(unwanted)
    return tuple(each for each in elements if _identity(each) != identity)


def _replace(elements: Array, old: Value, new: Value) -> Array:
    identity = _identity(old)
    return tuple(new if _identity(each) == identity else each for each in elements)


def _sort(elements: Array, ascending: bool = True, nulls_first: bool | None = None) -> Array:  # noqa: FBT001, FBT002 - arguments in SQL
    """Return the elements in order: unless it is said, NULL is last ascending, and first descending."""
    ordered = tuple(sorted(elements, key=cmp_to_key(compare), reverse=not ascending))
    if nulls_first is None or nulls_first is not ascending:
        return ordered
    nulls = tuple(each for each in ordered if each is None)
    others = tuple(each for each in ordered if each is not None)
    return nulls + others if nulls_first else others + nulls


def _slice(elements: Array, start: int, end: int | None = None) -> Array:
    """Return the elements from one position to another, both included; negative ones count from the end."""
    count = len(elements)
    first = start if start >= 0 else count + start + 1
    last = count if end is None else end if end >= 0 else count + end + 1
    return elements[max(first, 1) - 1 : max(last, 0)]


def _extreme(sign: int) -> Callable[[Array], Value]:
    def scalar(elements: Array) -> Value:
        best: Value = None
        for each in elements:
            if each is not None and (best is None or compare(each, best) == sign):
                best = each
        return best

    return scalar


def _numbers(elements: Array) -> list[float]:
    return [each for each in elements if isinstance(each, int | float)]


def _sum(elements: Array) -> float | None:
    """Return the correctly rounded sum of doubles, NULL of none."""
    numbers = _numbers(elements)
    if not numbers:
        return None
    if not all(map(math.isfinite, numbers)):
        infinite = sum(each for each in numbers if not math.isfinite(each))
        return NAN if math.isnan(infinite) else infinite
    total = sum(map(Fraction, numbers))
    try:
        return float(total)
    except OverflowError:
        return math.inf if total > 0 else -math.inf


def _whole_sum(elements: Array) -> int | None:
    numbers = [each for each in elements if isinstance(each, int)]
    return integer_in_range(sum(numbers), BIGINT) if numbers else None


def _average(elements: Array) -> float | None:
    total, count = _sum(elements), len(_numbers(elements))
    return None if total is None else total / count


def _sequence(start: int, end: int, step: int | None = None) -> Array:
    step = step if step is not None else 1 if start <= end else -1
    if not step or (end - start) // step >= ELEMENTS_MAX:
        raise OutOfRangeFailure(array_of(BIGINT))
    return tuple(range(start, end + (1 if step > 0 else -1), step))


def _repeat(element: Value, count: int | None) -> Array | None:
    if count is None:
        return None
    if count > ELEMENTS_MAX:
        raise OutOfRangeFailure(BIGINT)
    return (element,) * max(count, 0)


def _trim(elements: Array, count: int) -> Array:
    if not 0 <= count <= len(elements):
        raise OutOfRangeFailure(BIGINT)
    return elements[: len(elements) - count]


def _insert(elements: Array | None, position: int | None, element: Value) -> Array | None:
    """Return the array with an element inserted at a position, or at the nearest end."""
    if elements is None or position is None:
        return None
    at = min(max(position - 1, 0), len(elements))
    return (*elements[:at], element, *elements[at:])


def _positions(elements: Array, wanted: Value) -> Array:
    identity = _identity(wanted)
    return tuple(n for n, each in enumerate(elements, 1) if _identity(each) == identity)


def _flat(arrays: Array) -> Array:
    """Return the elements of the arrays in an array, one array after the other; NULL has none."""
    return tuple(each for array in arrays if isinstance(array, tuple) for each in array)


def _flattens(types: tuple[SqlType, ...]) -> Match | None:
    """Return the signature of FLATTEN for an array of arrays."""
    inner = types[0].element if len(types) == 1 and types[0].kind is Kind.ARRAY else None
    if inner is None or inner.kind is not Kind.ARRAY:
        return None
    return Match(Signature(types, inner, _flat), types, inner)


_ARRAY: Final = TypeVariable.ARRAY
_ANY: Final = TypeVariable.ANY
_ORDERED: Final = TypeVariable.ORDERED_ARRAY


def _function(name: str, *signatures: Signature, others: tuple[str, ...] = ()) -> Function:
    return Function(name, (name.upper(), *others), signatures)


def _maybe_null(name: str, *signatures: Signature) -> Function:
    """Return a function that may be NULL, which is also called LIST_… instead of ARRAY_…."""
    names = (name.upper(), name.upper().replace("ARRAY_", "LIST_"))
    return Function(name, names, signatures, Nullability.ALWAYS)


def _nullable_element_function(name: str, signature: Signature, *others: str) -> Function:
    """Return a function that takes NULL for an element."""
    return Function(name, (name.upper(), *others), (signature,), Nullability.ALWAYS, strict=False)


def _element_function(name: str, signature: Signature, *others: str) -> Function:
    """Return a function that compares elements with a value, also with NULL; it is NULL for a NULL array."""
    return Function(name, (name.upper(), *others), (signature,), strict=False)


ARRAY_OPERATIONS: Final = (
    _element_function(
        "array_contains",
        Signature((_ARRAY, _ANY), BOOLEAN, lambda a, x: None if a is None else _position(a, x) > 0),
        "LIST_CONTAINS",
    ),
    _function("array_position", Signature((_ARRAY, _ANY), BIGINT, _position)),
    _function("array_positions", Signature((_ARRAY, _ANY), array_of(BIGINT), _positions)),
    Function(
        "flatten",
        ("FLATTEN", "ARRAY_FLATTEN"),
        (Signature((array_of(array_of(BIGINT)),), array_of(BIGINT), _flat),),
        of_types=_flattens,
    ),
    _function("array_distinct", Signature((_ARRAY,), _ARRAY, _distinct)),
    _function(
        "array_concat",
        Signature((_ARRAY, _ARRAY), _ARRAY, _concatenation, variadic=True),
        others=("ARRAY_CAT", "LIST_CONCAT"),
    ),
    _function("array_union", Signature((_ARRAY, _ARRAY), _ARRAY, _union)),
    _function("array_intersect", Signature((_ARRAY, _ARRAY), _ARRAY, _intersect)),
    _function("array_except", Signature((_ARRAY, _ARRAY), _ARRAY, _except)),
    _element_function(
        "array_remove",
        Signature((_ARRAY, _ANY), _ARRAY, lambda a, x: None if a is None else _remove(a, x)),
    ),
    _function(
        "array_reverse", Signature((_ARRAY,), _ARRAY, lambda a: a[::-1]), others=("LIST_REVERSE",)
    ),
    _function(
        "array_compact",
        Signature((_ARRAY,), _ARRAY, lambda a: tuple(each for each in a if each is not None)),
    ),
    _function(
        "array_slice",
        Signature((_ARRAY, BIGINT), _ARRAY, _slice),
        Signature((_ARRAY, BIGINT, BIGINT), _ARRAY, _slice),
        others=("SLICE", "LIST_SLICE"),
    ),
    _function(
        "array_sort",
        Signature((_ORDERED,), _ORDERED, _sort),
        Signature((_ORDERED, BOOLEAN), _ORDERED, _sort),
        Signature((_ORDERED, BOOLEAN, BOOLEAN), _ORDERED, _sort),
    ),
    _function("trim_array", Signature((_ARRAY, BIGINT), _ARRAY, _trim, fallible=True)),
    _function(
        "arrays_overlap",
        Signature((_ARRAY, _ARRAY), BOOLEAN, lambda a, b: bool(_identities(a) & _identities(b))),
        others=("LIST_HAS_ANY",),
    ),
    _function(
        "array_contains_all",
        Signature((_ARRAY, _ARRAY), BOOLEAN, lambda a, b: _identities(a) >= _identities(b)),
        others=("LIST_HAS_ALL",),
    ),
    _function(
        "sequence",
        Signature((BIGINT, BIGINT), array_of(BIGINT), _sequence, fallible=True),
        Signature((BIGINT, BIGINT, BIGINT), array_of(BIGINT), _sequence, fallible=True),
    ),
    _maybe_null("array_min", Signature((_ORDERED,), _ANY, _extreme(-1))),
    _maybe_null("array_max", Signature((_ORDERED,), _ANY, _extreme(1))),
    _maybe_null(
        "array_sum",
        *(Signature((array_of(t),), BIGINT, _whole_sum, fallible=True) for t in (INT, BIGINT)),
        Signature((array_of(DOUBLE),), DOUBLE, _sum),
    ),
    _maybe_null(
        "array_avg",
        *(Signature((array_of(t),), DOUBLE, _average) for t in (INT, BIGINT, DOUBLE)),
    ),
    _maybe_null("array_first", Signature((_ARRAY,), _ANY, lambda a: a[0] if a else None)),
    _maybe_null("array_last", Signature((_ARRAY,), _ANY, lambda a: a[-1] if a else None)),
    _nullable_element_function(
        "array_append",
        Signature((_ARRAY, _ANY), _ARRAY, lambda a, x: None if a is None else (*a, x)),
    ),
    _nullable_element_function(
        "array_prepend",
        Signature((_ARRAY, _ANY), _ARRAY, lambda a, x: None if a is None else (x, *a)),
    ),
    _nullable_element_function("array_insert", Signature((_ARRAY, BIGINT, _ANY), _ARRAY, _insert)),
    _nullable_element_function(
        "array_replace",
        Signature(
            (_ARRAY, _ANY, _ANY), _ARRAY, lambda a, x, y: None if a is None else _replace(a, x, y)
        ),
    ),
    _nullable_element_function(
        "array_repeat", Signature((_ANY, BIGINT), _ARRAY, _repeat, fallible=True)
    ),
)
