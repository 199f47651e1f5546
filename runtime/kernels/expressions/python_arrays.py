"""Python functions over Arrow arrays (`vectorized`): one call for the rows of a batch.

The function receives the rows that have not failed and, if it is strict, that have no NULL.  If it raises, or
does not return an array of its type, the rows are computed one by one, so that a row does not fail because of
another one.  The first rows are also computed alone, to check that the value of a row does not depend on
other rows.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.functions.python_functions import PROBES, loaded_function, sample
from fsql.compiler.functions.python_values import NotOfTypeError
from fsql.compiler.functions.table import match_call
from fsql.compiler.sqltypes import DATE_MAX, DATE_MIN, TIMESTAMP_MAX, TIMESTAMP_MIN, Kind
from fsql.runtime.arrow_types import arrow_type, from_arrow, to_arrow
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.kernels.expressions.strict import all_valid, leftmost_failure
from fsql.runtime.kernels.expressions.vectors import (
    Vector,
    common_length,
    first_failure,
    from_array,
    to_array,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from fsql.compiler.expression import Call, Value
    from fsql.compiler.functions.python_functions import Types
    from fsql.compiler.sqltypes import SqlType
    from fsql.runtime.arrays import Bools
    from fsql.runtime.kernels.expressions.vectors import Codes, Kernel

ARRAY_KINDS: Final = frozenset(
    {
        Kind.BOOLEAN,
        Kind.INT,
        Kind.BIGINT,
        Kind.DOUBLE,
        Kind.DECIMAL,
        Kind.STRING,
        Kind.DATE,
        Kind.TIMESTAMP,
    }
)
"""The kinds of values that functions over arrays take and return."""
_RANGES: Final = {
    Kind.DATE: (DATE_MIN, DATE_MAX),
    Kind.TIMESTAMP: (TIMESTAMP_MIN, TIMESTAMP_MAX),
}


def over_one_row(compute: Callable[..., object], types: Types) -> Callable[..., object]:
    """Return a function over the values of one row that calls a function over arrays."""
    arrow_types = [arrow_type(each) for each in types.parameters]

    def of_row(*given: object) -> object:
        arrays = [pa.array([value], type_) for value, type_ in zip(given, arrow_types, strict=True)]
        return _check(compute(*arrays), types.returns, 1)[0].as_py()

    return of_row


def _check(result: object, sql_type: SqlType, count: int) -> pa.Array:
    """Return the array that a function has returned.

    Raises:
        NotOfTypeError: if it is not an array, or has another type or length.
    """
    if isinstance(result, pa.ChunkedArray):
        result = result.combine_chunks()
    if not isinstance(result, pa.Array):
        raise NotOfTypeError(f"a value of type {type(result).__name__}, and not an Arrow array")
    if len(result) != count:
        raise NotOfTypeError(f"an array of another length than its arguments have, for {sql_type}")
    wanted = arrow_type(sql_type)
    if result.type != wanted:
        raise NotOfTypeError(f"an array of {result.type}, and not of {wanted}")
    return result


def array_kernel(call: Call) -> Kernel:
    """Return the kernel of a call of a function over arrays."""
    function = loaded_function(call.function)
    compute = function.arrays
    assert compute is not None
    match = match_call(call)
    scalar = match.signature.scalar
    probe = _Probe(function.name, scalar, match.result)

    def kernel(arguments: Sequence[Vector]) -> Vector:
        count = common_length(arguments)
        pairs = zip(arguments, match.parameters, strict=True)
        columns = [decode_dictionary(to_array(argument, type_, count)) for argument, type_ in pairs]
        failed = leftmost_failure(arguments)
        computed = _rows_to_compute(
            failed, all_valid(arguments) if function.strict else None, count
        )
        given = columns
        if computed is not None:
            given = [each.take(pa.array(computed)) for each in columns]
        rows_count = count if computed is None else len(computed)
        codes = np.zeros(count, np.int16)
        result = _compute_all(compute, given, match.result, rows_count)
        if result is None:
            values, own = _one_by_one(scalar, _rows(given, match.parameters))
            codes[slice(None) if computed is None else computed] = own
            result = to_arrow(values, match.result)
        else:
            probe(_rows([each[:PROBES] for each in given], match.parameters), result)
        if computed is not None:
            indexes = np.full(count, -1, np.int64)
            indexes[computed] = np.arange(len(computed))
            result = result.take(pa.array(indexes, mask=indexes < 0))
        made, made_valid, _ = from_array(result, match.result)
        return Vector(made, made_valid, first_failure(failed, codes if codes.any() else None))

    return kernel


def _rows_to_compute(
    failed: Codes | None, valid: Bools | None, count: int
) -> NDArray[np.int64] | None:
    """Return the rows that are computed, ascending; None for all."""
    if failed is None and valid is None:
        return None
    computed = np.ones(count, np.bool_)
    if failed is not None:
        computed &= failed == 0
    if valid is not None:
        computed &= valid
    return np.flatnonzero(computed)


def _rows(columns: Sequence[pa.Array], types: Sequence[SqlType]) -> list[tuple[Value, ...]]:
    listed = [from_arrow(each, type_) for each, type_ in zip(columns, types, strict=True)]
    return list(zip(*listed, strict=True))


def _compute_all(
    compute: Callable[..., object], given: list[pa.Array], sql_type: SqlType, count: int
) -> pa.Array | None:
    """Return the values of all rows; None if one of them fails."""
    if count == 0:
        return pa.nulls(0, arrow_type(sql_type))
    try:
        result = _check(compute(*given), sql_type, count)
        result.validate(full=True)
        if sql_type.kind is Kind.DOUBLE:  # every NaN is the canonical one
            return pc.if_else(pc.is_nan(result), math.nan, result)
        if sql_type.kind in _RANGES:
            whole = result.cast(pa.int64() if sql_type.kind is Kind.TIMESTAMP else pa.int32())
            low, high = pc.min_max(whole).as_py().values()
            least, greatest = _RANGES[sql_type.kind]
            if low is not None and (low < least or high > greatest):
                return None
    except MemoryError:
        raise
    except (Exception, SystemExit):  # noqa: BLE001 - the rows are computed one by one
        return None
    return result


def _one_by_one(
    scalar: Callable[..., Value], rows: Sequence[tuple[Value, ...]]
) -> tuple[list[Value], Codes]:
    values: list[Value] = []
    codes = np.zeros(len(rows), np.int16)
    for index, row in enumerate(rows):
        try:
            values.append(scalar(*row))
        except RowFailure as failure:
            values.append(None)
            codes[index] = failure.code
    return values, codes


class _Probe:
    """Computes the first rows of a kernel separately, and compares the values."""

    def __init__(self, name: str, scalar: Callable[..., Value], sql_type: SqlType) -> None:
        self._name = name
        self._type = sql_type
        self._scalar = scalar
        self._left = PROBES

    def __call__(self, rows: Sequence[tuple[Value, ...]], result: pa.Array) -> None:
        """Compare the values of the first rows.

        Raises:
            FsqlError: E402, if a row has another value alone.
        """
        if not self._left:
            return
        rows = rows[: self._left]
        self._left -= len(rows)
        alone, _ = _one_by_one(self._scalar, rows)
        for value, own in zip(from_arrow(result[: len(rows)], self._type), alone, strict=True):
            if repr(own) != repr(value):
                raise FsqlError([_depends_on_others(self._name, value, own)])


def _depends_on_others(name: str, value: object, alone: object) -> Diagnostic:
    message = f"function {name} is not deterministic: the value of a row depends on other rows"
    notes = (f"in an array it returned {value!r} for a row, and for this row alone {alone!r}",)
    helps = ("compute each element of the result from the same elements of the arguments",)
    return Diagnostic("E402", message, notes=notes, helps=helps)


def check_alone(name: str, compute: Callable[..., object], types: Types) -> None:
    """Check with a sample that the value of a row does not depend on others; one that raises passes.

    Raises:
        FsqlError: E402, if it does.
    """
    rows = sample(types.parameters)
    columns = list(zip(*rows, strict=True))
    try:
        given = [
            to_arrow(each, type_) for each, type_ in zip(columns, types.parameters, strict=True)
        ]
        together = _check(compute(*given), types.returns, len(rows)).to_pylist()
        alone = [
            over_one_row(compute, types)(*(each[i : i + 1][0].as_py() for each in given))
            for i in range(len(rows))
        ]
    except (Exception, SystemExit):  # noqa: BLE001 - what fails is found when rows are computed
        return
    for value, own in zip(together, alone, strict=True):
        if repr(own) != repr(value):
            raise FsqlError([_depends_on_others(name, value, own)])
