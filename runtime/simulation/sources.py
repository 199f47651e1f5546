"""Sources: splits whose rows come in at a pace of virtual time, and can be read again from any row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fsql.compiler.tick_plan import SourceHead
from fsql.runtime.cluster.node import FrontTask
from fsql.runtime.drivers.in_memory import chunk_of
from fsql.runtime.ports import Place, Wait
from fsql.runtime.simulation.world import SECOND

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.schema import Schema
    from fsql.compiler.tick_plan import TickPlan
    from fsql.runtime.drivers.in_memory import Row
    from fsql.runtime.ports import Chunk, Reject

    Rows = Sequence[Row | Reject]


class InputLostError(Exception):
    """A source does not have any more what a job has to read again, or not what it has read."""


@dataclass(slots=True)
class Poison:
    """What a row does the next few times to the process that reads it: it ends it, or stops it for long."""

    times: int
    hangs: bool


@dataclass(slots=True)
class SimulatedSplit:
    """Rows in order; row `i` is there from `first_us + i * pace_us` on.

    What may be wrong with it: rows that are `poison`; none are kept below `kept_from`; the one at
    `altered_at` is not the one that was read.
    """

    rows: Rows
    schema: Schema
    first_us: int
    pace_us: int
    poison: dict[int, Poison] = field(default_factory=dict)
    kept_from: int = 0
    altered_at: int | None = None

    def there(self, time_us: int) -> int:
        """Return how many rows are there at a time."""
        if time_us < self.first_us:
            return 0
        if self.pace_us == 0:
            return len(self.rows)
        return min(len(self.rows), (time_us - self.first_us) // self.pace_us + 1)

    def check_replayable(self, row: int) -> None:
        """Check that a reader can begin at a row, behind those that were read.

        Raises:
            InputLostError: if it cannot.
        """
        if row < self.kept_from:
            raise InputLostError(f"rows are kept from {self.kept_from} on, and {row} is needed")
        if self.altered_at is not None and self.altered_at < row:
            raise InputLostError(f"row {self.altered_at} is not the one that was read")

    def poisoned(self, first: int, end: int) -> Poison | None:
        """Return what one of these rows does to the process that reads them, if any does something."""
        for row in range(first, end):
            poison = self.poison.get(row)
            if poison is not None and poison.times:
                poison.times -= 1
                return poison
        return None

    @property
    def last_us(self) -> int:
        """Return when all rows are there."""
        return self.first_us + max(0, len(self.rows) - 1) * self.pace_us


class SimulatedReader:
    """Reads one split from a row on."""

    def __init__(self, split: SimulatedSplit, row: int) -> None:
        """Begin at a row.

        Raises:
            InputLostError: if the split cannot be read from there on as it was.
        """
        split.check_replayable(row)
        self.split = split
        self._row = row

    def place(self) -> Place:
        """Return where the reader stands."""
        return Place(self._row, self._row + 1, self._row)

    def read(self, rows_max: int, time_us: int) -> Chunk | Wait | None:
        """Return the rows that are there, up to `rows_max`."""
        split, row = self.split, self._row
        if row >= len(split.rows):
            return None
        count = min(rows_max, split.there(time_us) - row)
        if count <= 0:
            comes_us = split.first_us + row * split.pace_us
            return Wait(max(1, comes_us - time_us) / SECOND)
        self._row += count
        return chunk_of(split.rows[row : row + count], row, split.schema)


def front_tasks(plan: TickPlan, splits: Mapping[int, Sequence[object]]) -> tuple[FrontTask, ...]:
    """Return the fronts of a job, numbered by table and split."""
    tasks: list[FrontTask] = []
    for stage in plan.stages:
        if isinstance(stage.head, SourceHead):
            ordinal = stage.head.table.ordinal
            for split in range(len(splits[ordinal])):
                tasks.append(FrontTask(len(tasks), ordinal, split))
    return tuple(tasks)
