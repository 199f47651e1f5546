"""Functions and casts of DECIMAL over columns: exact, rounded as in `fsql.compiler.functions.decimals`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fsql.compiler.functions.decimals import double_to_decimal
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.sqltypes import INTEGER_RANGES, Kind, SqlType
from fsql.runtime.arrow_types import arrow_type, nearest_floats, shortest_doubles
from fsql.runtime.decimals import (
    doubles_of,
    magnitude,
    narrow,
    quotients,
    read_texts,
    texts_of,
    times,
    too_long,
    widen,
)
from fsql.runtime.kernels.expressions.per_value import per_value
from fsql.runtime.kernels.expressions.strict import over_dictionary, partial, total
from fsql.runtime.kernels.expressions.vectors import (
    DIVISION_BY_ZERO,
    DTYPES,
    OUT_OF_RANGE,
    Vector,
    codes_where,
    first_failure,
    plain_values,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from fsql.compiler.expression import Call
    from fsql.runtime.kernels.expressions.vectors import Codes, Kernel

    Integers = NDArray[Any]

_SURE_DIGITS: Final = 14
"""Below 10^14, a DOUBLE times a power of ten is within 0.05 of its shortest text times that power."""


def _result(values: Integers, target: SqlType) -> tuple[Integers, Codes | None]:
    return values, codes_where(too_long(values, target.precision), OUT_OF_RANGE)


def _make_sum(sign: int) -> Callable[[Call], Kernel]:
    def make(call: Call) -> Kernel:
        left_type, right_type = (argument.type for argument in call.arguments)
        scale = max(left_type.scale, right_type.scale)
        of_left, of_right = 10 ** (scale - left_type.scale), 10 ** (scale - right_type.scale)
        excess = 10 ** (scale - call.type.scale)

        def add(left: Integers, right: Integers) -> tuple[Integers, Codes | None]:
            left, right = times(left, of_left), times(right, of_right)
            bound = magnitude(left) + magnitude(right)
            left = widen(left, bound)
            return _result(quotients(left + right if sign > 0 else left - right, excess), call.type)

        return partial(add)

    return make


def _make_product(call: Call) -> Kernel:
    left_type, right_type = (argument.type for argument in call.arguments)
    excess = 10 ** (left_type.scale + right_type.scale - call.type.scale)

    def multiply(left: Integers, right: Integers) -> tuple[Integers, Codes | None]:
        left = widen(left, magnitude(left) * magnitude(right))
        return _result(quotients(left * right, excess), call.type)

    return partial(multiply)


def _make_quotient(call: Call) -> Kernel:
    left_type, right_type = (argument.type for argument in call.arguments)
    factor = 10 ** (call.type.scale - left_type.scale + right_type.scale)

    def divide(left: Integers, right: Integers) -> tuple[Integers, Codes | None]:
        by_zero = (right == 0).astype(np.bool_)
        left, right = np.broadcast_arrays(times(left, factor), np.where(by_zero, 1, right))
        values, failed = _result(quotients(left, right), call.type)
        return values, first_failure(codes_where(by_zero, DIVISION_BY_ZERO), failed)

    return partial(divide)


def _make_remainder(call: Call) -> Kernel:
    of_left, of_right = (
        10 ** (call.type.scale - argument.type.scale) for argument in call.arguments
    )

    def modulo(left: Integers, right: Integers) -> tuple[Integers, Codes | None]:
        by_zero = (right == 0).astype(np.bool_)
        left, right = times(left, of_left), times(np.where(by_zero, 1, right), of_right)
        left_over = np.abs(left) % np.abs(right)
        return np.where(left < 0, -left_over, left_over), codes_where(by_zero, DIVISION_BY_ZERO)

    return partial(modulo)


def _floor(values: Integers, unit: int) -> Integers:
    return narrow(widen(values, unit) // unit)


def _make_whole(round_to: Callable[[Integers, int], Integers]) -> Callable[[Call], Kernel]:
    def make(call: Call) -> Kernel:
        unit = 10 ** call.arguments[0].type.scale
        return total(lambda values: round_to(values, unit))

    return make


def _make_round(call: Call) -> Kernel:
    return per_value(call) if len(call.arguments) > 1 else _make_whole(quotients)(call)


OF_DECIMALS: Final[dict[str, Callable[[Call], Kernel]]] = {
    "add": _make_sum(1),
    "subtract": _make_sum(-1),
    "multiply": _make_product,
    "divide": _make_quotient,
    "modulo": _make_remainder,
    "negate": lambda _call: total(lambda values: times(values, -1)),
    "abs": lambda _call: total(lambda values: np.abs(widen(values, magnitude(values)))),
    "floor": _make_whole(_floor),
    "ceil": _make_whole(lambda values, unit: times(_floor(times(values, -1), unit), -1)),
    "round": _make_round,
}
"""The makers of functions that return a DECIMAL for DECIMAL arguments."""


def decimal_cast(source: SqlType, target: SqlType) -> Kernel:  # noqa: PLR0911 - one for each kind
    """Return the kernel of a cast from or to DECIMAL, but not to STRING."""
    if source.kind is Kind.STRING:
        return over_dictionary(_make_reader(target))
    if target.kind is Kind.BOOLEAN:
        return total(lambda values: (values != 0).astype(np.bool_))
    if source.kind is Kind.FLOAT:
        return partial(lambda values: _doubles_to_decimals(shortest_doubles(values), target))
    if source.kind is Kind.DOUBLE:
        return partial(lambda values: _doubles_to_decimals(values, target))
    if target.kind is Kind.FLOAT:
        return total(lambda values: nearest_floats(doubles_of(values, source.scale)))
    if target.kind is Kind.DOUBLE:
        return total(lambda values: doubles_of(values, source.scale))
    if target.kind is Kind.DECIMAL:
        return partial(lambda values: _rescale(values, source.scale, target))
    return partial(lambda values: _to_integers(values, source, target.kind))


def _rescale(values: Integers, scale: int, target: SqlType) -> tuple[Integers, Codes | None]:
    if values.dtype == np.int32:
        values = values.astype(np.int64)
    if scale <= target.scale:
        return _result(times(values, 10 ** (target.scale - scale)), target)
    return _result(quotients(values, 10 ** (scale - target.scale)), target)


def _to_integers(values: Integers, source: SqlType, target: Kind) -> tuple[Integers, Codes | None]:
    unit = 10**source.scale
    values = widen(values, max(magnitude(values), unit))
    whole = np.abs(values) // unit
    whole = narrow(np.where(values < 0, -whole, whole))
    least, greatest = INTEGER_RANGES[target]
    outside = ((whole < least) | (whole > greatest)).astype(np.bool_)
    fitting = np.where(outside, 0, whole).astype(DTYPES[target])
    return fitting, codes_where(outside, OUT_OF_RANGE)


@np.errstate(all="ignore")
def _doubles_to_decimals(
    values: NDArray[np.float64], target: SqlType
) -> tuple[Integers, Codes | None]:
    """Return the decimals that the shortest texts of doubles stand for.

    The doubles themselves are rounded, unless they are large or near the middle between two decimals.
    """
    unit = 10.0**target.scale
    scaled = values * unit
    candidates = np.rint(scaled)
    found = (np.abs(scaled) < 10.0**_SURE_DIGITS) & (np.abs(scaled - candidates) < 0.45)
    found &= target.scale <= 22
    result = np.where(found, candidates, 0.0).astype(np.int64)
    if found.all():
        return _result(result, target)
    exact, codes = result.astype(object), np.zeros(len(values), np.int16)
    for index in np.flatnonzero(~found).tolist():
        try:
            exact[index] = double_to_decimal(float(values[index]), target)
        except RowFailure as failure:
            codes[index] = failure.code
    exact, beyond = _result(narrow(exact), target)
    return exact, first_failure(codes if codes.any() else None, beyond)


def _make_reader(target: SqlType) -> Kernel:
    def kernel(arguments: Sequence[Vector]) -> Vector:
        (argument,) = arguments
        texts = plain_values(argument)
        if texts.null_count:
            texts = texts.fill_null("0")
        values, codes = read_texts(texts, target, arrow_type(target))
        own = codes if codes.any() else None
        if own is not None and argument.valid is not None:
            own = np.where(argument.valid, own, np.int16(0))
        return Vector(values, argument.valid, first_failure(argument.failed, own))

    return kernel


def decimal_texts(values: Integers, source: SqlType) -> pa.StringArray:
    """Return the texts of values of a DECIMAL."""
    return texts_of(values, source.scale)
