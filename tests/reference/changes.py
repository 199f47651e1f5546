"""The changes of a group: from one state of an updating result to the next, labelled and in order."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from fsql.compiler.logical import Changes, SinkTable
from fsql.tests.reference.order import order_key, row_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fsql.compiler.expression import Value
    from fsql.tests.reference.order import Key

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


def labelled(changes: Sequence[Change], sink: SinkTable) -> Iterator[tuple[str, Values]]:
    """Yield each change of one root with its operation, in the order in which it is released."""

    def sink_key(change: Change) -> Key:
        return tuple(order_key(change.values[index]) for index in sink.key or ())

    removed = Counter(sink_key(change) for change in changes if change.weight < 0)
    added = Counter(sink_key(change) for change in changes if change.weight > 0)
    for change in sorted(changes, key=lambda c: (sink_key(c), c.weight, row_key(c.values))):
        key = sink_key(change)
        update = sink.key is not None and removed[key] == added[key] == 1
        operation = {-1: "-U" if update else "-D", 1: "+U" if update else "+I"}[change.weight]
        if operation != "-U" or sink.changes is not Changes.UPSERT:
            yield operation, change.values
