"""Arithmetic: integers with overflow checks, IEEE doubles, timestamps and intervals.

Each function of the table is a *maker*: given the bound call it returns the kernel for its types.  Overflow
of an integer operation is detected from the wrapped result, for all rows at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.compiler.functions.arithmetic import BEYOND_BIGINT
from fsql.compiler.sqltypes import (
    BIGINT_MIN,
    DATE_MAX,
    DATE_MIN,
    DAY_US,
    FLOATING,
    INT_MAX,
    INT_MIN,
    INTEGER_RANGES,
    TIMESTAMP_MAX,
    TIMESTAMP_MIN,
    Kind,
)
from fsql.runtime.arrow_types import nearest_floats
from fsql.runtime.kernels.expressions.strict import partial, total
from fsql.runtime.kernels.expressions.timestamps import shift_by_months
from fsql.runtime.kernels.expressions.vectors import (
    DIVISION_BY_ZERO,
    DTYPES,
    OUT_OF_RANGE,
    TIMESTAMP_RANGE,
    codes_where,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from fsql.compiler.expression import Call
    from fsql.runtime.arrays import Bools, Doubles
    from fsql.runtime.kernels.expressions.vectors import Codes, Kernel

    Array = NDArray[Any]
    Partial = Callable[..., tuple[Array, Codes | None]]

_LEAST: Final = {
    Kind.INTERVAL: BIGINT_MIN,
    Kind.MONTHS: BIGINT_MIN,
    **{k: low for k, (low, _) in INTEGER_RANGES.items()},
}


def _canonical(values: Doubles) -> Doubles:
    """Replace every NaN of a new array of doubles by the canonical one, in place; return the array."""
    nan = np.isnan(values)
    if np.count_nonzero(nan):
        values[nan] = np.nan
    return values


def _sum_overflows(left: Array, right: Array, result: Array) -> Bools:
    """Return where `left + right` wrapped: the operands agree in sign and the result does not."""
    if len(right) == 1:
        return _beyond(left, int(right[0]))
    return ((left ^ result) & (right ^ result)) < 0


def _difference_overflows(left: Array, right: Array, result: Array) -> Bools:
    """Return where `left - right` wrapped: `right` and the result differ in sign from `left`."""
    if len(right) == 1:
        return _beyond(left, -int(right[0]))
    return ((left ^ right) & (left ^ result)) < 0


def _beyond(values: Array, added: int) -> Bools:
    """Return where `values + added` is out of the range of their type."""
    limit = 1 << 8 * values.dtype.itemsize - 1
    return values >= limit - added if added > 0 else values < -limit - added


def _add_integers(left: Array, right: Array) -> tuple[Array, Codes | None]:
    result = left + right
    return result, codes_where(_sum_overflows(left, right, result), OUT_OF_RANGE)


def _subtract_integers(left: Array, right: Array) -> tuple[Array, Codes | None]:
    result = left - right
    return result, codes_where(_difference_overflows(left, right, result), OUT_OF_RANGE)


def _multiply_ints(left: Array, right: Array) -> tuple[Array, Codes | None]:
    wide = left.astype(np.int64) * right
    return wide.astype(np.int32), codes_where((wide < INT_MIN) | (wide > INT_MAX), OUT_OF_RANGE)


def _multiply_bigints(left: Array, right: Array) -> tuple[Array, Codes | None]:
    """Multiply; a wrapped product differs from the product in doubles by nearly 2**64 or more.

    A product that did not wrap differs from it by less than 2**12, the rounding of doubles.
    """
    result = left * right
    difference = left.astype(np.float64) * right - result
    return result, codes_where(np.abs(difference) > 2.0**62, OUT_OF_RANGE)


def _divider(least: int) -> Partial:
    def divide(left: Array, right: Array) -> tuple[Array, Codes | None]:
        """Divide towards zero."""
        by_zero = right == 0
        beyond = (left == least) & (right == -1)
        divisor = np.where(by_zero | beyond, right.dtype.type(1), right)
        result = left // divisor
        inexact = result * divisor != left
        result += inexact & ((left ^ divisor) < 0)
        if not (by_zero.any() or beyond.any()):
            return result, None
        return result, by_zero * np.int16(DIVISION_BY_ZERO) + beyond * np.int16(OUT_OF_RANGE)

    return divide


def _modulo(left: Array, right: Array) -> tuple[Array, Codes | None]:
    by_zero = right == 0
    divisor = np.where(by_zero, right.dtype.type(1), right)
    return np.fmod(left, divisor), codes_where(by_zero, DIVISION_BY_ZERO)


def _shift(operation: np.ufunc, overflows: Callable[[Array, Array, Array], Bools]) -> Partial:
    def shift(time_us: Array, interval_us: Array) -> tuple[Array, Codes | None]:
        """Move a timestamp; a result that wrapped is out of range as well."""
        result = operation(time_us, interval_us)
        outside = (result < TIMESTAMP_MIN) | (result > TIMESTAMP_MAX)
        outside |= overflows(time_us, interval_us, result)
        return result, codes_where(outside, TIMESTAMP_RANGE)

    return shift


def _shift_date(*, back: bool) -> Partial:
    def shift(days: Array, interval_us: Array) -> tuple[Array, Codes | None]:
        """Move a date; the time of day of the result is dropped."""
        whole = interval_us // DAY_US
        if back:
            # The least interval has no opposite.
            whole = -(whole + (interval_us % DAY_US != 0))
        result = days.astype(np.int64) + whole
        outside = (result < DATE_MIN) | (result > DATE_MAX)
        return np.where(outside, 0, result).astype(np.int32), codes_where(outside, TIMESTAMP_RANGE)

    return shift


def _doubles(operation: Callable[..., Doubles]) -> Kernel:
    """Lift an operation on doubles: by IEEE 754, without warnings, with the canonical NaN."""

    @np.errstate(all="ignore")
    def compute(*values: Doubles) -> Doubles:
        return _canonical(operation(*values))

    return total(compute)


def _floating(operation: Callable[..., Doubles], call: Call) -> Kernel:
    """Lift an operation on doubles, rounded if the result is a FLOAT."""
    if call.type.kind is Kind.DOUBLE:
        return _doubles(operation)
    return _doubles(lambda *values: nearest_floats(operation(*values)))


def _small(operation: np.ufunc, call: Call) -> Kernel:
    """Lift an operation on integers whose type has a smaller range than the type of their column."""
    least, greatest = INTEGER_RANGES[call.type.kind]

    def compute(*values: Array) -> tuple[Array, Codes | None]:
        result = operation(*values)
        return result, codes_where((result < least) | (result > greatest), OUT_OF_RANGE)

    return partial(compute)


def _unsigned(operation: np.ufunc, call: Call) -> Kernel:
    """Lift an operation on unsigned integers of up to 32 bits; 64 bits hold all results."""
    _, greatest = INTEGER_RANGES[call.type.kind]
    wide = np.uint64 if operation is np.multiply else np.int64
    dtype = DTYPES[call.type.kind]

    def compute(left: Array, right: Array) -> tuple[Array, Codes | None]:
        result = operation(left.astype(wide), right.astype(wide))
        outside = (result < 0) | (result > greatest)
        return result.astype(dtype), codes_where(outside, OUT_OF_RANGE)

    return partial(compute)


def _by_months(call: Call) -> bool:
    return call.arguments[1].type.kind is Kind.MONTHS and call.type.kind is not Kind.MONTHS


def _make_add(call: Call) -> Kernel:  # noqa: PLR0911 - one for each kind
    if _by_months(call):
        return partial(shift_by_months(call.type.kind, 1))
    match call.type.kind:
        case Kind.FLOAT | Kind.DOUBLE:
            return _floating(np.add, call)
        case Kind.TINYINT | Kind.SMALLINT:
            return _small(np.add, call)
        case Kind.UTINYINT | Kind.USMALLINT | Kind.UINT:
            return _unsigned(np.add, call)
        case Kind.TIMESTAMP:
            return partial(_shift(np.add, _sum_overflows))
        case Kind.TIME:
            return total(lambda time_us, interval_us: (time_us + interval_us % DAY_US) % DAY_US)
        case Kind.DATE:
            return partial(_shift_date(back=False))
        case _:
            return partial(_add_integers)


def _make_subtract(call: Call) -> Kernel:  # noqa: PLR0911 - one for each kind
    if _by_months(call):
        return partial(shift_by_months(call.type.kind, -1))
    match call.type.kind:
        case Kind.FLOAT | Kind.DOUBLE:
            return _floating(np.subtract, call)
        case Kind.TINYINT | Kind.SMALLINT:
            return _small(np.subtract, call)
        case Kind.UTINYINT | Kind.USMALLINT | Kind.UINT:
            return _unsigned(np.subtract, call)
        case Kind.TIMESTAMP:
            return partial(_shift(np.subtract, _difference_overflows))
        case Kind.TIME:
            return total(lambda time_us, interval_us: (time_us - interval_us % DAY_US) % DAY_US)
        case Kind.DATE:
            return partial(_shift_date(back=True))
        case Kind.BIGINT if call.arguments[0].type.kind is Kind.DATE:
            return total(lambda left, right: left.astype(np.int64) - right)
        case _:
            return partial(_subtract_integers)


def _make_multiply(call: Call) -> Kernel:
    match call.type.kind:
        case Kind.FLOAT | Kind.DOUBLE:
            return _floating(np.multiply, call)
        case Kind.TINYINT | Kind.SMALLINT:
            return _small(np.multiply, call)
        case Kind.UTINYINT | Kind.USMALLINT | Kind.UINT:
            return _unsigned(np.multiply, call)
        case Kind.INT:
            return partial(_multiply_ints)
        case _:
            return partial(_multiply_bigints)


def _make_divide(call: Call) -> Kernel:
    if call.type.kind in FLOATING:
        return _floating(np.divide, call)
    return partial(_divider(_LEAST[call.type.kind]))


def _interval_scaler(operation: np.ufunc) -> Callable[[Call], Kernel]:
    """Return the maker of an operation of an INTERVAL and a DOUBLE, rounded to the even microsecond."""

    @np.errstate(all="ignore")
    def compute(interval_us: Array, factor: Doubles) -> tuple[Array, Codes | None]:
        scaled = np.rint(operation(interval_us.astype(np.float64), factor))
        fits = (scaled >= -BEYOND_BIGINT) & (scaled < BEYOND_BIGINT)
        codes = np.where(fits, np.int16(0), np.int16(OUT_OF_RANGE))
        if operation is np.divide:
            codes = np.where(factor == 0.0, np.int16(DIVISION_BY_ZERO), codes)
        result = np.where(fits, scaled, 0.0).astype(np.int64)
        return result, codes if codes.any() else None

    return lambda _call: partial(compute)


def _make_modulo(call: Call) -> Kernel:
    if call.type.kind in FLOATING:
        return _floating(np.fmod, call)
    return partial(_modulo)


def _sign_change(operation: np.ufunc) -> Callable[[Call], Kernel]:
    """Return the maker of `negate` or `abs`; the least integer has no opposite, and fails."""

    def make(call: Call) -> Kernel:
        kind = call.type.kind
        if kind in FLOATING:
            return _doubles(operation)
        least = _LEAST[kind]
        if least == 0:  # an unsigned integer is its own absolute value
            return total(lambda values: values)

        def compute(values: Array) -> tuple[Array, Codes | None]:
            return operation(values), codes_where(values == least, OUT_OF_RANGE)

        return partial(compute)

    return make


def _round(values: Doubles) -> Doubles:
    """Round half away from zero; the distance to the truncated value is exact, unlike `+ 0.5`."""
    whole = np.trunc(values)
    return np.where(np.abs(values - whole) >= 0.5, whole + np.sign(values), whole)


def _power(base: Doubles, exponent: Doubles) -> Doubles:
    """Raise to a power with the `pow` of the platform, like scalars; NumPy's own differs in the last bit."""
    base, exponent = np.broadcast_arrays(base, exponent)
    raised = pc.power(
        pa.array(np.ascontiguousarray(base)), pa.array(np.ascontiguousarray(exponent))
    )
    return np.array(raised)


def _double_kernel(operation: Callable[..., Doubles]) -> Callable[[Call], Kernel]:
    def make(_call: Call) -> Kernel:
        return _doubles(operation)

    return make


MAKERS: Final[dict[str, Callable[[Call], Kernel]]] = {
    "add": _make_add,
    "subtract": _make_subtract,
    "multiply": _make_multiply,
    "divide": _make_divide,
    "multiply_interval": _interval_scaler(np.multiply),
    "divide_interval": _interval_scaler(np.divide),
    "modulo": _make_modulo,
    "negate": _sign_change(np.negative),
    "abs": _sign_change(np.abs),
    "floor": _double_kernel(np.floor),
    "ceil": _double_kernel(np.ceil),
    "sqrt": _double_kernel(np.sqrt),
    "round": _double_kernel(_round),
    "power": _double_kernel(_power),
}
