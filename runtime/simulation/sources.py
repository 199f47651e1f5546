"""Sources: splits whose rows arrive at a rate in virtual time, and can be read again from any row."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Final

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.records import dataclass
from fsql.compiler.tick_plan import SourceHead
from fsql.runtime.drivers.in_memory import chunk_of
from fsql.runtime.ports import DeadLetter, SourceOffset, Wait
from fsql.runtime.simulation.process import ProcessKilledError
from fsql.runtime.simulation.world import SECOND

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fsql.compiler.logical import Table
    from fsql.compiler.tick_plan import TickPlan
    from fsql.runtime.drivers.in_memory import Row
    from fsql.runtime.ports import Chunk
    from fsql.runtime.simulation.process import Process
    from fsql.runtime.simulation.tape import Stream

    Rows = Sequence[Row | DeadLetter]


FLUSHED_AFTER_US: Final = (SECOND // 10, SECOND, 3 * SECOND)
"""The times after which a row is durable in a front log."""


class ProcessHangsError(BaseException):
    """The process that reads hangs at a row."""


class LongStepError(BaseException):
    """The process that reads computes for long at a row, without a sign of life."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds


@dataclass(slots=True)
class Poison:
    """A row that kills the process that reads it, or stops it for long, the next few times it is read."""

    times: int
    hangs: bool


