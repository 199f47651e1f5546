"""M4: the points of a line that decide its pixels.

`runtime.kernels.accumulators.line_points` says which they are, for the aggregate M4 of SQL too, and why they
suffice.  Here x is a number, and the points are chosen from rows that a page has; points of one x keep their
order.

The points at each side of the shown range are kept as well, so the line reaches the border.  Not promised:
which of several points with the same least value is kept (it is the first).

`tests/ui/test_m4.py` compares pixels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fsql.runtime.kernels.accumulators.line_points import points_of_runs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Indices = NDArray[np.int64]


def kept_points(x: Floats, y: Floats, start: float, end: float, width: int) -> Indices:
    """Return the indices of the kept points, in the order of the line: by x, then as given.

    `start` is less than `end`, and no value is NaN.  At most `4 * width + 2` are returned.
    """
    order = _by_x(x)
    sorted_x = x if order is None else x[order]
    first, last = np.searchsorted(sorted_x, [start, end], side="left")
    shown_x = sorted_x[first:last]
    shown_y = (y if order is None else y[order])[first:last]
    kept = _of_columns(shown_x, shown_y, start, end, width) + first
    beside = [at for at in (int(first) - 1, int(last)) if 0 <= at < len(x)]
    kept = np.unique(np.concatenate([kept, np.array(beside, np.int64)]))
    return kept if order is None else order[kept]


def _by_x(x: Floats) -> Indices | None:
    """Return the order by x, None if the points have it."""
    if len(x) < 2 or bool((x[1:] >= x[:-1]).all()):
        return None
    return np.argsort(x, kind="stable")


def _of_columns(x: Floats, y: Floats, start: float, end: float, width: int) -> Indices:
    """Return the indices of the points that are kept of each column, not sorted; x is sorted."""
    if len(x) == 0:
        return np.empty(0, np.int64)
    columns = np.minimum(np.floor((x - start) * (width / (end - start))), width - 1)
    begins = np.flatnonzero(np.concatenate([[True], columns[1:] != columns[:-1]]))
    return np.concatenate(points_of_runs(begins, x, y))
