"""The table that changes make, by key or by equal rows."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from fsql.tests.reference.order import normalised, order_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fsql.compiler.expression import Value
    from fsql.compiler.sqltypes import SqlType
    from fsql.tests.reference.order import Key
    from fsql.tests.reference.relations import Root

    Values = tuple[Value, ...]


class Applied(NamedTuple):
    """A change: the columns of the key, whether the row is there afterwards, and its other columns.

    With `picks` it removes the row of its key only if that has the same values there.
    """

    root: Root
    key: Values
    present: bool
    values: Values
    marks: str | None = None
    """Where a value, or a field of a ROW, is left out, one digit for each; None if nothing is."""
    picks: tuple[int, ...] | None = None


def applied(root: Root, values: Values, width: int, marks: Value = None) -> Applied:
    """Return a change, whose key has `width` columns; whether the row is there follows it."""
    key = tuple(normalised(value) for value in values[:width])
    lacks = marks if isinstance(marks, str) else None
    return Applied(root, key, values[width] is True, values[width + 1 :], lacks)


def made_whole(
    changes: Iterable[Applied], types: Sequence[SqlType], places: Sequence[int]
) -> tuple[list[Applied], set[Root]]:
    """Return the changes with the values that they leave out, and the roots of those that no row has.

    The digit of a value is at its place; those of the fields of a ROW follow it.
    """
    rows: dict[Key, Values] = {}
    whole: list[Applied] = []
    failed: set[Root] = set()
    for change in changes:
        key = _key(change)
        if change.marks is not None and change.present:
            if key not in rows:
                failed.add(change.root)
                continue
            values = tuple(
                filled(new, old, type_, list(change.marks[place:]))
                for new, old, type_, place in zip(
                    change.values, rows[key], types, places, strict=True
                )
            )
            change = change._replace(values=values)  # noqa: PLW2901
        rows.pop(key, None)
        if change.present:
            rows[key] = change.values
        whole.append(change)
    return whole, failed


def filled(new: Value, old: Value, type_: SqlType, digits: list[str]) -> Value:
    """Return a value, or an older one where it is left out; takes its digits from the front of the list."""
    lacks = digits.pop(0) == "1"
    if not type_.fields:
        return old if lacks else new
    fields = [
        filled(
            new[index] if isinstance(new, tuple) else None,
            old[index] if isinstance(old, tuple) else None,
            child,
            digits,
        )
        for index, (_, child) in enumerate(type_.fields)
    ]
    if lacks:
        return old
    return None if new is None else tuple(fields)


def last_rows(changes: Iterable[Applied]) -> Iterator[Values]:
    """Yield the rows of a table with a key: the last change of a key that has an effect leaves it."""
    table: dict[Key, Applied] = {}
    for change in changes:
        key = _key(change)
        if change.present:
            table[key] = change
        elif key in table and _picked(change, change.picks) == _picked(table[key], change.picks):
            del table[key]
    return (change.key + change.values for change in table.values())


def _picked(change: Applied, picks: tuple[int, ...] | None) -> list[object]:
    return [order_key(normalised(change.values[index])) for index in picks or ()]


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
