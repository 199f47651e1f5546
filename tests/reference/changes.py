"""The changes of a group: from one state of an updating result to the next, labelled and in order."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from fsql.tests.reference.order import order_key, row_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fsql.compiler.expression import Value
    from fsql.tests.reference.order import Key
    from fsql.tests.reference.relations import Root, Row

    Values = tuple[Value, ...]


class Change(NamedTuple):
    """Values that came (weight 1) or went (weight -1)."""

    values: Values
    weight: int


def difference(before: Sequence[Values], after: Sequence[Values]) -> list[Change]:
    """Return what makes `before` into `after`; rows are equal if all values are equal and the same."""
    rows = {row_key(values): values for values in (*before, *after)}
    weights = Counter(row_key(values) for values in after)
    weights.subtract(row_key(values) for values in before)
    return [
        Change(rows[key], 1 if weight > 0 else -1)
        for key, weight in weights.items()
        for _ in range(abs(weight))
    ]


def labelled(
    changes: Sequence[Change], key: tuple[int, ...] | None
) -> Iterator[tuple[str, Values]]:
    """Yield each change of one root with its kind by `key`, in the order in which it is released."""

    def of(change: Change) -> Key:
        return tuple(order_key(change.values[index]) for index in key or ())

    removed = Counter(of(change) for change in changes if change.weight < 0)
    added = Counter(of(change) for change in changes if change.weight > 0)
    for change in sorted(changes, key=lambda c: (of(c), c.weight, row_key(c.values))):
        update = key is not None and removed[of(change)] == added[of(change)] == 1
        yield (
            {-1: "-U" if update else "-D", 1: "+U" if update else "+I"}[change.weight],
            change.values,
        )


def steps(
    states: Iterable[tuple[Root, Sequence[Row]]], key: tuple[int, ...] | None
) -> Iterator[tuple[Root, int, Values]]:
    """Yield the changes from one state to the next: the root, their number there, values and kind."""
    before: Sequence[Values] = ()
    for root, rows in states:
        after = [row.values for row in rows]
        for index, (kind, values) in enumerate(labelled(difference(before, after), key)):
            yield root, index, (*values, kind)
        before = after
