"""State in a worker's folds of bins that it does not own yet, or does not own any more.

State of bins that are to move here is **staged**: loaded in parts before the position at which they move.
(That includes bins of which the worker will have a copy only: see `compiler.holdings`.)
State of bins that have moved away is dropped in parts later.  No rows of these bins arrive meanwhile, and
snapshots do not contain them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.runtime.kernels.keyed.incremental_snapshot import rows_of_bins_later

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler.owners import BinSets
    from fsql.runtime.dataflow.fold import Fold
    from fsql.runtime.kernels.keyed.incremental_snapshot import IncrementalSnapshot

    State = list[tuple[str, IncrementalSnapshot]]


class ForeignState:
    """The state of foreign bins in the folds of one worker."""

    def __init__(self, folds: Mapping[int, Fold]) -> None:
        """Start without foreign state; `folds` are by stage."""
        self._folds = folds
        self._is_staged = False
        self._may_be_in_snapshot = False

    @property
    def is_released(self) -> bool:
        """Return whether state of bins that have moved away is left."""
        return any(fold.has_released for fold in self._folds.values())

    def collect(self) -> None:
        """Drop a part of the state of bins that have moved away."""
        for fold in self._folds.values():
            if fold.has_released:
                fold.collect()
                return

    def stage(self, operator: str, snapshot: IncrementalSnapshot) -> None:
        """Add state of bins that are to move here; for each key, to be called with the oldest first.

        No state of these bins from an earlier time may be left.
        """
        self._is_staged = self._may_be_in_snapshot = True
        for fold in self._folds.values():
            if fold.operator == operator:
                fold.snapshots.stage(snapshot)

    def discard_staged(self, bins: BinSets) -> None:
        """Drop staged state: the bins do not move here after all."""
        if self._is_staged:
            self._is_staged = False
            for fold in self._folds.values():
                fold.snapshots.discard_staged()
            self._release(bins)

    def release(self, bins: BinSets, owned: BinSets) -> None:
        """Release bins that have moved away; min time of the folds is the position of the move.

        `owned` are the bins that the worker owns from there on.
        """
        self._may_be_in_snapshot = True
        self._release(bins)
        for fold in self._folds.values():
            if not owned.of(fold.operator):
                fold.hold_nothing()

    def _release(self, bins: BinSets) -> None:
        for fold in self._folds.values():
            if of_fold := bins.of(fold.operator):
                fold.release(of_fold)

    def on_completed(self) -> None:
        """Record that the worker owns all bins that were staged."""
        self._is_staged = False

    def without(self, state: State, owned: BinSets, replicated: frozenset[str]) -> State:
        """Return a snapshot without the state of bins that the worker does not own.

        Folds that are `replicated` always have such state.
        """
        may_be = self._may_be_in_snapshot
        self._may_be_in_snapshot = may_be and (self._is_staged or self.is_released)
        return [
            (
                operator,
                rows_of_bins_later(snapshot, owned.of(operator))
                if may_be or operator in replicated
                else snapshot,
            )
            for operator, snapshot in state
        ]