@dataclass(slots=True)
class SimulatedSplit:
    """Rows in order; row `i` is available from `first_us + i * pace_us` on.

    Faults: rows are `poison`; rows below `kept_from` are lost; the row at `altered_at` differs from the one
    that was read.  `forgotten` means that rows that may be needed are lost.

    `long_steps` are rows at which each process computes for so many seconds, also after all faults have
    ended: they are part of the job.
    """

    rows: Rows
    table: Table
    first_us: int
    pace_us: int
    poison: dict[int, Poison] = field(default_factory=dict)
    long_steps: dict[int, float] = field(default_factory=dict)
    kept_from: int = 0
    altered_at: int | None = None
    forgotten: bool = False
    flushed_after_us: int = 0
    """The time after which a row is durable in the front log; 0 for a split that has none."""

    def rows_available(self, time_us: int) -> int:
        """Return how many rows have arrived by a time."""
        if time_us < self.first_us:
            return 0
        if self.pace_us == 0:
            return len(self.rows)
        return min(len(self.rows), (time_us - self.first_us) // self.pace_us + 1)

    def readable(self, time_us: int) -> int:
        """Return how many rows can be read at a time: with a front log, those that are durable."""
        return self.rows_available(time_us - self.flushed_after_us)

    def lose_end(self, time_us: int, choices: Stream) -> int:
        """Lose some of the last rows, which are not durable at a time; return how many.

        They do not arrive again, and later rows take over their numbers.
        """
        available = self.rows_available(time_us)
        kept = available - choices.below(
            available - self.rows_available(time_us - self.flushed_after_us) + 1
        )
        later = [
            replace(row, row=row.row - available + kept) if isinstance(row, DeadLetter) else row
            for row in self.rows[available:]
        ]
        self.rows = [*self.rows[:kept], *later]
        return available - kept

    def check_replayable(self, row: int) -> None:
        """Check that a reader can continue at a row.

        Raises:
            FsqlError: E536, if it cannot.
        """
        if row < self.kept_from:
            raise _lost(f"rows are kept from {self.kept_from} on, and {row} is needed")
        if self.altered_at is not None and self.altered_at < row:
            raise _lost(f"row {self.altered_at} is not the one that was read")

    def take_poison(self, first: int, end: int) -> Poison | None:
        """Return the poison of the first of these rows that still has some, and use it up by one."""
        for row in range(first, end):
            poison = self.poison.get(row)
            if poison is not None and poison.times:
                poison.times -= 1
                return poison
        return None


@dataclass(frozen=True, slots=True)
class SplitOfProcess:
    """A split as one process reads it; `rows_max` says how many rows a read returns at most."""

    split: SimulatedSplit
    process: Process
    rows_max: Callable[[], int]
    on_lost: Callable[[], None]
    on_read: Callable[[int], None]
    on_poison: Callable[[], None]
    name: str = "split"

    def open(self, source_offset: SourceOffset | None = None) -> SimulatedReader:
        """See `Split`."""
        row = 0 if source_offset is None else source_offset.row
        try:
            self.split.check_replayable(row)
        except FsqlError:
            if self.split.forgotten:
                self.on_lost()
            raise
        return SimulatedReader(self, row)


class SimulatedReader:
    """Reads one split from a row on."""

    def __init__(self, split: SplitOfProcess, row: int) -> None:
        self._of = split
        self._row = row
        self._computed: set[int] = set()
        """The rows whose long steps are done."""

    def bytes_passed(self) -> int:
        """Return 0: there is no file."""
        return 0

    def source_offset(self) -> SourceOffset:
        """See `SplitReader`."""
        return SourceOffset(self._row, self._row + 1, self._row)

    def read(self, rows_max: int) -> Chunk | Wait | None:
        """See `SplitReader`; return rows that have arrived, up to a random number.

        Raises:
            LongStepError: if one of them takes long, the first time.
            ProcessHangsError: if one of them hangs the process.
            ProcessKilledError: if one of them ends it.
        """
        split, row, process = self._of.split, self._row, self._of.process
        if row >= len(split.rows):
            return None
        now_us = process.world.now_us
        count = min(rows_max, self._of.rows_max(), split.readable(now_us) - row)
        if count <= 0:
            comes_us = split.first_us + row * split.pace_us + split.flushed_after_us
            return Wait(max(1, comes_us - now_us) / SECOND)
        for slow in split.long_steps.keys() & set(range(row, row + count)) - self._computed:
            self._computed.add(slow)
            raise LongStepError(split.long_steps[slow])
        poison = split.take_poison(row, row + count)
        if poison is not None:
            self._of.on_poison()
            if poison.hangs:
                raise ProcessHangsError
            process.kill("at a poison row")
            raise ProcessKilledError
        self._row += count
        self._of.on_read(count)
        return chunk_of(split.rows[row : row + count], row, split.table)

    def close(self) -> None:
        """See `SplitReader`."""


class SimulatedFrontLog:
    """The `FrontLog` of a split in one process; without the log its source could not be read again."""

    def __init__(self, split: SimulatedSplit, process: Process) -> None:
        self._split = split
        self._process = process
        self._life = process.life

    def trim(self, byte: int) -> None:
        """See `FrontLog`; here each row has one byte."""
        self._process.call(self._life, "trim log")
        self._split.kept_from = max(self._split.kept_from, byte)


def _lost(message: str) -> FsqlError:
    return FsqlError([Diagnostic("E536", message)])


def paced_splits(
    plan: TickPlan, inputs: Mapping[int, Sequence[Rows]], choices: Stream, input_us: int
) -> Mapping[int, Sequence[SimulatedSplit]]:
    """Return the splits of each table, whose rows come within about `input_us`."""
    splits: dict[int, list[SimulatedSplit]] = {}
    for stage in plan.stages:
        if isinstance(stage.head, SourceHead):
            table = stage.head.table
            for rows in inputs[table.ordinal]:
                first_us = choices.below(input_us // 8)
                pace_us = (input_us - first_us) // max(1, len(rows))
                pace_us = pace_us * choices.one_of((8, 7, 6, 8, 1)) // 8
                split = SimulatedSplit(rows, table, first_us, pace_us)
                splits.setdefault(table.ordinal, []).append(split)
            splits.setdefault(table.ordinal, [])
    return splits


def assign_front_logs(
    sources: Sequence[tuple[int, SimulatedSplit]], choices: Stream
) -> frozenset[int]:
    """Give logs to about half of the fronts; return their numbers."""
    logged = frozenset(number for number, _ in sources if choices.below(2))
    for number, split in sources:
        if number in logged:
            split.flushed_after_us = choices.one_of(FLUSHED_AFTER_US)
    return logged
