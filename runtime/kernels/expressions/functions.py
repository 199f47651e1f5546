"""The table of column functions: for each name of `fsql.compiler.functions.table`, its implementation.

A maker is given the bound call and returns the kernel for its types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.runtime.kernels.expressions import (
    functions_arithmetic,
    functions_array,
    functions_comparison,
    functions_logic,
    functions_string,
    functions_time,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fsql.compiler.expression import Call
    from fsql.runtime.kernels.expressions.vectors import Kernel

MAKERS: Final[Mapping[str, Callable[[Call], Kernel]]] = {
    **functions_logic.MAKERS,
    **functions_comparison.MAKERS,
    **functions_arithmetic.MAKERS,
    **functions_string.MAKERS,
    **functions_array.MAKERS,
    **functions_time.MAKERS,
}
