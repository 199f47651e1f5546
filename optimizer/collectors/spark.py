"""The collector in PySpark: the tables that `built_in` makes, by one Spark job over the same files.

The caller passes a session, which stays open.  The files are checked in this process, one at a time.  Spark
reads them, joins their rows with the weights of their spans, and sums; `tables` computes the results from the
sums.

Each action of Spark has a fixed cost, which is most of the time for some hundred small files.  So the files
of all tables are read as one table with the columns of all, and all groups are summed at once.  A row becomes
one row for each group of its table: the name of the group, its keys as numbers and texts, and its values.
"""

from __future__ import annotations

import re
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as sql

from fsql.compiler.statistics import COMMON, TABLES
from fsql.optimizer.collectors.files import read_files, spans_in
from fsql.optimizer.collectors.results import spans_of, weights_of
from fsql.optimizer.collectors.tables import GROUPS, SPAN_TABLES, statistics_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import Column, SparkSession

    from fsql.optimizer.collectors.files import Kept
    from fsql.optimizer.collectors.results import Weight
    from fsql.optimizer.collectors.tables import Group
    from fsql.optimizer.statistics import Statistics

_TYPES: Final = {"int32": "INT", "int64": "BIGINT", "string": "STRING"}
_COLUMNS: Final = {name: kind for table in TABLES.values() for name, kind in (*COMMON, *table)}
_WEIGHTS: Final = "worker INT, `from` BIGINT, seconds DOUBLE, smooth DOUBLE, is_newest DOUBLE"
_VALUES: Final = tuple(f"value{index}" for index in range(9))
"""The columns of values; a group uses the first ones, and has NULL in the others."""
_TABLE, _NUMBERS, _TEXTS = "name of table", "numbers", "texts"
_SETTINGS: Final = {
    # From this number of paths on, Spark lists them in a separate job.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
    # The assumed cost of opening a file decides the number of tasks: as few as there are cores.
    "spark.sql.files.openCostInBytes": "1",
}
_OF_PATTERNS: Final = re.compile(r"[\\*?\[\]{}]")


def configure(session: SparkSession) -> None:
    """Configure a session for many small files."""
    for name, value in _SETTINGS.items():
        session.conf.set(name, value)


def collect(state: Path, session: SparkSession, kept: Kept | None = None) -> Statistics:
    """Return the statistics of the job in a state directory; damaged files are skipped.

    Files in `kept` are not checked again; see `files.read_files`.
    """
    paths: list[str] = []
    contents: list[pa.Table] = []

    def take(name: str, path: Path, content: pa.Table) -> None:
        paths.append(_url(path))
        if name in SPAN_TABLES:
            contents.append(content)

    problems = read_files(state, take, kept=kept)
    weights = weights_of(spans_of(spans_in(contents)))
    sums = _sums(session, paths, weights) if weights else {name: [] for name in GROUPS}
    return statistics_of(sums, problems)


def _url(path: Path) -> str:
    """Return a path as a URL for Spark, which interprets paths as patterns."""
    return "file://" + _OF_PATTERNS.sub(r"\\\g<0>", str(path.resolve()))


def _sums(
    session: SparkSession, paths: Sequence[str], weights: Sequence[Weight]
) -> Mapping[str, list[dict[str, Any]]]:
    """Return the sums of each group."""
    columns = ", ".join(f"`{name}` {_TYPES[kind]}" for name, kind in _COLUMNS.items())
    # A file may be removed by its job after it was checked.
    reader = session.read.schema(columns).option("ignoreMissingFiles", "true")
    directory = sql.element_at(sql.split(sql.col("_metadata.file_path"), "/"), -2)
    rows = reader.parquet(*paths).select("*", directory.alias(_TABLE))
    of_spans = session.createDataFrame(weights, _WEIGHTS)
    grouped = (
        rows.join(sql.broadcast(of_spans), ["worker", "from"])
        .select(sql.inline(_rows_of_groups()))
        .groupBy("group", "numbers", "texts")
        .agg(*(_ascending_sum(sql.col(name)) for name in _VALUES))
    )
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in GROUPS}
    values = {name: tuple(group.values(_Columns())) for name, group in GROUPS.items()}
    for name, numbers, texts, *sums in grouped.collect():
        keys = {_NUMBERS: iter(numbers), _TEXTS: iter(texts)}
        row = {key: next(keys[_kind(key)]) for key in GROUPS[name].keys}
        found[name].append(row | dict(zip(values[name], sums, strict=False)))
    for name, rows_of_group in found.items():
        rows_of_group.sort(key=itemgetter(*GROUPS[name].keys))
    return found


def _rows_of_groups() -> Column:
    """Return the array that replaces a row of a table: one struct for each group of the table."""
    chosen = sql.lit(None)
    for table in TABLES:
        of_table = [_row(name, group) for name, group in GROUPS.items() if group.table == table]
        chosen = sql.when(sql.col(_TABLE) == table, sql.array(*of_table)).otherwise(chosen)
    return chosen


def _row(name: str, group: Group) -> Column:
    numbers = [sql.col(key).cast("bigint") for key in group.keys if _kind(key) == _NUMBERS]
    texts = [sql.col(key) for key in group.keys if _kind(key) == _TEXTS]
    values = dict.fromkeys(_VALUES, sql.lit(None).cast("double"))
    values |= dict(zip(_VALUES, group.values(_Columns()).values(), strict=False))
    return sql.struct(
        sql.lit(name).alias("group"),
        sql.array(*numbers).cast("array<bigint>").alias("numbers"),
        sql.array(*texts).cast("array<string>").alias("texts"),
        *(value.alias(name) for name, value in values.items()),
    )


def _kind(key: str) -> str:
    """Return which of the two arrays of keys has a column."""
    return _TEXTS if _COLUMNS[key] == "string" else _NUMBERS


def _ascending_sum(value: Column) -> Column:
    """Return the sum of the values of a group, added in ascending order."""
    ascending = sql.array_sort(sql.collect_list(value))
    return sql.aggregate(ascending, sql.lit(0.0), lambda total, each: total + each)


class _Columns:
    """See `tables.Weighted`; expressions on columns of any table."""

    def __init__(self) -> None:
        self.seconds = sql.col("seconds")
        self.smooth = sql.col("smooth")
        self.is_newest = sql.col("is_newest")

    def column(self, name: str) -> Column:
        """Return the numbers of a column."""
        return sql.col(name).cast("double")
