"""Maps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.manual.entry import ManualEntry, entry

if TYPE_CHECKING:
    from collections.abc import Mapping

TITLE: Final = "Maps"
INTRODUCTION: Final = """\
A map has each key once, and its entries in the order of their keys. Of several entries with one key the last
is kept. `m[k]` and [ELEMENT_AT](arrays.md#element_at) give the value of a key,
[CARDINALITY](arrays.md#cardinality) the number of entries; [MAP_AGG](../language.md#aggregate-functions) makes a
map from many rows.
"""

ENTRIES: Final[Mapping[str, ManualEntry]] = {
    "map_from_entries": entry(
        "The map of entries, as `MAP[k, v, …]` makes it.",
        "MAP_FROM_ENTRIES(ARRAY[ROW('a', 1), ROW('b', 2)]) = MAP['a', 1, 'b', 2]",
        fails="FSQL-E510 if an entry or a key is NULL",
    ),
    "array_histogram": entry(
        "How often each value of an array occurs; NULLs are not counted. HISTOGRAM(x) does the same with the values of a group.",
        "ARRAY_HISTOGRAM(ARRAY['b', 'a', 'b', NULL]) = MAP['a', 1, 'b', 2]",
    ),
    "map_from_arrays": entry(
        "The map of keys and their values.",
        "MAP_FROM_ARRAYS(ARRAY['a', 'b'], ARRAY[1, 2]) = MAP['a', 1, 'b', 2]",
        fails="FSQL-E510 if a key is NULL, or the arrays have different lengths",
    ),
    "map_keys": entry(
        "The keys in their order.", "MAP_KEYS(MAP['b', 2, 'a', 1]) = ARRAY['a', 'b']"
    ),
    "map_values": entry(
        "The values in the order of their keys.", "MAP_VALUES(MAP['b', 2, 'a', 1]) = ARRAY[1, 2]"
    ),
    "map_entries": entry(
        "The entries in the order of their keys, as rows.",
        "MAP_ENTRIES(MAP['a', 1]) = ARRAY[ROW('a', 1)]",
        "MAP_ENTRIES(MAP['a', 1])[1].key = 'a'",
    ),
    "map_contains_key": entry("Whether the map has the key.", "MAP_CONTAINS_KEY(MAP['a', 1], 'a')"),
    "map_contains_value": entry(
        "Whether any key has the value.",
        "MAP_CONTAINS_VALUE(MAP['a', 1], 1)",
        "NOT MAP_CONTAINS_VALUE(MAP['a', 1], 2)",
    ),
    "map_concat": entry(
        "The entries of all maps; for a key of several maps, the entry of the last.",
        "MAP_CONCAT(MAP['a', 1], MAP['a', 2, 'b', 3]) = MAP['a', 2, 'b', 3]",
    ),
    "str_to_map": entry(
        "The map that a text describes, by the separator of its entries, by default `,`, and that of key and value,"
        " by default `=`. An entry without a separator is a key whose value is NULL. An empty separator does"
        " not separate.",
        "STR_TO_MAP('a=1,b=2') = MAP['a', '1', 'b', '2']",
        "STR_TO_MAP('a:1;b', ';', ':') = MAP['a', '1', 'b', NULL]",
    ),
}
