"""The table of column functions: for each name of `fsql.compiler.functions.table`, its implementation.

A maker takes the bound call and returns the kernel for its types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.array_operations import ARRAY_OPERATIONS
from fsql.compiler.functions.date_arithmetic import DATE_ARITHMETIC
from fsql.compiler.functions.elementary import ELEMENTARY
from fsql.compiler.functions.encodings import ENCODINGS
from fsql.compiler.functions.failing import FAILING
from fsql.compiler.functions.json_clauses import JSON_CLAUSES
from fsql.compiler.functions.json_functions import JSON_FUNCTIONS
from fsql.compiler.functions.maps import MAPS
from fsql.compiler.functions.mathematics import MATHEMATICS
from fsql.compiler.functions.python_functions import PREFIX, loaded_function
from fsql.compiler.functions.regular_expressions import REGULAR_EXPRESSIONS
from fsql.compiler.functions.text_operations import TEXT_OPERATIONS
from fsql.compiler.functions.texts import TEXTS
from fsql.compiler.functions.time_texts import TIME_TEXTS
from fsql.compiler.functions.urls import URLS
from fsql.runtime.kernels.expressions import (
    functions_arithmetic,
    functions_array,
    functions_comparison,
    functions_logic,
    functions_map,
    functions_regexp,
    functions_string,
    functions_time,
    rows,
)
from fsql.runtime.kernels.expressions.per_value import per_value
from fsql.runtime.kernels.expressions.python_arrays import array_kernel

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
    *JSON_FUNCTIONS,
    *JSON_CLAUSES,
    *FAILING,
    *ARRAY_OPERATIONS,
    *URLS,
    *TEXT_OPERATIONS,
    *MATHEMATICS,
    *MAPS,
)
"""The functions that are computed value by value, unless a table below contains a columnar form."""


def _unary_kernel(call: Call) -> Kernel:
    """Return the kernel of a function whose columnar form has only one argument."""
    if len(call.arguments) > 1:
        return per_value(call)
    return {**functions_string.MAKERS, **functions_arithmetic.MAKERS}[call.function](call)


MAKERS: Final[Mapping[str, Callable[[Call], Kernel]]] = {
    **{function.name: per_value for function in _VALUE_BY_VALUE},
    **functions_logic.MAKERS,
    **functions_comparison.MAKERS,
    **functions_arithmetic.MAKERS,
    **functions_string.MAKERS,
    **functions_regexp.MAKERS,
    **dict.fromkeys(("trim", "ltrim", "rtrim", "round"), _unary_kernel),
    **functions_array.MAKERS,
    **functions_map.MAKERS,
    **functions_time.MAKERS,
    **rows.MAKERS,
}


def maker_of(function: str) -> Callable[[Call], Kernel]:
    """Return the maker of the kernels of a function, by name."""
    if not function.startswith(PREFIX):
        return MAKERS[function]
    return per_value if loaded_function(function).arrays is None else array_kernel
