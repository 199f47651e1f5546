"""Names of columns that have none in the text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def make_distinct_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names, with numbers appended to repeated ones.

    >>> make_distinct_names(["sum", "count", "sum"])
    ('sum', 'count', 'sum_2')
    """
    seen: dict[str, int] = {}
    made = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        made.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return tuple(made)
