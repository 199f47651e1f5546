"""Functions and casts of UBIGINT over columns: integers of 0 to 2^64 - 1, held like those of a DECIMAL.

An array is of int64 if all its values are below 2^63, and otherwise of Python integers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fsql.compiler.functions.casts import cast_value
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.functions.floats import integer_to_float
from fsql.compiler.sqltypes import STRING, UBIGINT, UBIGINT_MAX, Kind, SqlType
from fsql.runtime.decimals import (
    integers_of_unsigned,
    magnitude,
    narrow,
    read_unsigned,
    widen,
)
from fsql.runtime.kernels.expressions.strict import over_dictionary, partial, total
from fsql.runtime.kernels.expressions.vectors import (
    DIVISION_BY_ZERO,
    OUT_OF_RANGE,
    Vector,
    codes_where,
    first_failure,
    plain_values,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from fsql.compiler.expression import Call
    from fsql.runtime.kernels.expressions.vectors import Codes, Kernel

    Integers = NDArray[Any]
    Bound = Callable[[int, int], int]
    """The greatest absolute value of a result, from those of the operands."""


def _in_range(values: Integers) -> tuple[Integers, Codes | None]:
    """Return the values, and the failures of those that are out of range, which become 0."""
    outside = values < 0
    if values.dtype == object:
        outside = (outside | (values > UBIGINT_MAX)).astype(np.bool_)
    codes = codes_where(outside, OUT_OF_RANGE)
    return narrow(values if codes is None else np.where(outside, 0, values)), codes


def _maker(operation: np.ufunc, bound: Bound) -> Callable[[Call], Kernel]:
    def compute(left: Integers, right: Integers) -> tuple[Integers, Codes | None]:
        left = widen(left, bound(magnitude(left), magnitude(right)))
        return _in_range(operation(left, right))

    return lambda _call: partial(compute)


def _divider(operation: np.ufunc) -> Callable[[Call], Kernel]:
    """Return the maker of the quotient or the remainder, of which no value exceeds the dividend."""

    def compute(left: Integers, right: Integers) -> tuple[Integers, Codes | None]:
        by_zero = (right == 0).astype(np.bool_)
        result = operation(left, np.where(by_zero, 1, right))
        return narrow(result), codes_where(by_zero, DIVISION_BY_ZERO)

    return lambda _call: partial(compute)


OF_UBIGINTS: Final[dict[str, Callable[[Call], Kernel]]] = {
    "add": _maker(np.add, lambda left, right: left + right),
    "subtract": _maker(np.subtract, lambda left, right: left + right),
    "multiply": _maker(np.multiply, lambda left, right: left * right),
    "divide": _divider(np.floor_divide),
    "modulo": _divider(np.remainder),
    "abs": lambda _call: total(lambda values: values),
}
"""The makers of functions that return a UBIGINT for UBIGINT arguments."""


def cast_to_ubigint(source: SqlType) -> Kernel:
    """Return the kernel of a cast of a number or a STRING to UBIGINT."""
    match source.kind:
        case Kind.STRING:
            return over_dictionary(_read)
        case Kind.FLOAT | Kind.DOUBLE:
            return partial(_of_doubles)
        case Kind.DECIMAL:
            unit = 10**source.scale
            return partial(lambda values: _in_range(_whole_parts(values, unit)))
        case _:
            return partial(lambda values: _in_range(values.astype(np.int64)))


def _whole_parts(values: Integers, unit: int) -> Integers:
    values = widen(values, max(magnitude(values), unit))
    whole = np.abs(values) // unit
    return narrow(np.where(values < 0, -whole, whole))


def _of_doubles(values: NDArray[np.float64]) -> tuple[Integers, Codes | None]:
    """Return the whole parts of doubles."""
    inside = (values > -1.0) & (values < 2.0**64)
    whole = np.trunc(np.where(inside, values, 0.0))
    return integers_of_unsigned(whole.astype(np.uint64)), codes_where(~inside, OUT_OF_RANGE)


def floats_of_ubigint(values: Integers) -> NDArray[np.float64]:
    """Return the nearest values of FLOAT."""
    if values.dtype != object:
        return values.astype(np.float32).astype(np.float64)
    return np.array([*map(integer_to_float, values.tolist())], np.float64)


def _read(arguments: Sequence[Vector]) -> Vector:
    """Read texts: the usual ones at once, others one by one."""
    (argument,) = arguments
    texts = plain_values(argument)
    values, read = read_unsigned(texts)
    rest = np.flatnonzero(~read)
    if not len(rest):
        return Vector(values, argument.valid, argument.failed)
    exact, codes = values.astype(object), np.zeros(len(texts), np.int16)
    for index in rest.tolist():
        text = texts[index].as_py()
        if text is not None:
            try:
                exact[index] = cast_value(text, STRING, UBIGINT)
            except RowFailure as failure:
                codes[index] = failure.code
    own = codes if codes.any() else None
    return Vector(narrow(exact), argument.valid, first_failure(argument.failed, own))
