"""An analysis: for which types equal values are indistinguishable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.sqltypes import FLOATING

if TYPE_CHECKING:
    from fsql.compiler.sqltypes import SqlType


def equal_means_same(kind: SqlType) -> bool:
    """Return whether no expression can distinguish equal values of the type.

    -0.0 and 0.0 are equal, but their texts and reciprocals differ, so it is false for FLOAT and DOUBLE.
    """
    return not kind.contains(*FLOATING)
