"""The changes of a result at one root position, as a sink receives them.

The weights of equal rows are summed, and rows with the sum 0 are dropped.  The others are labelled by the
sink's key and sorted canonically, so that the result depends neither on the shape of the plan nor on the
order of arrival (docs/internals/semantics.md).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from fsql.compiler.logical import Changes
from fsql.runtime.model.value_order import order, row_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fsql.compiler.graph import Sink
    from fsql.runtime.model.item import Row, Values
    from fsql.runtime.model.value_order import Key


class Change(NamedTuple):
    """One line of output: the label, if the sink has one, and the row."""

    operation: str | None
    row: Values


def consolidate(rows: Iterable[Row]) -> dict[tuple[Key, Key], tuple[Values, int]]:
    """Return the rows whose weights do not sum to 0, with the sums, in the order of the rows."""
    weights: Counter[tuple[Key, Key]] = Counter()
    values: dict[tuple[Key, Key], Values] = {}
    for row in rows:
        identity = row_order(row.values)
        weights[identity] += row.weight
        values.setdefault(identity, row.values)
    return {
        identity: (values[identity], weights[identity])
        for identity in sorted(values)
        if weights[identity]
    }


def appended(sink: Sink, rows: Iterable[Row]) -> Iterator[Change]:
    """Yield the rows of a group of an append-only query, by path and then by their columns."""
    operation = None if sink.table.changes is Changes.APPEND else "+I"
    for row in sorted(rows, key=lambda row: (row.path, row_order(row.values))):
        assert row.weight > 0, "an append-only query retracted a row"
        yield from [Change(operation, row.values)] * row.weight


def changed(sink: Sink, rows: Iterable[Row]) -> Iterator[Change]:
    """Yield the changes of a group of an updating query."""
    for change in labelled(sink.table.key, rows):
        if change.operation != "-U" or sink.table.changes is not Changes.UPSERT:
            yield change


def labelled(key: tuple[int, ...] | None, rows: Iterable[Row]) -> Iterator[Change]:
    """Yield the changes of one root with their kinds by `key`, in the canonical order."""
    removals: Counter[tuple[Key, ...]] = Counter()
    additions: Counter[tuple[Key, ...]] = Counter()
    changes = []
    for place, (values, weight) in consolidate(rows).items():
        of_key = () if key is None else tuple(order(values[index]) for index in key)
        (additions if weight > 0 else removals)[of_key] += abs(weight)
        changes.append((of_key, weight > 0, place, values, abs(weight)))
    for of_key, added, _, values, count in sorted(changes, key=lambda change: change[:3]):
        update = key is not None and removals[of_key] == additions[of_key] == 1
        operation = ("+U" if update else "+I") if added else ("-U" if update else "-D")
        yield from [Change(operation, values)] * count
