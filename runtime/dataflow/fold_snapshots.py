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
    """Snapshots of one fold; once `crossed`, min time has reached the position, so that `take` returns it."""

    def __init__(self, kernel_snapshots: KernelSnapshots) -> None:
        self.crossed = False
        self._kernel = kernel_snapshots
        self._known_from = START
        self._taken: IncrementalSnapshot | None = None

    @property
    def position(self) -> Root | None:
        """Return the announced position that min time has not reached, None if there is none."""
        return self._kernel.position

    def changed_keys(self) -> int:
        """Return the number of keys, or rows of a join, that have changed since the last snapshot."""
        return self._kernel.changed_keys()

    def load(
        self, snapshots: Sequence[IncrementalSnapshot], owned: BinRanges, position: Root
    ) -> None:
        """Load the state as of `position` of the keys in the bins `owned` from snapshots, oldest first."""
        self._known_from = position
        if snapshots:
            own = merge_snapshots(
                [rows_of_bins(one, owned) for one in snapshots], position, whole=True
            )
            self._kernel.load(own, position)

    def stage(self, snapshot: IncrementalSnapshot) -> None:
        """Add state of keys that another worker owns; to be called with the oldest first."""
        self._kernel.stage(snapshot)

    def adopt(self, position: Root) -> None:
        """Use the staged state, which is as of `position`, from now on."""
        self._kernel.adopt(position)

    def discard_staged(self) -> None:
        """Discard the staged state."""
        self._kernel.discard_staged()

    def announce(self, position: Root, *, reached: Root, min_time: Root) -> bool:
        """Prepare a snapshot as of `position`; return False if the state has anything at or above it.

        If min time has reached it already, no more rows below it can arrive.
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
        """Copy the changes up to `position`, which min time has just reached."""
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
