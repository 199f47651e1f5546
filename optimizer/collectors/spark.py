"""The collector in PySpark: the tables that `built_in` makes, by Spark jobs over the same files.

A session is given, and stays open.  The files are checked in this process, one at a time.  Spark reads them,
joins their rows with the weights of their spans, and sums; what follows from the sums is in `tables`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as sql

from fsql.compiler.statistics import COMMON, TABLES
from fsql.optimizer.collectors.files import read_files
from fsql.optimizer.collectors.results import spans_of, weights_of
from fsql.optimizer.collectors.tables import SPAN_TABLES, SPANS, statistics_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import Column, DataFrame, SparkSession

    from fsql.optimizer.statistics import Statistics

_TYPES: Final = {"int32": "INT", "int64": "BIGINT", "string": "STRING"}
_WEIGHTS: Final = "worker INT, `from` BIGINT, seconds DOUBLE, smooth DOUBLE, is_newest DOUBLE"
_OF_PATTERNS: Final = re.compile(r"[\\*?\[\]{}]")


def collect(state: Path, session: SparkSession) -> Statistics:
    """Return the statistics of the job in a state directory; damaged files are left out."""
    paths: dict[str, list[str]] = {name: [] for name in TABLES}
    problems = read_files(state, lambda name, path, _: paths[name].append(_url(path)))
    tables = {name: _read(session, name, each) for name, each in paths.items()}
    spans = tables[SPAN_TABLES[0]].select(*SPANS)
    for name in SPAN_TABLES[1:]:
        spans = spans.union(tables[name].select(*SPANS))
    weights = weights_of(spans_of(tuple(row) for row in spans.distinct().collect()))
    of_spans = sql.broadcast(session.createDataFrame(weights, _WEIGHTS))
    weighted = {name: _SparkTable(table, of_spans) for name, table in tables.items()}
    return statistics_of(weighted, problems)


def _url(path: Path) -> str:
    """Return a path for Spark, which takes paths for patterns."""
    return "file://" + _OF_PATTERNS.sub(r"\\\g<0>", str(path.resolve()))


def _read(session: SparkSession, table: str, paths: Sequence[str]) -> DataFrame:
    columns = ", ".join(f"`{name}` {_TYPES[kind]}" for name, kind in (*COMMON, *TABLES[table]))
    if not paths:
        return session.createDataFrame([], columns)
    # A file may be removed by its job after it was checked.
    reader = session.read.schema(columns).option("ignoreMissingFiles", "true")
    return reader.parquet(*paths)


class _SparkTable:
    """See `tables.Weighted`."""

    def __init__(self, table: DataFrame, weights: DataFrame) -> None:
        self._table = table.join(weights, ["worker", "from"])
        self.seconds = sql.col("seconds")
        self.smooth = sql.col("smooth")
        self.is_newest = sql.col("is_newest")

    def column(self, name: str) -> Column:
        """Return the numbers of a column."""
        return sql.col(name).cast("double")

    def sums(self, keys: list[str], values: dict[str, Column]) -> list[dict[str, Any]]:
        """Return the sums of some values for each key, in the order of the keys."""
        summed = [_ascending_sum(value).alias(f"sum {name}") for name, value in values.items()]
        rows = self._table.groupBy(*keys).agg(*summed).collect()
        names = [*keys, *values]
        found = [dict(zip(names, row, strict=True)) for row in rows]
        return sorted(found, key=lambda row: [row[key] for key in keys])


def _ascending_sum(value: Column) -> Column:
    """Return the sum of the values of a group, added in ascending order."""
    ascending = sql.array_sort(sql.collect_list(value))
    return sql.aggregate(ascending, sql.lit(0.0), lambda total, each: total + each)
