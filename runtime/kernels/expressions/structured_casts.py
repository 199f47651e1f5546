"""Casts between STRING and the types with parts, whose texts have no columnar form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fsql.compiler.functions.casts import cast_value
from fsql.compiler.functions.failure import RowFailure
from fsql.runtime.arrow_types import from_arrow, to_arrow
from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.kernels.expressions.vectors import Vector, first_failure, from_array, to_array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.expression import Value
    from fsql.compiler.sqltypes import SqlType
    from fsql.runtime.kernels.expressions.vectors import Kernel


def cast_by_value(source: SqlType, target: SqlType) -> Kernel:
    """Return the kernel of a cast between STRING and a type with parts, which is made for each row."""

    def kernel(arguments: Sequence[Vector]) -> Vector:
        (argument,) = arguments
        count = len(argument.values)
        given = from_arrow(decode_dictionary(to_array(argument, source, count)), source)
        if argument.failed is not None:
            usable = np.broadcast_to(argument.failed, count) == 0
            given = [value if each else None for value, each in zip(given, usable, strict=True)]
        values: list[Value] = []
        codes = np.zeros(count, np.int16)
        for index, value in enumerate(given):
            try:
                values.append(cast_value(value, source, target))
            except RowFailure as failure:
                values.append(None)
                codes[index] = failure.code
        own = codes if codes.any() else None
        made, valid, _ = from_array(to_arrow(values, target), target)
        return Vector(made, valid, first_failure(argument.failed, own))

    return kernel
