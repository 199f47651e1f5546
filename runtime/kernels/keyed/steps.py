"""Steps: how a kernel processes many keys at once.

A kernel gets rows sorted by slot, and within a slot by position.  A **step** is a run of these rows after
which the state of its slot is visible: all rows of one root position for a grouped aggregate, a single
row for a running one, all rows of the slot if no intermediate state is visible.  Accumulators compute the
value after every step with whole-column operations:

    slot      a        b        a                     rows sorted by slot: | a a | b |
    position  1        1        2                     steps of an aggregate: a@1, a@2, b@1
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from fsql.compiler.records import dataclass
from fsql.runtime.order import canonical_rank, lexicographic_order, position_columns, starts_of_runs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fsql.runtime.arrays import Ints
    from fsql.runtime.batch import Batch


_Column = TypeVar("_Column", "NDArray[np.int64]", "NDArray[np.bool_]")


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps over rows; the rows of a slot are adjacent, and usually sorted by slot.

    `start` is the first row of each step and `rows` the number of rows; `slot` the slot of each step;
    `first` the indexes of the steps that are the first of their slot.
    """

    start: Ints
    rows: int
    slot: Ints
    first: Ints

    @property
    def one_a_slot(self) -> bool:
        """Return whether no slot has more than one step."""
        return len(self.first) == len(self.slot)

    @property
    def slots(self) -> Ints:
        """Return the slots, each once, in the order of `first`."""
        return self.slot if self.one_a_slot else self.slot[self.first]

    @property
    def last(self) -> Ints:
        """Return the indexes of the steps that are the last of their slot."""
        if self.one_a_slot:
            return self.first
        return np.append(self.first[1:], len(self.slot)) - 1

    @property
    def group(self) -> Ints:
        """Return for each step the index into `first` of its slot."""
        return self.of_slots(np.arange(len(self.first)))

    @property
    def sizes(self) -> Ints:
        """Return the number of rows of each step."""
        if len(self.start) == self.rows:
            return np.ones(self.rows, np.int64)
        return np.diff(np.append(self.start, self.rows))

    def sums(self, values: Ints | None) -> Ints:
        """Return the sum of a column of the rows over each step; None stands for all ones."""
        if values is None:
            return self.sizes
        if len(self.start) == self.rows:
            return values
        return np.add.reduceat(values, self.start)

    def running(self, base: Ints, deltas: Ints) -> Ints:
        """Return base + the sum of deltas up to each step; `base` is for `first`, in its order."""
        if self.one_a_slot:
            return base + deltas
        total = np.cumsum(deltas)
        before = total[self.first] - deltas[self.first]
        total += self.of_slots(base - before)
        return total

    def of_slots(self, values: Ints) -> Ints:
        """Return for each step the value of its slot; `values` are for `first`, in its order."""
        return values.repeat(np.diff(np.append(self.first, len(self.slot))))

    @property
    def indexes_before(self) -> Ints:
        """Return for each step the index of the value before it: after a step, or before all of its slot."""
        size = len(self.slot)
        return self.before(np.arange(size), size + np.arange(len(self.first)))

    def before(self, after: _Column, initial: _Column) -> _Column:
        """Return the value before each step, from those of `first` and those after each step."""
        before = np.empty_like(after)
        before[1:] = after[:-1]
        before[self.first] = initial
        return before


class Values(NamedTuple):
    """The values of an aggregate, one for each step or slot, and which of them failed (E505), if any."""

    array: pa.Array
    failed: NDArray[np.bool_] | None = None


ONLY_ROW: Final = np.zeros(1, np.int64)
"""The order of a single row, and the start of its step."""


def only_step(slot: Ints) -> Steps:
    """Return the step of a single row."""
    return Steps(ONLY_ROW, 1, slot, ONLY_ROW)


def steps_of(slot: Ints, start: Ints) -> Steps:
    """Return the steps that begin at rows `start` of rows sorted by `slot`."""
    slot_of_step = slot if len(start) == len(slot) else slot[start]
    new = np.empty(len(slot_of_step), np.bool_)
    new[:1] = True
    np.not_equal(slot_of_step[1:], slot_of_step[:-1], out=new[1:])
    return Steps(start, len(slot), slot_of_step, np.flatnonzero(new))


def order_within_ties(batch: Batch, order: Ints, values: pa.Array, steps: Steps) -> Ints | None:
    """Return the order that sorts rows of one slot and position by their values; None if no rows tie."""
    columns = [column[order] for column in position_columns(batch)]
    slot = np.repeat(steps.slot, np.diff(np.append(steps.start, steps.rows)))
    if len(starts_of_runs(slot, *columns)) == len(order):
        return None
    return lexicographic_order([slot, *columns, canonical_rank(values)])


# A column of integers by slot, in which accumulators keep their state.


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
