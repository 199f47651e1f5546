"""Functions that an expression cannot call, with what to use instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_COLUMN = "read the value from a column of the input"

NOT_DETERMINISTIC: Final[Mapping[str, str]] = {
    "RAND": _COLUMN,
    "RANDOM": _COLUMN,
    "RAND_INTEGER": _COLUMN,
    "UUID": _COLUMN,
    "GEN_RANDOM_UUID": _COLUMN,
    "SYSDATE": "use NOW(), the time of the row",
}
"""The functions whose value does not depend on the input only, by name, and what to do instead.

The result of a query is the same at every replay, so it depends on the input only.
"""

WINDOW_FUNCTIONS: Final = ("TUMBLE", "HOP", "SESSION", "CUMULATE")
"""Functions of FROM or GROUP BY, not of expressions."""

WINDOW_BOUNDS: Final[Mapping[str, str]] = {
    f"{window}_{bound}": f"use the column {column}"
    for window in WINDOW_FUNCTIONS
    for bound, column in (
        ("START", "window_start"),
        ("END", "window_end"),
        ("ROWTIME", "window_time"),
    )
}
"""The calls that ask for a window's bounds; these are columns."""
