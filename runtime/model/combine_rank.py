"""Ranks: the rows of a partition in their order, and those within the limit before and after each row."""

from __future__ import annotations

from collections import Counter
from functools import total_ordering
from typing import TYPE_CHECKING, NamedTuple

from fsql.compiler.functions.evaluate import evaluate
from fsql.compiler.logical import RankFunction
from fsql.compiler.records import dataclass
from fsql.runtime.model.item import Punctuation, Row, State
from fsql.runtime.model.value_order import order, row_order

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fsql.compiler.graph import CombineRank
    from fsql.compiler.logical import OrderKey
    from fsql.runtime.batch import Root
    from fsql.runtime.model.item import Values
    from fsql.runtime.model.value_order import Key


class RankKey(NamedTuple):
    """The sort key of a row, and the key that orders rows with equal sort keys."""

    order: Key
    tie: tuple[object, ...]


class Weighted(NamedTuple):
    """A row of a partition, with its number of occurrences."""

    values: Values
    weight: int


Ranked = dict[RankKey, Weighted]


@total_ordering
@dataclass(frozen=True)
class Descending:
    """A key that sorts in the opposite order."""

    key: Key

    def __lt__(self, other: Descending) -> bool:
        """Return whether this key sorts first."""
        return other.key < self.key


def combine_rank(
    function: CombineRank, before: Ranked | None, item: Row | Punctuation, root: Root
) -> State | None:
    """Return the state after `item`; None after a punctuation that does not emit rows."""
    ranked = before or {}
    if isinstance(item, Punctuation):
        final = _changes(function, ranked, {}) if function.final else ()
        return State(item, final, None) if final else None
    rank_key = _rank_key(function, item, root)
    weight = item.weight + (ranked[rank_key].weight if rank_key in ranked else 0)
    after = {other: row for other, row in ranked.items() if other != rank_key}
    if weight:
        after[rank_key] = Weighted(item.values, weight)
    if function.final:
        return State(item, (), after)
    return State(item, _changes(function, after, ranked), after)


def _rank_key(function: CombineRank, row: Row, root: Root) -> RankKey:
    keys = tuple(_order_key(key, row.values) for key in function.order)
    if function.by_position:
        return RankKey(keys, (root, row.path, row_order(row.values)))
    return RankKey(keys, row_order(row.values))


def _order_key(key: OrderKey, values: Values) -> Key:
    value = evaluate(key.expression, values)
    if value is None:
        return (0 if key.nulls_first else 2,)
    return (1, Descending(order(value)) if key.descending else order(value))


def _ranked_rows(function: CombineRank, ranked: Mapping[RankKey, Weighted]) -> Iterator[Values]:
    """Yield the rows whose rank is in the result, with their ranks if the query returns them."""
    count = rank = dense = 0
    last: Key | None = None
    for rank_key in sorted(ranked):
        row = ranked[rank_key]
        for _ in range(row.weight):
            count += 1
            if rank_key.order != last:
                last, rank, dense = rank_key.order, count, dense + 1
            number = {
                RankFunction.ROW_NUMBER: count,
                RankFunction.RANK: rank,
                RankFunction.DENSE_RANK: dense,
            }[function.function]
            if function.skipped < number and (function.limit is None or number <= function.limit):
                yield (*row.values, number) if function.ranked else row.values


def _changes(
    function: CombineRank, after: Mapping[RankKey, Weighted], before: Mapping[RankKey, Weighted]
) -> tuple[Row, ...]:
    """Return the rows that are in the result after but not before, and retractions of the opposite."""
    weights: Counter[object] = Counter()
    rows: dict[object, Values] = {}
    for ranked, weight in ((after, 1), (before, -1)):
        for values in _ranked_rows(function, ranked):
            same = row_order(values)
            rows[same] = values
            weights[same] += weight
    path = (function.scan_number,)
    return tuple(Row(rows[same], path, weight) for same, weight in weights.items() if weight)
