"""Conditions and NULL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.manual.entry import Entry, entry, form

if TYPE_CHECKING:
    from collections.abc import Mapping

TITLE: Final = "Conditions and NULL"
INTRODUCTION: Final = """\
`CASE`, `COALESCE`, `IF` and `NULLIF` evaluate only the arguments that they need, so `IF(n = 0, 0, 100 / n)` never divides by zero.
"""

ENTRIES: Final[Mapping[str, Entry]] = {
    "coalesce": entry(
        "The first that is not NULL.", "COALESCE(NULL, 1, 2) = 1", "IFNULL(NULL, 'a') = 'a'"
    ),
    "IF": form(
        "(BOOLEAN, T, T) T",
        "The second where the condition is TRUE, else the third.",
        "IF(2 > 1, 'a', 'b') = 'a'",
    ),
    "NULLIF": form(
        "(T, T) T",
        "NULL where the two are equal, else the first.",
        "NULLIF(1, 1) IS NULL",
        "NULLIF(1, 2) = 1",
    ),
    "greatest": entry("The greatest; NULL if any argument is.", "GREATEST(1, 3, 2) = 3"),
    "least": entry("The least; NULL if any argument is.", "LEAST(1, 3, 2) = 1"),
}
