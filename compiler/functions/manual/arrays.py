"""Arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.functions.manual.entry import ManualEntry, entry, form

if TYPE_CHECKING:
    from collections.abc import Mapping

TITLE: Final = "Arrays"
INTRODUCTION: Final = """\
Positions count from 1. Elements are compared as by `=`, but NULL equals NULL and NaN equals NaN.

A lambda, `x -> a` or `x => a`, has a value for each element, which `x` stands for in `a`. It can use columns, aggregates, other
lambdas and any scalar function, but no subquery; a parameter hides a column of its name. It is computed for all elements in their order,
and the first that fails fails the row. In these functions `->` after a comma and a name begins a lambda; write an access to JSON in
parentheses: `(j -> 'key')`.
"""

ENTRIES: Final[Mapping[str, ManualEntry]] = {
    "cardinality": entry(
        "The number of elements, or of the entries of a map. `ARRAY_LENGTH(a, 1)` is NULL for an empty array.",
        "CARDINALITY(ARRAY[1, 2]) = 2",
        "CARDINALITY(MAP['a', 1]) = 1",
    ),
    "element_at": entry(
        "The element at a position, as `a[i]`, or the value of a key, as `m[k]`; NULL if there is none. A negative constant is refused, since others count it from the end.",
        "ELEMENT_AT(ARRAY['a', 'b'], 2) = 'b'",
        "(ARRAY['a'])[2] IS NULL",
        "ELEMENT_AT(MAP['a', 1], 'a') = 1",
    ),
    "join_texts": entry(
        "The elements, cast to STRING, with a separator between them; NULL elements are skipped, or written as the third argument.",
        "ARRAY_JOIN(ARRAY[1, NULL, 3], '-') = '1-3'",
        "ARRAY_JOIN(ARRAY['a', NULL], ',', '?') = 'a,?'",
        "ARRAY_JOIN(ARRAY['a', NULL, 'b'], '-') = 'a-b'",
    ),
    "array_contains": entry(
        "Whether an element is equal to the value, which may be NULL. NULL for a NULL array.",
        "ARRAY_CONTAINS(ARRAY[1, 2], 2)",
        "ARRAY_CONTAINS(ARRAY[1, NULL], NULL)",
    ),
    "array_contains_all": entry(
        "Whether the first has all elements of the second.",
        "ARRAY_CONTAINS_ALL(ARRAY[1, 2, 3], ARRAY[3, 1])",
    ),
    "arrays_overlap": entry(
        "Whether the two have an element in common.", "ARRAYS_OVERLAP(ARRAY[1, 2], ARRAY[2, 3])"
    ),
    "array_position": entry(
        "The position of the first element that is equal to the value; 0 if there is none.",
        "ARRAY_POSITION(ARRAY['a', 'b'], 'b') = 2",
    ),
    "array_positions": entry(
        "The positions of all elements that are equal to the value; an empty array if there are none.",
        "ARRAY_POSITIONS(ARRAY['a', 'b', 'a'], 'a') = ARRAY[1, 3]",
    ),
    "flatten": form(
        "(ARRAY<ARRAY<T>>) ARRAY<T>",
        "The elements of the arrays in an array, one array after the other; NULL arrays are skipped.",
        "FLATTEN(ARRAY[ARRAY[1, 2], ARRAY[3]]) = ARRAY[1, 2, 3]",
        "FLATTEN(ARRAY[ARRAY[1], NULL]) = ARRAY[1]",
    ),
    "array_distinct": entry(
        "Each element once, where it first occurs.", "ARRAY_DISTINCT(ARRAY[1, 2, 1]) = ARRAY[1, 2]"
    ),
    "array_concat": entry(
        "The elements of all, one array after the other: `a || b`.",
        "ARRAY_CONCAT(ARRAY[1], ARRAY[2]) = ARRAY[1, 2]",
    ),
    "array_union": entry(
        "The elements of either, each once.",
        "ARRAY_UNION(ARRAY[1, 2], ARRAY[2, 3]) = ARRAY[1, 2, 3]",
    ),
    "array_intersect": entry(
        "The elements of the first that the second has, each once.",
        "ARRAY_INTERSECT(ARRAY[1, 2], ARRAY[2, 3]) = ARRAY[2]",
    ),
    "array_except": entry(
        "The elements of the first that the second does not have, each once.",
        "ARRAY_EXCEPT(ARRAY[1, 2], ARRAY[2, 3]) = ARRAY[1]",
    ),
    "array_remove": entry(
        "The elements that are not equal to a value, which may be NULL. NULL for a NULL array.",
        "ARRAY_REMOVE(ARRAY[1, 2, 1], 1) = ARRAY[2]",
        "ARRAY_REMOVE(ARRAY[1, NULL], NULL) = ARRAY[1]",
    ),
    "array_replace": entry(
        "The array with elements that are equal to a value replaced by another; either may be NULL. NULL for a NULL array.",
        "ARRAY_REPLACE(ARRAY[1, 2], 1, 3) = ARRAY[3, 2]",
    ),
    "array_append": entry(
        "The array with an element appended, which may be NULL. NULL for a NULL array.",
        "ARRAY_APPEND(ARRAY[1], 2) = ARRAY[1, 2]",
    ),
    "array_prepend": entry(
        "The array with an element prepended, which may be NULL. NULL for a NULL array. The element may be the first argument, as in PostgreSQL.",
        "ARRAY_PREPEND(2, ARRAY[1]) = ARRAY[2, 1]",
        "ARRAY_PREPEND(ARRAY[1], 2) = ARRAY[2, 1]",
    ),
    "array_insert": entry(
        "The array with an element, which may be NULL, inserted at a position; a position out of range is replaced by the nearest one. NULL for a NULL array or position.",
        "ARRAY_INSERT(ARRAY[1, 2], 2, 3) = ARRAY[1, 3, 2]",
    ),
    "array_repeat": entry(
        "A value, which may be NULL, n times. NULL for a NULL count.",
        "ARRAY_REPEAT('a', 2) = ARRAY['a', 'a']",
        fails="FSQL-E502 for more than 1,000,000 elements",
    ),
    "array_reverse": entry(
        "The elements in reverse order.", "ARRAY_REVERSE(ARRAY[1, 2]) = ARRAY[2, 1]"
    ),
    "array_sort": entry(
        "The elements in order; descending if the second argument is FALSE. NULL comes last ascending, first descending, unless the third argument says whether it is first.",
        "ARRAY_SORT(ARRAY[2, NULL, 1]) = ARRAY[1, 2, NULL]",
        "ARRAY_SORT(ARRAY[1, 2], FALSE) = ARRAY[2, 1]",
        "ARRAY_SORT(ARRAY[2, NULL, 1], TRUE, TRUE) = ARRAY[NULL, 1, 2]",
    ),
    "array_compact": entry(
        "The elements that are not NULL.", "ARRAY_COMPACT(ARRAY[1, NULL]) = ARRAY[1]"
    ),
    "array_slice": entry(
        "The elements from one position to another, or to the end, both included; negative positions count from the end.",
        "ARRAY_SLICE(ARRAY[1, 2, 3], 2, 3) = ARRAY[2, 3]",
        "ARRAY_SLICE(ARRAY[1, 2, 3], -1) = ARRAY[3]",
    ),
    "trim_array": entry(
        "The array without its last n elements.",
        "TRIM_ARRAY(ARRAY[1, 2, 3], 1) = ARRAY[1, 2]",
        fails="FSQL-E502 unless n is from 0 to the number of elements",
    ),
    "array_first": entry(
        "The first element; NULL if there is none.", "ARRAY_FIRST(ARRAY[1, 2]) = 1"
    ),
    "array_last": entry("The last element; NULL if there is none.", "ARRAY_LAST(ARRAY[1, 2]) = 2"),
    "array_min": entry(
        "The least element that is not NULL; NULL if there is none.",
        "ARRAY_MIN(ARRAY[2, NULL, 1]) = 1",
    ),
    "array_max": entry(
        "The greatest element that is not NULL; NULL if there is none.",
        "ARRAY_MAX(ARRAY[2, NULL, 1]) = 2",
    ),
    "array_sum": entry(
        "The sum of the elements that are not NULL; NULL if there is none. That of DOUBLE is rounded once.",
        "ARRAY_SUM(ARRAY[1, NULL, 2]) = 3",
        fails="FSQL-E502 if the sum of integers is out of range",
    ),
    "array_avg": entry(
        "The mean of the elements that are not NULL, as a DOUBLE; NULL if there is none.",
        "ARRAY_AVG(ARRAY[1, 2]) = 1.5",
    ),
    "TRANSFORM": form(
        "(ARRAY<T>, x -> R) ARRAY<R>; (MAP<K, V>, (k, v) -> L, (k, v) -> W) MAP<L, W>",
        "The values of a lambda for the elements; of a map, keys and values by a lambda each. NULL for a NULL array or map.",
        "TRANSFORM(ARRAY[1, 2], x -> x * 10) = ARRAY[10, 20]",
        "TRANSFORM(MAP['a', 1], (k, v) -> UPPER(k), (k, v) -> v + 1) = MAP['A', 2]",
        fails="as the lambda does, and FSQL-E510 if a key becomes NULL",
        also=("LIST_TRANSFORM", "ARRAY_TRANSFORM", "LIST_APPLY", "ARRAY_APPLY"),
    ),
    "FILTER": form(
        "(ARRAY<T>, x -> BOOLEAN) ARRAY<T>; (MAP<K, V>, (k, v) -> BOOLEAN) MAP<K, V>",
        "The elements, or the entries, for which a lambda is TRUE. NULL for a NULL array or map.",
        "FILTER(ARRAY[1, NULL, 3], x -> x > 1) = ARRAY[3]",
        "FILTER(MAP['a', 1, 'b', 2], (k, v) -> v > 1) = MAP['b', 2]",
        fails="as the lambda does",
        also=("LIST_FILTER", "ARRAY_FILTER"),
    ),
    "REDUCE": form(
        "(ARRAY<T>, R, (total, x) -> R) R; (MAP<K, V>, R, (total, k, v) -> R) R",
        "The last value of an accumulator: it begins with the second argument, and a lambda computes it anew for each element. The type is the common type of the second argument and the lambda, a DECIMAL with 38 digits. NULL for a NULL array or map. The last two arguments may be swapped, as in DuckDB.",
        "REDUCE(ARRAY[1, 2, 3], 0, (total, x) -> total + x) = 6",
        "REDUCE(ARRAY['a', 'b'], '', (s, x) -> s || x) = 'ab'",
        "REDUCE(MAP['a', 1, 'b', 2], 0, (total, k, v) -> total + v) = 3",
        fails="as the lambda does",
        also=("LIST_REDUCE", "ARRAY_REDUCE"),
    ),
    "ANY_MATCH": form(
        "(ARRAY<T>, x -> BOOLEAN) BOOLEAN",
        "Whether a lambda is TRUE for any element; else NULL if it is NULL for one. NULL for a NULL array.",
        "ANY_MATCH(ARRAY[1, 2], x -> x > 1)",
        "ANY_MATCH(ARRAY[1, NULL], x -> x > 1) IS NULL",
        fails="as the lambda does",
    ),
    "ALL_MATCH": form(
        "(ARRAY<T>, x -> BOOLEAN) BOOLEAN",
        "Whether a lambda is FALSE for no element; NULL if it is NULL for one and FALSE for none. NULL for a NULL array.",
        "ALL_MATCH(ARRAY[1, 2], x -> x > 0)",
        fails="as the lambda does",
    ),
    "NONE_MATCH": form(
        "(ARRAY<T>, x -> BOOLEAN) BOOLEAN",
        "Whether a lambda is TRUE for no element: the opposite of `ANY_MATCH`. NULL for a NULL array.",
        "NONE_MATCH(ARRAY[1, 2], x -> x > 2)",
        fails="as the lambda does",
    ),
    "TRANSFORM_KEYS": form(
        "(MAP<K, V>, (k, v) -> L) MAP<L, V>",
        "The map with the keys that a lambda gives. NULL for a NULL map.",
        "TRANSFORM_KEYS(MAP['a', 1], (k, v) -> k || v::STRING) = MAP['a1', 1]",
        fails="as the lambda does, and FSQL-E510 if a key becomes NULL",
    ),
    "TRANSFORM_VALUES": form(
        "(MAP<K, V>, (k, v) -> W) MAP<K, W>",
        "The map with the values that a lambda gives. NULL for a NULL map.",
        "TRANSFORM_VALUES(MAP['a', 1], (k, v) -> v + 1) = MAP['a', 2]",
        fails="as the lambda does",
    ),
    "MAP_FILTER": form(
        "(MAP<K, V>, (k, v) -> BOOLEAN) MAP<K, V>",
        "The entries for which a lambda is TRUE, as `FILTER`. NULL for a NULL map.",
        "MAP_FILTER(MAP['a', 1, 'b', 2], (k, v) -> k > 'a') = MAP['b', 2]",
        fails="as the lambda does",
    ),
    "sequence": entry(
        "The whole numbers from one to another, both included, by a step, which is 1 or -1 by default.",
        "SEQUENCE(1, 3) = ARRAY[1, 2, 3]",
        "SEQUENCE(5, 1, -2) = ARRAY[5, 3, 1]",
        fails="FSQL-E502 if the step is 0, and for more than 1,000,000 elements",
    ),
}
