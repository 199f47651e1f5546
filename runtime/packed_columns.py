"""Columns of integers packed into fewer columns, and the order of rows that come in runs.

A stable sort of int64 that finds ascending runs takes 15 to 20 ns a row where the rows are nearly in order;
a sort by digits takes 5 to 10 ns a row for each 16 bits, in any order of the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.runtime.arrays import Ints


_ROWS_OF_RUN_MAX: Final = 64
"""If runs are longer than this on average, sorting by digits is faster."""


def pack(columns: Sequence[Ints]) -> list[Ints]:
    """Return fewer columns with the same lexicographic order: neighbours that fit into 63 bits share one."""
    words: list[Ints] = []
    room = 0
    for column in columns:
        least, greatest = int(column.min()), int(column.max())
        bits = (greatest - least).bit_length()
        if bits == 0:
            continue
        if words and bits <= room:
            words[-1] = (words[-1] << bits) | (column - least)
            room -= bits
        elif bits <= 63:
            words.append(column - least)
            room = 63 - bits
        else:
            words.append(column)
            room = 0
    return words or [columns[0]]


def order_within_runs(starts: Ints, columns: Sequence[Ints]) -> Ints | None:
    """Return the stable order by `columns` of the rows of each run; the runs stay in their order.

    Args:
        starts: where the runs begin.
        columns: what the rows of a run are ordered by, the first most significant.

    Returns:
        None if the runs are long: other methods sort them faster.
    """
    count = len(columns[0])
    if len(starts) * _ROWS_OF_RUN_MAX < count:
        return None
    run = np.zeros(count, np.int64)
    run[starts[1:]] = 1
    words = pack([np.cumsum(run), *columns])
    order = np.argsort(words[0], kind="stable")
    if len(words) > 1:
        _order_equal_rows(order, words)
    return order


def _order_equal_rows(order: Ints, words: Sequence[Ints]) -> None:
    """Bring the rows that are equal in the first word into the order of the others, in place."""
    first = words[0][order]
    same = first[1:] == first[:-1]
    equal = np.flatnonzero(np.append(same, False) | np.append(False, same))
    rows = order[equal]
    keys = [word[rows] for word in words]
    order[equal] = rows[np.lexsort(keys[::-1])]
