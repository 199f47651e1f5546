"""The state of bins that a fold has given up, which it drops a part at a time.

This has no visible effect: no rows of these bins arrive, their windows close without rows, and snapshots
contain only rows of bins that the worker owns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from fsql.compiler.owner_map import BinRanges
    from fsql.runtime.dataflow.applied_rows import AppliedRows
    from fsql.runtime.kernels.keyed.kernel import Kernel

SLOTS_OF_PART: Final = 1000
"""The number of slots in one part, which takes a few milliseconds."""


class ReleasedBins:
    """Searches the slots for those of some bins; none of these bins is added meanwhile."""

    def __init__(self, bins: BinRanges, kernel: Kernel[Any], applied: AppliedRows) -> None:
        self._bins = bins
        self._kernel = kernel
        self._applied = applied
        self._next = 0

    def collect(self) -> bool:
        """Drop the state of the next slots; return whether slots are left."""
        slots = len(self._kernel.table)
        end = min(self._next + SLOTS_OF_PART, slots) if self._kernel.releases_in_parts else slots
        found = self._kernel.slots_in(self._bins, np.arange(self._next, end))
        if len(found):
            self._applied.release(found)
        self._next = end
        return end < slots
