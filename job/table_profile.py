"""Profiles a table of a script by a table that Spark knows, such as the history of live input.

The columns have the names of the script's table, and values that fit its types.  Within a partition, rows are
sorted by the columns of the event time, so that none is late.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.records import dataclass
from fsql.compiler.rules.columns import columns_of
from fsql.job.memory import stored_column
from fsql.optimizer.collectors.profile_rows import FAILED, MISSING, CountedRow, SparkTable
from fsql.runtime.drivers.spark.task_errors import error_bytes
from fsql.runtime.ports import Chunk, SourceOffset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from fsql.compiler.logical import Table
    from fsql.optimizer.collectors.profile_spark import ReadBatches
    from fsql.runtime.drivers.spark.stage_frames import Load

    CollectTable = Callable[[SparkTable, ReadBatches], list[CountedRow]]
    RowsOfSplit = Callable[..., Iterable[CountedRow]]

_NAME: Final = "Spark"


def counts_of_table(
    table: Table, name: str, load: Load, rows_of: RowsOfSplit, collect: CollectTable
) -> list[CountedRow]:
    """Return the rows of counts of a table of the script, read from the table `name` of Spark.

    `rows_of` returns those of a split, given the plan and the splits, the number of its front, and the split.

    Raises:
        FsqlError: E531, if a column is missing.
    """
    columns = tuple(column.name for column in table.columns)
    order = tuple(columns[index] for index in sorted(columns_of(table.event_time)))
    read = partial(_guarded_rows, load, table.ordinal, rows_of)
    rows = collect(SparkTable(name, columns, order), read)
    missing = [row.name for row in rows if row.kind == MISSING]
    if missing:
        names = ", ".join(f'"{each}"' for each in missing)
        message = f'table "{name}" of Spark has no column {names}, which table "{table.name}" has'
        helps = ("create a view in Spark with the columns of the script's table",)
        raise FsqlError([Diagnostic("E531", message, helps=helps)])
    return rows


def _guarded_rows(
    load: Load, ordinal: int, rows_of: RowsOfSplit, batches: Iterator[pa.RecordBatch]
) -> Iterator[CountedRow]:
    """Yield the rows of counts of a partition, in a process of Spark; an error becomes a row."""
    try:
        plan, splits = load()
        number = min(task.number for task in plan.fronts(splits) if task.ordinal == ordinal)
        yield from rows_of((plan, splits), number, _Partition(_NAME, plan.tables[ordinal], batches))
    except FsqlError as error:
        yield CountedRow(FAILED, "", text=error_bytes(error).decode())


@dataclass(frozen=True, slots=True)
class _Partition:
    """The rows of a partition, as a split that is read once."""

    name: str
    table: Table
    batches: Iterator[pa.RecordBatch]

    def open(self, source_offset: SourceOffset | None = None) -> _Reader:
        """Return the only reader."""
        assert source_offset is None
        return _Reader(self.table, self.batches)


class _Reader:
    """Reads the batches of a partition, whatever their size."""

    def __init__(self, table: Table, batches: Iterator[pa.RecordBatch]) -> None:
        self._table = table
        self._batches = batches
        self._row = 0

    def read(self, rows_max: int) -> Chunk | None:
        """Return the rows of the next batch, None at the end.

        Raises:
            FsqlError: E542, if a value does not fit the type of its column.
        """
        del rows_max
        for batch in self._batches:
            if batch.num_rows:
                first, self._row = self._row, self._row + batch.num_rows
                numbers = np.arange(first, self._row, dtype=np.int64)
                return Chunk(self._columns(batch), numbers, (), batch.nbytes)
        return None

    def _columns(self, batch: pa.RecordBatch) -> Sequence[pa.Array]:
        stored = (
            stored_column(self._table.name, of.name, pa.chunked_array([column]), of.type)
            for of, column in zip(self._table.columns, batch.columns, strict=True)
        )
        return [pa.concat_arrays(each.chunks) for each in stored]

    def bytes_passed(self) -> int:
        """Return 0: there is no file."""
        return 0

    def source_offset(self) -> SourceOffset:
        """Return the offset of the reader."""
        return SourceOffset(self._row, self._row + 1, 0)

    def close(self) -> None:
        """Spark ends the batches."""
