"""Arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.manual.entry import Entry, entry

if TYPE_CHECKING:
    from collections.abc import Mapping

TITLE: Final = "Arrays"
INTRODUCTION: Final = """\
Places count from 1. Elements are compared as by `=`, but NULL equals NULL and NaN equals NaN.
"""

ENTRIES: Final[Mapping[str, Entry]] = {
    "cardinality": entry("The number of elements.", "CARDINALITY(ARRAY[1, 2]) = 2"),
    "element_at": entry(
        "The element at a place, as `a[i]`; NULL if there is none.",
        "ELEMENT_AT(ARRAY['a', 'b'], 2) = 'b'",
        "(ARRAY['a'])[2] IS NULL",
    ),
    "join_texts": entry(
        "The texts of an ARRAY of STRING with a separator between them; NULL elements are left out.",
        "ARRAY_JOIN(ARRAY['a', NULL, 'b'], '-') = 'a-b'",
    ),
}
