"""Maps: pairs of a key and a value, sorted by key, of which each comes once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fsql.tests.reference.failure import NO_MAP, FailureError
from fsql.tests.reference.order import normalised, order_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def map_from(pairs: Iterable[Any]) -> tuple[Any, ...]:
    """Return the map of pairs; a pair replaces an earlier one with the same key.

    Raises:
        FailureError: a pair or a key is NULL.
    """
    made: list[tuple[Any, Any]] = []
    for pair in pairs:
        if pair is None or pair[0] is None:
            raise FailureError(NO_MAP)
        made = [each for each in made if order_key(each[0]) != order_key(pair[0])]
        made.append((normalised(pair[0]), pair[1]))
    return tuple(sorted(made, key=lambda each: order_key(each[0])))


def _of_arrays(keys: tuple[Any, ...], values: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(keys) != len(values):
        raise FailureError(NO_MAP)
    return map_from(list(zip(keys, values, strict=True)))


def _of_text(text: str, between: str = ",", within: str = "=") -> tuple[Any, ...]:
    pairs = []
    for part in text.split(between) if between else [text]:
        at = part.find(within) if within else -1
        pair = (part, None) if at < 0 else (part[:at], part[at + len(within) :])
        pairs.append(pair)
    return map_from(pairs)


def at_key(entries: tuple[Any, ...], key: Any) -> Any:
    """Return the value of a key; NULL where there is no such key."""
    found = [value for each, value in entries if order_key(each) == order_key(key)]
    return found[0] if found else None


def _keys(entries: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(pair[0] for pair in entries)


def _values(entries: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(pair[1] for pair in entries)


def _counted(values: tuple[Any, ...]) -> tuple[Any, ...]:
    keys = [order_key(each) for each in values]
    return map_from((each, keys.count(order_key(each))) for each in values if each is not None)


MAP_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "map_from_entries": map_from,
    "map_from_arrays": _of_arrays,
    "array_histogram": _counted,
    "map_keys": _keys,
    "map_values": _values,
    "map_entries": lambda a: a,
    "map_contains_key": lambda a, b: order_key(b) in map(order_key, _keys(a)),
    "map_contains_value": lambda a, b: order_key(b) in map(order_key, _values(a)),
    "map_concat": lambda *a: map_from(sum(a, ())),
    "str_to_map": _of_text,
}
"""The functions of maps, over values that are not NULL."""
