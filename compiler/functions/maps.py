"""Functions on maps, whose entries are in the order of their keys (`map_entries`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fsql.compiler.functions.failure import NoMapFailure
from fsql.compiler.functions.map_entries import key_identity, map_of_entries
from fsql.compiler.functions.ordering import compare
from fsql.compiler.functions.signature import Function, Match, Signature, TypeVariable
from fsql.compiler.functions.strings import separator_error
from fsql.compiler.sqltypes import BIGINT, BOOLEAN, STRING, STRUCTURED, Kind, array_of, map_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.expression import Value
    from fsql.compiler.sqltypes import SqlType

    Map = tuple[Any, ...]


def value_at(entries: Map, key: Value) -> Value:
    """Return the value of a key, NULL if the map does not have it."""
    wanted = key_identity(key)
    return next((value for each, value in entries if key_identity(each) == wanted), None)


def _has_key(entries: Map, key: Value) -> bool:
    wanted = key_identity(key)
    return any(key_identity(each) == wanted for each, _ in entries)


def _has_value(entries: Map, wanted: Value) -> bool:
    return any(compare(value, wanted) == 0 for _, value in entries)


def _map_of_arrays(keys: tuple[Value, ...], values: tuple[Value, ...]) -> Map:
    if len(keys) != len(values):
        raise NoMapFailure(f"MAP of {len(keys)} keys and {len(values)} values")
    return map_of_entries(zip(keys, values, strict=True))


def _concat(*maps: Map) -> Map:
    return map_of_entries(entry for each in maps for entry in each)


def _histogram(values: tuple[Value, ...]) -> Map:
    """Return how often each value that is not NULL occurs."""
    counts: dict[object, tuple[Value, int]] = {}
    for value in values:
        if value is not None:
            identity = key_identity(value)
            counts[identity] = value, counts.get(identity, (value, 0))[1] + 1
    return map_of_entries(counts.values())


def _histogram_signature(types: tuple[SqlType, ...]) -> Match | None:
    """Return the signature of ARRAY_HISTOGRAM for the type of an array."""
    element = types[0].element if len(types) == 1 and types[0].kind is Kind.ARRAY else None
    if element is None or element.kind in STRUCTURED or element.kind is Kind.NULL:
        return None
    result = map_of(element, BIGINT)
    return Match(Signature(types, result, _histogram), types, result)


def _map_of_text(text: str, between: str = ",", within: str = "=") -> Map:
    """Return the map of `a=1,b=2`; a part without a separator is a key whose value is NULL."""
    parts = text.split(between) if between else [text]
    pairs = (part.partition(within) if within else (part, "", "") for part in parts)
    return map_of_entries((key, value if found else None) for key, found, value in pairs)


def _separator_errors(constants: Sequence[object]) -> tuple[int, str] | None:
    for index, given in enumerate(constants):
        if index and isinstance(given, str) and (wrong := separator_error(given)):
            return index, wrong
    return None


_MAP: Final = TypeVariable.MAP
_KEY: Final = TypeVariable.KEY
_TEXTS: Final = map_of(STRING, STRING)

MAPS: Final = (
    Function(
        "map_from_entries",
        ("MAP_FROM_ENTRIES", "MAP[]"),
        (Signature((TypeVariable.ENTRIES,), _MAP, map_of_entries, fallible=True),),
    ),
    Function(
        "map_from_arrays",
        ("MAP_FROM_ARRAYS", "AS_MAP", "MAP_FROM_KEY_VALUES"),
        (Signature((TypeVariable.KEYS, TypeVariable.VALUES), _MAP, _map_of_arrays, fallible=True),),
    ),
    Function(
        "array_histogram",
        ("ARRAY_HISTOGRAM", "LIST_HISTOGRAM"),
        (Signature((array_of(STRING),), map_of(STRING, BIGINT), _histogram),),
        of_types=_histogram_signature,
    ),
    Function(
        "map_keys",
        ("MAP_KEYS",),
        (Signature((_MAP,), TypeVariable.KEYS, lambda m: tuple(key for key, _ in m)),),
    ),
    Function(
        "map_values",
        ("MAP_VALUES",),
        (Signature((_MAP,), TypeVariable.VALUES, lambda m: tuple(value for _, value in m)),),
    ),
    Function(
        "map_entries",
        ("MAP_ENTRIES",),
        (Signature((_MAP,), TypeVariable.ENTRIES, lambda m: m),),
    ),
    Function(
        "map_contains_key",
        ("MAP_CONTAINS_KEY", "MAP_CONTAINS"),
        (Signature((_MAP, _KEY), BOOLEAN, _has_key),),
    ),
    Function(
        "map_contains_value",
        ("MAP_CONTAINS_VALUE",),
        (Signature((_MAP, TypeVariable.VALUE), BOOLEAN, _has_value),),
    ),
    Function(
        "map_concat",
        ("MAP_CONCAT", "MAP_UNION", "MAP_CAT"),
        (Signature((_MAP,), _MAP, _concat, variadic=True),),
    ),
    Function(
        "str_to_map",
        ("STR_TO_MAP",),
        (
            Signature((STRING,), _TEXTS, _map_of_text),
            Signature((STRING, STRING), _TEXTS, _map_of_text),
            Signature((STRING, STRING, STRING), _TEXTS, _map_of_text),
        ),
        constants_check=_separator_errors,
    ),
)
