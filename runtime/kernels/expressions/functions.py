"""The table of column functions: for each name of `fsql.compiler.functions.table`, its implementation.

A maker is given the bound call and returns the kernel for its types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.date_arithmetic import DATE_ARITHMETIC
from fsql.compiler.functions.elementary import ELEMENTARY
from fsql.compiler.functions.encodings import ENCODINGS
from fsql.compiler.functions.regular_expressions import REGULAR_EXPRESSIONS
from fsql.compiler.functions.texts import TEXTS
from fsql.compiler.functions.time_texts import TIME_TEXTS
from fsql.runtime.kernels.expressions import (
    functions_arithmetic,
    functions_array,
    functions_calendar,
    functions_comparison,
    functions_logic,
    functions_string,
    functions_time,
    rows,
)
from fsql.runtime.kernels.expressions.per_value import per_value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fsql.compiler.expression import Call
    from fsql.runtime.kernels.expressions.vectors import Kernel

_VALUE_BY_VALUE: Final = (
    *TEXTS,
    *ENCODINGS,
    *REGULAR_EXPRESSIONS,
    *ELEMENTARY,
    *TIME_TEXTS,
    *DATE_ARITHMETIC,
)
"""The functions that are computed value by value, unless another table below has them."""

MAKERS: Final[Mapping[str, Callable[[Call], Kernel]]] = {
    **{function.name: per_value for function in _VALUE_BY_VALUE},
    **functions_logic.MAKERS,
    **functions_comparison.MAKERS,
    **functions_arithmetic.MAKERS,
    **functions_string.MAKERS,
    **functions_array.MAKERS,
    **functions_time.MAKERS,
    **functions_calendar.MAKERS,
    **rows.MAKERS,
}
