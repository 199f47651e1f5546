"""Profiles by PySpark: a task for each split, whose rows of counts Spark adds up.

The caller passes a session, which stays open, and a function that reads a split, which is called in Spark's
Python processes.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

import pyarrow as pa
from pyspark.sql import functions as sql

from fsql.optimizer.collectors.profile_rows import KEYS, MISSING, SUMS, CountedRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from fsql.optimizer.collectors.profile_rows import SparkTable

ReadBatches: TypeAlias = "Callable[[Iterator[pa.RecordBatch]], Iterable[CountedRow]]"
"""Returns the rows of counts of some batches of a table."""

_SCHEMA: Final = (
    "kind STRING, name STRING, side BIGINT, number BIGINT, "
    "first BIGINT, second BIGINT, third BIGINT, greatest BIGINT, text STRING"
)
_ARROW: Final = pa.schema(
    [
        (name, pa.string() if name in {"kind", "name", "text"} else pa.int64())
        for name in CountedRow._fields
    ]
)


def collect_counts(
    session: SparkSession, splits: Sequence[int], read: Callable[[int], Iterable[CountedRow]]
) -> list[CountedRow]:
    """Return the merged rows of some splits; `read` returns the rows of counts of one, by its number."""
    count = max(splits, default=0) + 1
    work = partial(_count, read, frozenset(splits))
    return _sum(session.range(0, count, 1, count).mapInArrow(work, _SCHEMA))


def collect_table_counts(
    session: SparkSession, table: SparkTable, read: ReadBatches
) -> list[CountedRow]:
    """Return the merged rows of a table that Spark knows; `read` returns those of some of its batches.

    It may be a table of the catalog, or files: parquet.`/data/orders`.
    """
    frame = session.table(table.name)
    missing = [name for name in table.columns if name not in frame.columns]
    if missing:
        return [CountedRow(MISSING, each) for each in missing]
    frame = frame.select(*(frame[f"`{name.replace('`', '``')}`"] for name in table.columns))
    if table.order:
        frame = frame.sortWithinPartitions(*(f"`{each}`" for each in table.order))
    return _sum(frame.mapInArrow(partial(_count_batches, read), _SCHEMA))


def _sum(rows: DataFrame) -> list[CountedRow]:
    summed = rows.groupBy(*KEYS).agg(
        *(sql.sum(name).alias(name) for name in SUMS),
        sql.max("greatest").alias("greatest"),
        sql.min("text").alias("text"),
    )
    return sorted(CountedRow(*row) for row in summed.collect())


def _count(
    read: Callable[[int], Iterable[CountedRow]],
    splits: frozenset[int],
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Read those of `splits` whose indexes are in `batches`, in a process of Spark."""
    for batch in batches:
        for number in sorted(splits.intersection(batch.column(0).to_pylist())):
            yield _batch_of(read(number))


def _count_batches(
    read: ReadBatches, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    yield _batch_of(read(batches))


def _batch_of(rows: Iterable[CountedRow]) -> pa.RecordBatch:
    columns = list(zip(*rows, strict=True)) or [()] * len(_ARROW)
    arrays = [pa.array(each, of.type) for each, of in zip(columns, _ARROW, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_ARROW)
