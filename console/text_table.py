"""Tables of text with aligned columns, for lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def text_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return titles and rows with their columns aligned on the left, a line each.

    >>> print(text_table(("name", "n"), [("a", "10")]), end="")
    name  n
    a     10
    """
    lines = [tuple(titles), *(tuple(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(titles))]
    return "".join(
        "  ".join(f"{text:<{width}}" for text, width in zip(line, widths, strict=True)).rstrip()
        + "\n"
        for line in lines
    )
