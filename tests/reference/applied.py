"""The table that changes make, by key or by equal rows."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from fsql.tests.reference.order import normalised, order_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fsql.compiler.expression import Value
    from fsql.tests.reference.order import Key
    from fsql.tests.reference.relations import Root

    Values = tuple[Value, ...]


class Applied(NamedTuple):
    """A change: the columns of the key, whether the row is there afterwards, and its other columns."""

    root: Root
    key: Values
    present: bool
    values: Values


def applied(root: Root, values: Values, width: int) -> Applied:
    """Return a change, whose key has `width` columns; whether the row is there follows it."""
    key = tuple(normalised(value) for value in values[:width])
    return Applied(root, key, values[width] is True, values[width + 1 :])


def last_rows(changes: Iterable[Applied]) -> Iterator[Values]:
    """Yield the rows of a table with a key: the last change of a key says whether it has one, and which."""
    last = {_key(change): change for change in changes}
    return (change.key + change.values for change in last.values() if change.present)


def remaining_rows(changes: Iterable[Applied]) -> Iterator[Values]:
    """Yield the rows of a table without a key: those that were put in, less those that were taken out."""
    changes = list(changes)
    rows = {_key(change): change.key for change in changes}
    counts: Counter[Key] = Counter()
    for change in changes:
        counts[_key(change)] += 1 if change.present else -1
    return (rows[key] for key, count in counts.items() for _ in range(count))


def missing_rows(changes: Sequence[Applied]) -> set[Root]:
    """Return the roots after which more equal rows have been taken out than were put in."""
    counts: Counter[Key] = Counter()
    found = set()
    for index, change in enumerate(changes):
        counts[_key(change)] += 1 if change.present else -1
        is_last = index + 1 == len(changes) or changes[index + 1].root != change.root
        if is_last and min(counts.values()) < 0:
            found.add(change.root)
    return found


def _key(change: Applied) -> Key:
    return tuple(order_key(value) for value in change.key)
