"""Rows that are dated far ahead of the rows around them, in tables at rest with the option `max_ahead`.

Contract.  A row is ahead if its time is after those of all rows before it that are not ahead themselves, by
more than `max_ahead`, and after those of at least half of the rows that follow, by as much.  The rows that
follow are the next `FOLLOWING_ROWS` decoded rows of the split; those without an event time are left out, and
there must be one.  So a gap in time is no reason to reject the rows after it, and the cut into chunks does
not matter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fsql.runtime.ports import FOLLOWING_ROWS

if TYPE_CHECKING:
    from fsql.runtime.arrays import Bools, Ints


def rows_ahead(
    times: Ints, timed: Bools, count: int, greatest: int, max_ahead_us: int
) -> list[int]:
    """Return which of the first `count` rows are ahead; `greatest` is the greatest time before them.

    `times` has the times of these rows and of those that follow, where `timed` is true.
    """
    known = np.where(timed, times, greatest)[:count]
    before = np.maximum.accumulate(np.concatenate([[greatest], known]))[:-1]
    # The greatest time before the first row of a split is the least integer.
    jumps = np.flatnonzero(known > before + max_ahead_us)
    if not len(jumps):
        return []
    first = int(jumps[0])
    greatest = int(before[first])
    found = []
    # A row that is ahead does not count for those after it, so these are taken one by one.
    for row, time in enumerate(known[first:].tolist(), first):
        if time > greatest + max_ahead_us:
            after = slice(row + 1, row + 1 + FOLLOWING_ROWS)
            following = times[after][timed[after]]
            earlier = int((following < time - max_ahead_us).sum())
            if earlier and 2 * earlier >= len(following):
                found.append(row)
                continue
        greatest = max(greatest, time)
    return found
