"""A column of integers by slot, in which accumulators keep their state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from fsql.runtime.arrays import Ints
    from fsql.runtime.kernels.aggregate.steps import Steps


class StateColumn:
    """A state column of integers that grows by doubling."""

    __slots__ = ("values",)

    def __init__(self) -> None:
        self.values = np.zeros(16, np.int64)

    def grow(self, slots: int) -> None:
        """Make room for `slots` slots; new ones hold 0."""
        if slots > len(self.values):
            self.values = np.append(self.values, np.zeros(2 * slots - len(self.values), np.int64))

    def add(self, deltas: Ints, steps: Steps) -> Ints:
        """Add the deltas of each step; return the value after each."""
        after = self.after(deltas, steps)
        self.set(after, steps)
        return after

    def after(self, deltas: Ints, steps: Steps) -> Ints:
        """Return the value after each step, without setting it."""
        return steps.running(self.values[steps.slots], deltas)

    def set(self, after: Ints, steps: Steps) -> None:
        """Set each slot to its value after its last step."""
        self.values[steps.slots] = after[steps.last]


def present_weights(values: pa.Array | None, weights: Ints | None) -> Ints | None:
    """Return the weights of the rows whose argument is not NULL, 0 for the others; None if all 1."""
    if values is None or not values.null_count:
        return weights
    return np.where(values.is_valid().to_numpy(zero_copy_only=False), or_ones(weights), 0)


def or_ones(weights: Ints | None) -> Ints | int:
    """Return the weights, or 1 for None."""
    return 1 if weights is None else weights


def count_column(count: StateColumn, slots: Ints) -> pa.Array:
    """Return the counts of slots, NULL where they are 0."""
    values = count.values[slots]
    return pa.array(values, mask=values == 0)
