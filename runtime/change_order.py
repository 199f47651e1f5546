"""The canonical order of the changes of a group, and which of them are updates."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from fsql.runtime.few_rows import FEW_ROWS
from fsql.runtime.order import (
    canonical_rank,
    fixed_width,
    identity_codes,
    lexicographic_order,
    starts_of_runs,
)
from fsql.runtime.ties import tie_breaking_codes

if TYPE_CHECKING:
    from fsql.runtime.arrays import Ints
    from fsql.runtime.batch import Batch


class ChangeOrder(NamedTuple):
    """The rows in canonical order, and where in it the removal of an update is followed by its addition."""

    rows: Ints
    paired: Ints


def canonical_order(rows: Batch, key: tuple[int, ...] | None) -> ChangeOrder:
    """Return the order of rows that are consolidated."""
    if len(rows) == 1:
        return ChangeOrder(np.zeros(1, np.int64), np.empty(0, np.int64))
    weight = rows.weights()
    columns, direction = _by_key(rows, key or ()), np.where(weight > 0, 1, 0)
    order = _order([*columns, direction])
    in_order = [column[order] for column in columns]
    if len(starts_of_runs(*in_order, direction[order])) < len(order):
        leading = [*takewhile(lambda column: fixed_width(column.type), rows.columns)]
        codes = [*columns, direction, *map(canonical_rank, leading)]
        codes = tie_breaking_codes(codes, rows.columns[len(leading) :], canonical_rank)
        order = _order(codes)
    if key is None or len(order) < 2:
        return ChangeOrder(order, np.empty(0, np.int64))
    starts = starts_of_runs(*in_order)
    sizes = np.diff(np.append(starts, len(order)))
    weight = weight[order]
    pairs = starts[sizes == 2]
    return ChangeOrder(order, pairs[(weight[pairs] == -1) & (weight[pairs + 1] == 1)])


def order_of_replacements(rows: Batch, key: tuple[int, ...] | None) -> ChangeOrder | None:
    """Return the order of rows that are consolidated as they are, since a key has two at most at a root.

    This is the usual case: one row of a key replaces another.  The rows are then sorted only once, and by
    the key alone.  None if a key has other changes, or there are only a few rows.
    """
    weight = rows.weights()
    if key is None or len(rows) <= FEW_ROWS or not (np.abs(weight) == 1).all():
        return None
    columns = _by_key(rows, key)
    order = _order([*columns, weight])
    starts = starts_of_runs(*(column[order] for column in columns))
    sizes = np.diff(np.append(starts, len(order)))
    pairs = starts[sizes == 2]
    removed, added = order[pairs], order[pairs + 1]
    if (sizes > 2).any() or (weight[removed] == weight[added]).any():
        return None
    others = [column for index, column in enumerate(rows.columns) if index not in key]
    if not _all_differ(others, removed, added):
        return None
    return ChangeOrder(order, pairs)


def _all_differ(columns: list[pa.Array], some: Ints, others: Ints) -> bool:
    """Return whether each row of `some` differs in a column from the one at the same index of `others`."""
    for column in sorted(columns, key=lambda column: not fixed_width(column.type)):
        if not len(some):
            break
        codes = identity_codes(column.take(pa.array(np.concatenate([some, others]))))
        same = codes[: len(some)] == codes[len(some) :]
        some, others = some[same], others[same]
    return not len(some)


def _by_key(rows: Batch, key: tuple[int, ...]) -> list[Ints]:
    return [rows.time, rows.origin, *(canonical_rank(rows.columns[index]) for index in key)]


def _order(columns: list[Ints]) -> Ints:
    order = lexicographic_order(columns)
    return np.arange(len(columns[0])) if order is None else order
