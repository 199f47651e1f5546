"""Profiles by PySpark: a task for each split, whose rows of counts Spark adds up.

The caller passes a session, which stays open, and a function that reads a split, which is called in Spark's
Python processes.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql import functions as sql

from fsql.optimizer.collectors.profile_rows import KEYS, SUMS, CountedRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql import SparkSession

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
    rows = session.range(0, count, 1, count).mapInArrow(work, _SCHEMA)
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
            columns = zip(*read(number), strict=True)
            arrays = [pa.array(each, of.type) for each, of in zip(columns, _ARROW, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=_ARROW)
