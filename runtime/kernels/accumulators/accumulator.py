"""Accumulators: the state of one aggregate call for every slot, in columns.

All of them have one contract.  `add` adds the argument's values and weights of rows sorted by slot and
position to the state, and returns the aggregate's value after each step.  `save` returns a copy from which
`restore` restores any of the saved slots; its cost is proportional to the slots, not to the state.  `columns`
returns the state of slots for snapshots, and `load` loads it: the first column is NULL for an empty slot, and
all columns depend on the content of the slot only.  Accumulators of updating input are exact under
retraction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from fsql.runtime.dictionaries import decode_dictionary
from fsql.runtime.kernels.keyed.slot_snapshots import UndoableState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.runtime.arrays import Ints
    from fsql.runtime.kernels.keyed.steps import (
        Steps,
        Values,
    )

SUM_OVERFLOW = 505
"""The error of a sum that its type cannot hold."""


class Accumulator(UndoableState, Protocol):
    """The state of one aggregate call, for every slot."""

    def add(self, values: pa.Array | None, weights: Ints | None, steps: Steps) -> Values:
        """Add the rows; return the value after each step.  Weights are None where all are 1."""

    def read(self, slots: Ints) -> Values:
        """Return the values of `slots`."""


class Merging(Accumulator, Protocol):
    """The accumulator of an aggregate that merges; see `compiler.aggregate_algebra`."""

    def add_partials(self, partials: Any, slots: Ints, signs: Ints, steps: Steps) -> Values:  # noqa: ANN401
        """Combine partials into the state, or take them out; return the value after each step.

        Instead of rows, the steps have the states of `slots` of `partials`, an accumulator of the same call
        over append-only input; `signs` are 1 to combine one and -1 to take it out.  The accumulator itself
        is one over updating input.
        """


class Collector(Protocol):
    """An accumulator whose results have many values: those of all rows of a group."""

    def result_sizes(self, slots: Ints) -> Ints:
        """Return how many values the result of each slot has, or somewhat more."""


def struct_of(columns: Sequence[pa.Array]) -> pa.StructArray:
    """Return the arguments of an aggregate with several arguments as one struct column."""
    names = [str(index) for index in range(len(columns))]
    return pa.StructArray.from_arrays([decode_dictionary(column) for column in columns], names)
