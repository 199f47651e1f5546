"""Comparison, by the canonical order of values: NaN equals itself and is the greatest, -0.0 equals 0.0.

Strings compare by code point, which is the order of their UTF-8 bytes.  Arrays are only compared for
equality, where NULL elements are equal; so are rows, field by field.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.compiler.functions.decimals import alike
from fsql.compiler.sqltypes import BOOLEAN, Kind, SqlType
from fsql.runtime.decimals import times
from fsql.runtime.kernels.expressions.functions_logic import choose
from fsql.runtime.kernels.expressions.strict import (
    all_valid,
    arrow,
    leftmost_failure,
    over_dictionary,
    total,
)
from fsql.runtime.kernels.expressions.vectors import (
    Vector,
    common_length,
    from_array,
    offsets,
    stretched_values,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from fsql.compiler.expression import Call
    from fsql.runtime.arrays import Bools, Doubles
    from fsql.runtime.kernels.expressions.vectors import Kernel

    Array = NDArray[Any]

_UFUNCS: Final[dict[str, np.ufunc]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_ARROW: Final = {
    "eq": pc.equal,
    "ne": pc.not_equal,
    "lt": pc.less,
    "le": pc.less_equal,
    "gt": pc.greater,
    "ge": pc.greater_equal,
}


def _compare_doubles(name: str) -> Callable[[Doubles, Doubles], Bools]:
    """Compare by IEEE, then correct the rows with a NaN, for which IEEE returns FALSE (`ne`: TRUE)."""
    ufunc = _UFUNCS[name]

    def compare(left: Doubles, right: Doubles) -> Bools:
        result: Bools = ufunc(left, right)
        left_nan, right_nan = np.isnan(left), np.isnan(right)
        if left_nan.any() or right_nan.any():
            either = left_nan | right_nan
            result = np.where(either, ufunc(left_nan, right_nan), result)
        return result

    return compare


def comparison(name: str, sql_type: SqlType) -> Kernel:
    """Return the kernel of comparison `name` (`eq`, `lt`, …) between two values of `sql_type`."""
    match sql_type.kind:
        case Kind.STRING | Kind.BYTES:
            return over_dictionary(arrow(_ARROW[name], BOOLEAN))
        case Kind.FLOAT | Kind.DOUBLE:
            return total(_compare_doubles(name))
        case Kind.ARRAY | Kind.MAP:
            return _compare_arrays(sql_type, negated=name == "ne")
        case Kind.ROW:
            return _compare_rows(sql_type, negated=name == "ne")
        case Kind.NULL:
            return _null_of_nulls
        case _:
            return total(_UFUNCS[name])


def _null_of_nulls(arguments: Sequence[Vector]) -> Vector:
    nothing = np.zeros(common_length(arguments), np.bool_)
    return Vector(nothing, nothing, leftmost_failure(arguments))


def _compare_arrays(sql_type: SqlType, *, negated: bool) -> Kernel:
    element = sql_type.element
    assert element is not None
    equal_elements = _equal_or_both_null(element)

    def kernel(arguments: Sequence[Vector]) -> Vector:
        count = common_length(arguments)
        left, right = (stretched_values(argument, count) for argument in arguments)
        equal = _equal_lists(left, right, element, equal_elements)
        return Vector(
            ~equal if negated else equal, all_valid(arguments), leftmost_failure(arguments)
        )

    return kernel


def _compare_rows(sql_type: SqlType, *, negated: bool) -> Kernel:
    types = sql_type.field_types
    equal_fields = [_equal_or_both_null(each) for each in types]

    def kernel(arguments: Sequence[Vector]) -> Vector:
        count = common_length(arguments)
        sides = [stretched_values(argument, count) for argument in arguments]
        equal = np.ones(count, np.bool_)
        for index, (compare, each) in enumerate(zip(equal_fields, types, strict=True)):
            equal &= compare(*(from_array(pc.struct_field(side, [index]), each) for side in sides))
        return Vector(
            ~equal if negated else equal, all_valid(arguments), leftmost_failure(arguments)
        )

    return kernel


def _equal_lists(
    left: pa.ListArray,
    right: pa.ListArray,
    element: SqlType,
    equal_elements: Callable[[Vector, Vector], Bools],
) -> Bools:
    """Return where two lists have equal lengths and equal elements; arbitrary where one is NULL."""
    left_offsets, right_offsets = offsets(left).astype(np.int64), offsets(right).astype(np.int64)
    lengths = np.diff(left_offsets)
    equal: Bools = lengths == np.diff(right_offsets)
    lengths = np.where(equal, lengths, 0)
    row = np.repeat(np.arange(len(left)), lengths)
    within = np.arange(len(row)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    pairs = [
        from_array(lists.values.take(pa.array(starts[row] + within)), element)
        for lists, starts in ((left, left_offsets), (right, right_offsets))
    ]
    equal[row[~equal_elements(*pairs)]] = False
    return equal


def _equal_or_both_null(element: SqlType) -> Callable[[Vector, Vector], Bools]:
    equal = comparison("eq", element)

    def compare(left: Vector, right: Vector) -> Bools:
        same: Bools
        if left.valid is None and right.valid is None:
            same = equal([left, right]).values
            return same
        left_valid, right_valid = (
            np.ones(len(side.values), np.bool_) if side.valid is None else side.valid
            for side in (left, right)
        )
        both = left_valid & right_valid
        same = np.where(both, equal([left, right]).values, left_valid == right_valid)
        return same

    return compare


def _extreme(name: str) -> Callable[[Call], Kernel]:
    """Return the maker of GREATEST (`gt`) or LEAST (`lt`): of equal values, the first."""

    def make(call: Call) -> Kernel:
        surpasses = comparison(name, call.type)

        def kernel(arguments: Sequence[Vector]) -> Vector:
            count = common_length(arguments)
            best, *others = [Vector(argument.values) for argument in arguments]
            for other in others:
                better: Bools = np.broadcast_to(surpasses([other, best]).values, count)
                best = Vector(choose(better.astype(np.int64), [best, other], call.type).values)
            valid, failed = all_valid(arguments), leftmost_failure(arguments)
            if valid is not None and not isinstance(best.values, np.ndarray):
                nulls = pc.if_else(pa.array(np.broadcast_to(valid, count)), best.values, None)
                return Vector(nulls, valid, failed)
            return Vector(best.values, valid, failed)

        return kernel

    return make


def _make_comparison(name: str) -> Callable[[Call], Kernel]:
    def make(call: Call) -> Kernel:
        left, right = (argument.type for argument in call.arguments)
        if left.kind is right.kind is Kind.DECIMAL and left.scale != right.scale:
            return _compare_decimals(name, *alike(left, right))
        return comparison(name, left)

    return make


def _compare_decimals(name: str, of_left: int, of_right: int) -> Kernel:
    """Compare numbers of two units, which the factors make one."""
    ufunc = _UFUNCS[name]

    def compare(left: Array, right: Array) -> Bools:
        result: Bools = ufunc(times(left, of_left), times(right, of_right)).astype(np.bool_)
        return result

    return total(compare)


MAKERS: Final[dict[str, Callable[[Call], Kernel]]] = {
    **{name: _make_comparison(name) for name in _UFUNCS},
    "greatest": _extreme("gt"),
    "least": _extreme("lt"),
}
