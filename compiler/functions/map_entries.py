"""The one form of a map: its entries by ascending key, each key once.

Keys are equal as in `ordering`: NaN equals NaN, and -0.0 is 0.0.  Of several entries with one key the last
counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from fsql.compiler.functions.failure import NoMapFailure

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fsql.compiler.expression import Value

_Item = TypeVar("_Item")


def map_of_entries(entries: Iterable[Any]) -> tuple[Value, ...]:
    """Return the map with these entries, pairs of a key and a value.

    Raises:
        NoMapFailure: E510, if an entry or a key is NULL.
    """
    last: dict[object, tuple[Value, Value]] = {}
    for entry in entries:
        if entry is None:
            raise NoMapFailure("entry of a MAP is NULL")
        key, value = entry
        if key is None:
            raise NoMapFailure("key of a MAP is NULL")
        last[key_identity(key)] = (key + 0.0 if isinstance(key, float) else key, value)
    return tuple(by_key(last.values()))


def key_identity(key: Value) -> object:
    """Return what equal keys have in common, as a key of a dict."""
    return key if key == key else "NaN"  # noqa: PLR0124 - only NaN differs from itself


def by_key(entries: Iterable[tuple[Value, _Item]]) -> list[tuple[Value, _Item]]:
    """Return entries, whose keys are distinct, in the order of the keys; NaN is the greatest."""
    return sorted(entries, key=lambda entry: key_order(entry[0]))


def key_order(key: Any) -> tuple[bool, Any]:  # noqa: ANN401 - a value that can be compared
    """Return what a key sorts by."""
    return key != key, key  # noqa: PLR0124 - only NaN differs from itself
