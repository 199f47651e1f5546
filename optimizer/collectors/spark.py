"""The collector in PySpark: the tables that `built_in` makes, by Spark jobs over the rows of the same files.

The caller passes a session, which stays open.  Spark is asked only for what is new: a file never changes, so
the sums of its rows for each key are computed once, all new files at a time, and kept by the caller.  What
changes with each interval is how much older ones count, and that is the same arithmetic over these sums for
all collectors.

Each action of Spark has a fixed cost, which is most of the time for some dozens of small files.  So the rows
of all tables are one table with the columns of all, and one aggregation sums them.  All values in files are
integers, so their sums do not depend on the order of rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as sql

from fsql.compiler.statistics import COMMON, TABLES
from fsql.optimizer.collectors.built_in import statistics_of_rows
from fsql.optimizer.collectors.files import arrow_schema, read_files
from fsql.optimizer.collectors.tables import GROUPS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyspark.sql import SparkSession

    from fsql.optimizer.collectors.files import Kept
    from fsql.optimizer.statistics import Statistics

_FILE: Final = "number of file"
_COMMON: Final = tuple(name for name, _ in COMMON)
_KEYS: Final = tuple(
    sorted({key for group in GROUPS.values() for key in group.keys if key not in _COMMON})
)
_VALUES: Final = tuple(
    sorted({name for of in TABLES.values() for name, _ in of if name not in _KEYS})
)
_SETTINGS: Final = {
    # The session is one for large blobs, a few in a batch.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    # The rows of an interval are few, so a task takes as long to start as to run.
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
}


class SparkCollector:
    """Collects in one session."""

    def __init__(self, session: SparkSession) -> None:
        for name, value in _SETTINGS.items():
            session.conf.set(name, value)
        self._session = session
        self._sums = [sql.sum(sql.col(name)).alias(name) for name in _VALUES]

    def warm(self) -> None:
        """Sum some rows, so that the first collection finds all classes loaded and its code compiled."""
        rows = {
            name: pa.table(
                {
                    column.name: pa.array(
                        ["" if pa.types.is_string(column.type) else 0], column.type
                    )
                    for column in arrow_schema(name)
                }
            )
            for name in TABLES
        }
        self._summed({number: (name, rows[name]) for number, name in enumerate(TABLES)})

    def collect(self, state: Path, kept: Kept | None = None) -> Statistics:
        """Return the statistics of the job in a state directory; damaged files are skipped.

        The sums of files in `kept` are not computed again; see `files.read_files`.
        """
        sums: Kept = {} if kept is None else kept
        known = set(sums)
        found: list[tuple[str, Path, pa.Table]] = []

        def take(name: str, path: Path, content: pa.Table) -> None:
            found.append((name, path, content))

        problems = read_files(state, take, kept=sums)
        new = {
            number: (name, content)
            for number, (name, path, content) in enumerate(found)
            if path not in known and len(content)
        }
        try:
            summed = self._summed(new) if new else {}
        except BaseException:
            for _, path, _ in found:
                if path not in known:
                    del sums[path]
            raise
        tables = {name: [arrow_schema(name).empty_table()] for name in TABLES}
        for number, (name, path, content) in enumerate(found):
            sums[path] = summed.get(number, content)
            tables[name].append(sums[path])
        return statistics_of_rows(
            {name: pa.concat_tables(parts) for name, parts in tables.items()}, problems
        )

    def _summed(self, files: Mapping[int, tuple[str, pa.Table]]) -> dict[int, pa.Table]:
        """Return the sums of the rows of files, by number, for each of their keys."""
        parts = [
            content.drop_columns(list(_COMMON)).append_column(
                _FILE, pa.repeat(pa.scalar(number, pa.int32()), len(content))
            )
            for number, (_, content) in files.items()
        ]
        # There may be no rows of a table, but its columns are needed.
        parts += [arrow_schema(name).empty_table().drop_columns(list(_COMMON)) for name in TABLES]
        # Sums differed when the columns of the table were in several chunks.
        together = pa.concat_tables(parts, promote_options="default").combine_chunks()
        grouped = (
            self._session.createDataFrame(together)
            .groupBy(_FILE, *_KEYS)
            .agg(*self._sums)
            .toArrow()
            .sort_by([(_FILE, "ascending")])
        )
        numbers = grouped.column(_FILE).to_numpy()
        return {
            number: _as_file(name, content, grouped.slice(*_range(numbers, number)))
            for number, (name, content) in files.items()
        }


def _range(
    numbers: np.ndarray[tuple[int, ...], np.dtype[np.int32]], number: int
) -> tuple[int, int]:
    """Return where the rows of a file begin, and how many there are."""
    begin, end = (int(np.searchsorted(numbers, number, side)) for side in ("left", "right"))
    return begin, end - begin


def _as_file(name: str, content: pa.Table, sums: pa.Table) -> pa.Table:
    """Return the sums of a file in its form; columns that all tables have are the same in all of its rows."""
    schema = arrow_schema(name)
    columns = [
        pa.repeat(content.column(field.name)[0], len(sums))
        if field.name in _COMMON
        else sums.column(field.name).cast(field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)
