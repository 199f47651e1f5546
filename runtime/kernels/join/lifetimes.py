"""Lifetimes: the roots between which each row of a multiset exists, within one application.

A history has, for each slot and payload, the weight at root 0 (before the application) and the changes of
weight at roots 1, 2, …  The added units of weight of a payload are numbered, and so are the removed ones:
unit n exists from the root at which it is added to the root at which it is removed.  (First in, first out:
any other assignment has the same sums, and this one is linear in the changes.)  If unit n is removed before
it is added, which happens while input is out of order, it has weight -1 in between.

    changes of a payload    +2@0  -1@3  +1@5  -2@6
    lifetimes               1 unit [0, 3)   1 unit [0, 6)   1 unit [5, 6)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from fsql.runtime.kernels.join.net_rows import WeightedRows, ranges
from fsql.runtime.order import identity_codes, lexicographic_order, starts_of_runs

if TYPE_CHECKING:
    from fsql.runtime.arrays import Bools, Ints


BEFORE: Final = 0
"""The root of the rows that exist before the application."""


class History(NamedTuple):
    """Rows, the root at which each is added (with a negative weight: removed), and the payload's number.

    There is one row for each slot, payload and root; the rows are sorted by these.
    """

    rows: WeightedRows
    root: Ints
    payload: Ints


def history(rows: WeightedRows, root: Ints, keys: int) -> History:
    """Return the history that rows make, each with its root; the first `keys` columns are the key."""
    codes = [rows.slot, *(identity_codes(column) for column in rows.columns[keys:]), root]
    order = lexicographic_order(codes)
    if order is None:
        order = np.arange(len(root))
    codes = [code[order] for code in codes]
    starts = starts_of_runs(*codes)
    sums = np.add.reduceat(rows.weight[order], starts)
    kept = np.flatnonzero(sums)
    starts = starts[kept]
    codes = [code[starts] for code in codes]
    payload = np.zeros(len(starts), np.int64)
    payload[starts_of_runs(*codes[:-1])] = 1
    netted = rows.take(order[starts])._replace(weight=sums[kept])
    return History(netted, codes[-1], np.cumsum(payload))


class Lifetimes(NamedTuple):
    """Lifetimes `[start, end)` of units of weight, sorted by (slot, start).

    `row` is a row of the history that has the slot and the payload.
    """

    row: Ints
    slot: Ints
    start: Ints
    end: Ints
    weight: Ints

    def take(self, rows: Ints) -> Lifetimes:
        """Return the lifetimes at the given indexes."""
        return Lifetimes(*(column[rows] for column in self))


def lifetimes(of: History, end: int) -> Lifetimes:
    """Return the lifetimes in a history; those that do not end have `end`, greater than all roots."""
    weight = of.rows.weight
    got = weight > 0
    units = _running_sums(np.where(got, weight, 0), of.payload)
    lost = _running_sums(np.where(got, 0, -weight), of.payload)
    last_unit = np.where(got, units, lost)
    order = lexicographic_order([of.payload, last_unit])
    if order is None:
        order = np.arange(len(last_unit))
    payload, last_unit = of.payload[order], last_unit[order]
    size = np.diff(last_unit, prepend=0)
    starts = starts_of_runs(payload)
    size[starts] = last_unit[starts]
    begins = _next_root(got[order], of.root[order], payload, end)
    ends = _next_root(~got[order], of.root[order], payload, end)
    made = Lifetimes(
        order,
        of.rows.slot[order],
        np.minimum(begins, ends),
        np.maximum(begins, ends),
        np.where(begins < ends, size, -size),
    ).take(np.flatnonzero((size > 0) & (begins != ends)))
    by_start = lexicographic_order([made.slot, made.start])
    return made if by_start is None else made.take(by_start)


def _running_sums(values: Ints, payload: Ints) -> Ints:
    """Return the running sums of the values, which begin at 0 for each payload."""
    sums = np.cumsum(values)
    starts = starts_of_runs(payload)
    before = sums[starts] - values[starts]
    return sums - np.repeat(before, np.diff(np.append(starts, len(values))))


def _next_root(marked: Bools, root: Ints, payload: Ints, end: int) -> Ints:
    """Return for each row the root of the first marked row of its payload at or after it, or `end`."""
    count = len(root)
    indexes = np.where(marked, np.arange(count), count)
    following = np.minimum.accumulate(indexes[::-1])[::-1]
    found = following < count
    inside = np.where(found, following, 0)
    found &= payload[inside] == payload
    return np.where(found, root[inside], end)


def overlaps(left: Lifetimes, right: Lifetimes, end: int) -> tuple[Ints, Ints]:
    """Return the pairs of lifetimes of one slot that share a root, as indexes into both."""
    (low, size), (other_low, other_size) = _overlap_ranges(left, right, end)
    lefts, starting_in_left = ranges(low, size)
    rights, starting_in_right = ranges(other_low, other_size)
    return (
        np.concatenate([lefts, starting_in_right]),
        np.concatenate([starting_in_left, rights]),
    )


def overlap_count(left: Lifetimes, right: Lifetimes, end: int) -> int:
    """Return the number of pairs that `overlaps` returns."""
    return sum(int(size.sum()) for _, size in _overlap_ranges(left, right, end))


def _overlap_ranges(
    left: Lifetimes, right: Lifetimes, end: int
) -> tuple[tuple[Ints, Ints], tuple[Ints, Ints]]:
    """Return for each left lifetime the range of right ones that start within it, and vice versa.

    If two lifetimes share a root, one starts within the other; the lifetimes of a slot that start within a
    lifetime are adjacent.  If both start at one root, the right one counts as starting within the left one.
    """
    left_start, right_start = (_composite(side, side.start, end) for side in (left, right))
    left_end, right_end = (_composite(side, side.end, end) for side in (left, right))
    low = right_start.searchsorted(left_start, "left")
    other_low = left_start.searchsorted(right_start, "right")
    return (
        (low, right_start.searchsorted(left_end, "left") - low),
        (other_low, left_start.searchsorted(right_end, "left") - other_low),
    )


def _composite(of: Lifetimes, root: Ints, end: int) -> Ints:
    """Return integers that order (slot, root)."""
    return of.slot * (end + 1) + root
