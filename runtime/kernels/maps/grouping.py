"""Grouping the elements of many rows at once; only elements of the same row are grouped.

Every key has a small integer code (`key_codes`).  One stable sort of the codes alone, a radix sort where
they fit 16 bits, makes the elements of equal keys adjacent.  Elements are given row by row, so those of
one row remain adjacent: the runs of equal (code, row) are the groups.  The groups are then sorted by
their first elements, which is the order of (row, first occurrence in the row).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from fsql.runtime.order import stable_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fsql.runtime.arrays import Ints
    from fsql.runtime.kernels.maps.explode import Elements
    from fsql.runtime.kernels.maps.key_codes import KeyCodes

    Rows = NDArray[np.int32]

_RADIX_CARD: Final = 1 << 16


class ElementGroups(NamedTuple):
    """The groups of the elements, ordered by row and within a row by first element.

    `order` has the elements group by group, within a group in their order (None: unchanged); `sizes` the
    number of elements of each group; `first` the first element of each; `row` and `ordinal` the row of each
    group and its number within the row; `lengths` the number of groups of each row.
    """

    order: Ints | None
    sizes: Ints
    first: Ints
    row: Rows
    ordinal: Ints
    lengths: Ints


def group(keys: KeyCodes, row: Rows, rows: int) -> ElementGroups:
    """Group elements by (row, key); rows ascend and are less than `rows`."""
    codes = keys.codes
    if keys.card <= _RADIX_CARD:
        order = codes.astype(np.uint16).argsort(kind="stable")
    else:
        order = stable_order(codes.astype(np.int64))
    sorted_codes = codes[order]
    begins = np.empty(len(codes) + 1, np.bool_)
    begins[0] = begins[-1] = True
    np.not_equal(sorted_codes[1:], sorted_codes[:-1], out=begins[1:-1])
    if rows > 1:
        sorted_row = row[order]
        begins[1:-1] |= sorted_row[1:] != sorted_row[:-1]
    bounds = begins.nonzero()[0]
    start, sizes = bounds[:-1], bounds[1:] - bounds[:-1]
    order, sizes, first = _by_first_element(order, start, sizes)
    if rows == 1:
        ordinal = np.arange(len(first))
        return ElementGroups(
            order, sizes, first, row[: len(first)], ordinal, np.array([len(first)])
        )
    return ElementGroups(order, sizes, first, *_number_groups(row[first], rows))


def _by_first_element(order: Ints, start: Ints, sizes: Ints) -> tuple[Ints, Ints, Ints]:
    """Sort runs of `order` by their first elements, which are all different.

    Returns the new order, the runs' sizes, and their first elements.
    """
    first = order[start]
    if np.count_nonzero(first[1:] < first[:-1]) == 0:
        return order, sizes, first
    run_at = np.zeros(len(order), np.int32)
    run_at[first] = np.arange(1, len(start) + 1, dtype=np.int32)
    first = (run_at != 0).nonzero()[0]
    by_first = run_at[first] - 1
    start, sizes = start[by_first], sizes[by_first]
    # Differences between neighbours of `order`: a jump at the start of each run, 1 elsewhere.
    step = np.ones(len(order), np.int64)
    step[0] = start[0]
    step[sizes.cumsum()[:-1]] = start[1:] - start[:-1] - sizes[:-1] + 1
    return order[step.cumsum(out=step)], sizes, first


def _number_groups(row: Rows, rows: int) -> tuple[Rows, Ints, Ints]:
    """Return `row`, the number of each group within its row, and the number of groups of each row."""
    begins = np.empty(len(row) + 1, np.bool_)
    begins[0] = begins[-1] = True
    np.not_equal(row[1:], row[:-1], out=begins[1:-1])
    bounds = begins.nonzero()[0]
    start, count = bounds[:-1], bounds[1:] - bounds[:-1]
    ordinal = np.arange(len(row))
    ordinal -= start.repeat(count)
    lengths = np.zeros(rows, np.int64)
    lengths[row[start]] = count
    return row, ordinal, lengths


def one_group_a_row(elements: Elements) -> ElementGroups:
    """Return the groups without keys: one for each row, even if it is empty."""
    rows = len(elements.lengths)
    first = elements.lengths.cumsum() - elements.lengths
    row, ordinal = np.arange(rows, dtype=np.int32), np.zeros(rows, np.int64)
    return ElementGroups(None, elements.lengths, first, row, ordinal, np.ones(rows, np.int64))
