"""Grouping the elements of many rows at once, each row's elements among themselves.

Every key has a small integer code (`key_codes`).  One stable sort of the codes alone, a radix sort where
they fit 16 bits, brings together the elements of equal keys, and since elements come row by row, those of
one row are neighbours in it: the runs of equal (code, row) are the groups.  They are then put in the order
of their first elements, which is that of (row, first appearance in the row).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from fsql.runtime.order import stable_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fsql.runtime.kernels.explode import Elements
    from fsql.runtime.kernels.key_codes import KeyCodes

    Ints = NDArray[np.int64]
    Rows = NDArray[np.int32]

_RADIX_CARD: Final = 1 << 16


class Groups(NamedTuple):
    """The groups of the elements, ordered by row and within a row by first element.

    `order` are the elements group by group, within a group in their order (None: as they are); `sizes`
    how many each group has; `first` the first element of each; `row` and `place` the row of each group
    and its number within the row.
    """

    order: Ints | None
    sizes: Ints
    first: Ints
    row: Rows
    place: Ints


def group(keys: KeyCodes, row: Rows) -> Groups:
    """Group elements by (row, key); rows ascend."""
    codes = keys.codes
    count = len(codes)
    if keys.card <= _RADIX_CARD:
        order = np.argsort(codes.astype(np.uint16), kind="stable")
    else:
        order = stable_order(codes.astype(np.int64))
    sorted_codes, sorted_row = codes[order], row[order]
    begins = np.ones(count + 1, np.bool_)
    np.not_equal(sorted_codes[1:], sorted_codes[:-1], out=begins[1:-1])
    begins[1:-1] |= sorted_row[1:] != sorted_row[:-1]
    starts = np.flatnonzero(begins)
    size = np.diff(starts)
    return _by_first_element(order, starts[:-1], size, row)


def _by_first_element(order: Ints, start: Ints, size: Ints, row: Rows) -> Groups:
    """Put runs of `order` in the order of their first elements, which are all different."""
    group_at = np.full(len(order), -1, np.int64)
    group_at[order[start]] = np.arange(len(start))
    first = np.flatnonzero(group_at >= 0)
    by_first = group_at[first]
    start, size = start[by_first], size[by_first]
    ends = np.cumsum(size)
    moved = np.repeat(start - (ends - size), size)
    moved += np.arange(len(order))
    group_row = row[first]
    return Groups(order[moved], size, first, group_row, _numbered(group_row))


def _numbered(row: Rows) -> Ints:
    """Return the number of each group within its row, from 0; rows ascend."""
    number = np.arange(len(row))
    new = np.ones(len(row), np.bool_)
    np.not_equal(row[1:], row[:-1], out=new[1:])
    starts = np.flatnonzero(new)
    sizes = np.diff(np.append(starts, len(row)))
    return number - np.repeat(starts, sizes)


def one_group_a_row(elements: Elements) -> Groups:
    """Return the groups where there are no keys: one for each row, be it empty."""
    rows = len(elements.lengths)
    first = np.cumsum(elements.lengths) - elements.lengths
    row, index = np.arange(rows, dtype=np.int32), np.zeros(rows, np.int64)
    return Groups(None, elements.lengths, first, row, index)
