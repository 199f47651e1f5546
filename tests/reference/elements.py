"""UNNEST of one array."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.compiler.expression import Value

    Values = tuple[Value, ...]


def elements(array: Value, *, ordinality: bool) -> Iterator[Values]:
    """Yield the columns that UNNEST adds for each element; NULL is empty."""
    if array is not None:
        assert isinstance(array, tuple)
        for ordinal, element in enumerate(array, 1):
            yield (element, ordinal) if ordinality else (element,)
