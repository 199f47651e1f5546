"""The number of the values of each slot: COUNT."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from fsql.runtime.kernels.keyed.steps import (
    StateColumn,
    Values,
    count_column,
    present_weights,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.runtime.arrays import Ints
    from fsql.runtime.kernels.keyed.steps import Steps


class Count:
    """COUNT(*) and COUNT(argument)."""

    def __init__(self) -> None:
        self._count = StateColumn()

    def grow(self, slots: int) -> None:
        self._count.grow(slots)

    def clear(self, slots: Ints) -> None:
        self._count.values[slots] = 0

    def add(self, values: pa.Array | None, weights: Ints | None, steps: Steps) -> Values:
        return Values(
            pa.array(self._count.add(steps.sums(present_weights(values, weights)), steps))
        )

    def read(self, slots: Ints) -> Values:
        return Values(pa.array(self._count.values[slots]))

    def add_partials(self, partials: Count, slots: Ints, signs: Ints, steps: Steps) -> Values:
        """See `accumulator.Merging`."""
        counts = partials._count.values[slots]
        return Values(pa.array(self._count.add(steps.sums(counts * signs), steps)))

    def save(self, slots: Ints) -> Ints:
        return self._count.values[slots]

    def restore(self, slots: Ints, saved: Ints, kept: Ints) -> None:
        self._count.values[slots[kept]] = saved[kept]

    def columns(self, slots: Ints) -> dict[str, pa.Array]:
        return {"count": count_column(self._count, slots)}

    def load(self, slots: Ints, columns: Mapping[str, pa.Array]) -> None:
        self._count.values[slots] = columns["count"].fill_null(0).to_numpy()
