"""Snapshots of one fold: which positions it accepts, and the changes of state up to a position.

Contract.  See `fold`, "Snapshots".  Changes that a cancelled snapshot has copied are part of the next one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.runtime.batch import START
from fsql.runtime.kernels.keyed.incremental_snapshot import (
    merge_snapshots,
    merge_snapshots_later,
    rows_of_bins,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.owner_map import BinRanges
    from fsql.runtime.batch import Root
    from fsql.runtime.kernels.keyed.incremental_snapshot import IncrementalSnapshot
    from fsql.runtime.kernels.keyed.kernel import KernelSnapshots


class FoldSnapshots:
    """Snapshots of one fold.  If `crossed`, min time has reached the position: the snapshot can be taken."""

    def __init__(self, kernel_snapshots: KernelSnapshots) -> None:
        self.crossed = False
        self._kernel = kernel_snapshots
        self._known_from = START
        self._taken: IncrementalSnapshot | None = None

    @property
    def position(self) -> Root | None:
        """Return the position that is announced and not crossed, if there is one."""
        return self._kernel.position

    def load(
        self, snapshots: Sequence[IncrementalSnapshot], owned: BinRanges, position: Root
    ) -> None:
        """Load the state as of `position` of the keys in the bins `owned`; the oldest comes first."""
        self._known_from = position
        if snapshots:
            own = merge_snapshots(
                [rows_of_bins(one, owned) for one in snapshots], position, whole=True
            )
            self._kernel.load(own, position)

    def stage(self, snapshot: IncrementalSnapshot) -> None:
        """Add state of keys that another worker has; the oldest comes first."""
        self._kernel.stage(snapshot)

    def adopt(self, position: Root) -> None:
        """Let the staged state, which is as of `position`, take part from now on."""
        self._kernel.adopt(position)

    def discard_staged(self) -> None:
        """Do not adopt what was staged."""
        self._kernel.discard_staged()

    def announce(self, position: Root, *, reached: Root, min_time: Root) -> bool:
        """Prepare a snapshot of the state as of `position`, unless the state has anything at or above it.

        If min time has reached it before, no more rows come below it.
        """
        assert self._kernel.position is None
        if position <= reached or position < self._known_from:
            return False
        self._kernel.announce(position)
        self.crossed = False
        if position <= min_time:
            self.cross(position)
        return True

    def cancel(self) -> None:
        """Cancel the announced snapshot; the next one includes what has changed."""
        self._kernel.cancel()
        self.crossed = False

    def cross(self, position: Root) -> None:
        """Copy the changes up to `position`, which is min time now."""
        taken, before = self._kernel.take(), self._taken
        if taken is not None and before is not None:
            taken = merge_snapshots_later([before, taken], position)
        self._taken = before if taken is None else taken
        self._known_from = position
        self.crossed = True

    def take(self) -> IncrementalSnapshot | None:
        """Return, once `crossed`, the changes up to the announced position; None if there are none."""
        assert self.crossed
        self.crossed = False
        taken, self._taken = self._taken, None
        return taken
