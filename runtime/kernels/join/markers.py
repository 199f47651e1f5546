"""Markers: for each slot, a row that exists while a side has no row in the slot, or while it has one.

An outer join is an inner join in which a side has a row of NULLs while it has no other row:

    right side    -          u@2        -u@5                 marker "absent"    +@0   -@2   +@5
    left side     x@1                                         x with NULLs       +@1   -@2   +@5

A left row paired with the marker is an unmatched row.  SEMI and ANTI joins use only the marker, present or
absent.  The cost is linear in the changes, and in the rows that gain their first partner or lose the last
one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fsql.runtime.kernels.join.lifetimes import BEFORE, History
from fsql.runtime.kernels.join.net_rows import WeightedRows
from fsql.runtime.order import lexicographic_order, starts_of_runs

if TYPE_CHECKING:
    from fsql.runtime.arrays import Ints


def marker(
    slots: Ints, weights: Ints, changed: tuple[Ints, Ints, Ints], *, present: bool
) -> History:
    """Return the history of the markers of `slots`, which ascend.

    Args:
        slots: All slots that change in either side.
        weights: The number of the side's rows in each of them before.
        changed: The slot, the root and the weight of each row that changes in the side.
        present: If true, the marker exists while there are rows; if false, while there are no rows.
    """
    slot, root, weight = changed
    slot = np.concatenate([slots, slot])
    root = np.concatenate([np.full(len(slots), BEFORE), root])
    weight = np.concatenate([weights, weight])
    order = lexicographic_order([slot, root])
    if order is not None:
        slot, root, weight = slot[order], root[order], weight[order]
    # Every slot begins with its weight before, so the sums of each slot follow from those over all slots.
    total = np.cumsum(weight)
    firsts = starts_of_runs(slot)
    before = np.repeat(total[firsts] - weight[firsts], np.diff(np.append(firsts, len(slot))))
    last = np.append(starts_of_runs(slot, root)[1:], len(slot)) - 1
    slot, root = slot[last], root[last]
    marked = (((total - before)[last] > 0) == present).astype(np.int64)
    previous = np.roll(marked, 1)
    previous[starts_of_runs(slot)] = 0
    step = marked - previous
    kept = np.flatnonzero(step)
    payload = np.cumsum(np.diff(slot[kept], prepend=-1) != 0)
    return History(WeightedRows((), slot[kept], step[kept]), root[kept], payload)


def flips(of: History) -> Ints:
    """Return the slots in which a marker changes, ascending."""
    return np.unique(of.rows.slot[of.root > BEFORE])
