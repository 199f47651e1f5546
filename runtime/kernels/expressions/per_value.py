"""Functions that have no columnar form: the function of the plan, computed once for each distinct value.

Values are Python values, as for a single row, so that both have the same result.  A column with a dictionary
is computed over its dictionary.  Rows that have failed are left out: their values may be out of the range of
the type.
"""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from fsql.compiler.functions.failure import RowFailure
from fsql.compiler.functions.table import FUNCTIONS, match_call
from fsql.compiler.sqltypes import FLOATING, STRUCTURED
from fsql.runtime.arrow_types import from_arrow, to_arrow
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.kernels.expressions.strict import leftmost_failure, over_dictionary
from fsql.runtime.kernels.expressions.vectors import (
    Vector,
    common_length,
    first_failure,
    from_array,
    to_array,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.compiler.expression import Call, Value
    from fsql.runtime.kernels.expressions.vectors import Kernel


def per_value(call: Call) -> Kernel:
    """Return the kernel of `call`."""
    match = match_call(call)
    compute = _guard(match.signature.scalar, strict=FUNCTIONS[call.function].strict)
    types = match.parameters
    # Values of other types are distinguished by `==`.
    exact = not any(kind.kind in (*FLOATING, *STRUCTURED) for kind in types)

    def kernel(arguments: Sequence[Vector]) -> Vector:
        count = common_length(arguments)
        given = [_values(argument, kind) for argument, kind in zip(arguments, types, strict=True)]
        columns = [values if len(values) == count else values * count for values in given]
        rows = [*zip(*columns, strict=True)] if columns else [()]
        failed = leftmost_failure(arguments)
        keys = rows if exact else [tuple(map(_identity, row)) for row in rows]
        if failed is None:
            computed = dict(zip(keys, rows, strict=True))
        else:
            computes = (np.broadcast_to(failed, count) == 0).tolist()
            computed = dict(compress(zip(keys, rows, strict=True), computes))
        known = {key: compute(row) for key, row in computed.items()}
        made = [known.get(key, (None, 0)) for key in keys]
        results = [value for value, _ in made]
        codes = np.fromiter((code for _, code in made), np.int16, count)
        own = codes if codes.any() else None
        values, valid, _ = from_array(to_arrow(results, call.type), call.type)
        return Vector(values, valid, first_failure(failed, own))

    return over_dictionary(kernel) if FUNCTIONS[call.function].strict else kernel


def _values(argument: Vector, kind: object) -> list[Value]:
    array = to_array(argument, kind, len(argument.values))  # type: ignore[arg-type]
    return from_arrow(decode_dictionary(array), kind)  # type: ignore[arg-type]


def _identity(value: Value) -> object:
    """Return a key that distinguishes values: -0.0 is not 0.0, also inside an array or a row."""
    return repr(value) if isinstance(value, float | tuple) else value


def _guard(
    scalar: Callable[..., Value], *, strict: bool
) -> Callable[[tuple[Value, ...]], tuple[Value, int]]:
    """Return the function with its failure as a code; a strict one returns NULL for NULL."""

    def compute(row: tuple[Value, ...]) -> tuple[Value, int]:
        if strict and None in row:
            return None, 0
        try:
            return scalar(*row), 0
        except RowFailure as failure:
            return None, failure.code

    return compute
