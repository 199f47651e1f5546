"""Profiles a split at rest: reads it, runs the stage of its table, counts, and drops the results."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import numpy as np

from fsql.compiler.owner_map import BIN_SHIFT, BINS
from fsql.compiler.records import dataclass
from fsql.runtime.dataflow.bin_loads import BinLoads
from fsql.runtime.drivers.operator_times import OperatorTimes
from fsql.runtime.drivers.stage_tasks import SourceTask

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from fsql.compiler.assignment import FrontTask
    from fsql.compiler.tick_plan import TickPlan, ToFold
    from fsql.runtime.arrays import Ints
    from fsql.runtime.batch import Batch
    from fsql.runtime.dataflow.bin_loads import EdgeLoad, Hashes
    from fsql.runtime.dataflow.metrics import MeasuredOperator
    from fsql.runtime.ports import Split

_BELOW: Final = np.uint32((1 << BIN_SHIFT) - 1)
"""The bits of a hash below those of its bin."""


@dataclass(frozen=True, slots=True)
class SideCounts:
    """One side of a fold: the counts of its keys, and for each hash bin the rows and the greatest rank.

    The rank of a hash is the index of the first 1 among the bits that do not determine its bin, as in
    HyperLogLog.
    """

    load: EdgeLoad
    rows: Ints
    ranks: Ints


@dataclass(frozen=True, slots=True)
class SplitProfile:
    """The counts of a split."""

    sides: tuple[SideCounts, ...]
    operators: Mapping[str, MeasuredOperator]
    rows: int
    bytes: int
    busy: float


def profile_split(plan: TickPlan, task: FrontTask, split: Split) -> SplitProfile:
    """Read a split to its end, and return the counts.

    Raises:
        FsqlError: if it cannot be read.
    """
    times, loads = OperatorTimes(), _AllRows(plan)
    source = SourceTask(plan, task, times, loads)
    started = time.thread_time()
    for _ in source.run(split):
        pass  # only the counts are needed, not the rows
    busy = time.thread_time() - started
    front = source.front
    sides = tuple(loads.sides())
    return SplitProfile(sides, times.operators, front.rows_read, front.bytes_read, busy)


class _AllRows(BinLoads):
    """Counts the rows of each bin exactly, and finds heavy keys as workers do."""

    def __init__(self, plan: TickPlan) -> None:
        super().__init__(plan)
        self._counted: dict[tuple[int, int], tuple[Ints, Ints]] = {}

    def add(
        self, to: ToFold, values: Sequence[pa.Array], hashes: Hashes, sent: Hashes, batch: Batch
    ) -> None:
        """Count rows with the hashes of their keys."""
        super().add(to, values, hashes, sent, batch)
        nothing = np.zeros(BINS, np.int64), np.zeros(BINS, np.int64)
        rows, ranks = self._counted.setdefault((to.stage, to.side), nothing)
        bins = hashes >> BIN_SHIFT
        rows += np.bincount(bins, minlength=BINS)
        # The exponent of a whole number is its number of bits.
        bits = np.frexp((hashes & _BELOW).astype(np.float64))[1]
        np.maximum.at(ranks, bins, BIN_SHIFT + 1 - bits)

    def sides(self) -> list[SideCounts]:
        """Return the counts of each side that had rows."""
        counted = [each for _, each in sorted(self._counted.items())]
        return [
            SideCounts(load, rows, ranks)
            for load, (rows, ranks) in zip(self.take(), counted, strict=True)
        ]
