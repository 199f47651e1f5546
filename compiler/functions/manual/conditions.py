"""Conditions and NULL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.manual.entry import ManualEntry, entry, form

if TYPE_CHECKING:
    from collections.abc import Mapping

TITLE: Final = "Conditions and NULL"
INTRODUCTION: Final = """\
`CASE`, `COALESCE`, `IF`, `NVL2` and `DECODE` evaluate only the arguments that they need, so `IF(n = 0, 0, 100 / n)` never divides by zero.
"""

ENTRIES: Final[Mapping[str, ManualEntry]] = {
    "coalesce": entry(
        "The first argument that is not NULL.",
        "COALESCE(NULL, 1, 2) = 1",
        "IFNULL(NULL, 'a') = 'a'",
    ),
    "IF": form(
        "(BOOLEAN, T, T) T",
        "The second argument if the condition is TRUE, else the third.",
        "IF(2 > 1, 'a', 'b') = 'a'",
    ),
    "IIF": form("(BOOLEAN, T, T) T", "As `IF`.", "IIF(2 > 1, 'a', 'b') = 'a'"),
    "NVL2": form(
        "(any, T, T) T",
        "The second argument if the first is not NULL, else the third.",
        "NVL2(NULL, 'a', 'b') = 'b'",
    ),
    "DECODE": form(
        "(T, T, R, ...) R",
        "The first argument is compared with the second, fourth, sixth and so on, where NULL equals NULL; the result is the argument after the first equal one. If none is equal, it is the last argument if the number of arguments is even, else NULL.",
        "DECODE(2, 1, 'a', 2, 'b', 'c') = 'b'",
        "DECODE(3, 1, 'a', 'c') = 'c'",
        "DECODE(NULL, 1, 'a', NULL, 'b') = 'b'",
    ),
    "EQUAL_NULL": form(
        "(T, T) BOOLEAN",
        "Whether the two arguments are equal, where NULL equals NULL, as `IS NOT DISTINCT FROM`; never NULL.",
        "EQUAL_NULL(NULL, NULL)",
        "NOT EQUAL_NULL(1, NULL)",
    ),
    "TYPEOF": form(
        "(any) STRING",
        "The name of the type of the argument, which is not evaluated.",
        "TYPEOF(1.5) = 'DOUBLE'",
    ),
    "NUM_NULLS": form(
        "(any, ...) BIGINT",
        "The number of arguments that are NULL.",
        "NUM_NULLS(1, NULL, 'a', NULL) = 2",
    ),
    "NUM_NONNULLS": form(
        "(any, ...) BIGINT",
        "The number of arguments that are not NULL.",
        "NUM_NONNULLS(1, NULL, 'a') = 2",
    ),
    "NULLIF": form(
        "(T, T) T",
        "NULL if the two arguments are equal, else the first.",
        "NULLIF(1, 1) IS NULL",
        "NULLIF(1, 2) = 1",
    ),
    "greatest": entry(
        "The greatest argument; NULL if any argument is NULL.", "GREATEST(1, 3, 2) = 3"
    ),
    "least": entry("The least argument; NULL if any argument is NULL.", "LEAST(1, 3, 2) = 1"),
}
