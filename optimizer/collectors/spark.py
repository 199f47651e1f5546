"""The collector in PySpark: the tables that `built_in` makes, by one Spark job over the same files.

The caller passes a session, which stays open.  The files are checked in this process, one at a time.  Spark
reads them, joins their rows with the weights of their spans, and sums; `tables` computes the results from the
sums.  A caller that collects repeatedly keeps the content of the files anyway: then Spark is given the rows,
and opens no file.

Each action of Spark has a fixed cost, which is most of the time for some hundred small files.  So the rows of
all tables are one table with the columns of all, and all groups are summed at once.  A row becomes one row
for each group of its table: the name of the group, its keys as numbers and texts, and its values.  The
expressions are made once for each collector, because each part of one is a call into Java.
"""

from __future__ import annotations

import re
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql import functions as sql

from fsql.compiler.statistics import COMMON, TABLES
from fsql.optimizer.collectors.files import arrow_schema, read_files, spans_in
from fsql.optimizer.collectors.results import spans_of, weights_of
from fsql.optimizer.collectors.tables import GROUPS, SPAN_TABLES, statistics_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import Column, DataFrame, SparkSession

    from fsql.optimizer.collectors.files import Kept
    from fsql.optimizer.collectors.results import Weight
    from fsql.optimizer.collectors.tables import Group
    from fsql.optimizer.statistics import Statistics

_TYPES: Final = {"int32": "INT", "int64": "BIGINT", "string": "STRING"}
_COLUMNS: Final = {name: kind for table in TABLES.values() for name, kind in (*COMMON, *table)}
_WEIGHTS: Final = "worker INT, `from` BIGINT, seconds DOUBLE, smooth DOUBLE, is_newest DOUBLE"
_VALUES: Final = tuple(f"value{index}" for index in range(10))
"""The columns of values; a group uses the first ones, and has NULL in the others."""
_UNUSED: Final = ["schema", "job", "epoch", "to"]
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


class SparkCollector:
    """Collects in one session."""

    def __init__(self, session: SparkSession) -> None:
        configure(session)
        self._session = session
        self._rows_of_groups = sql.inline(_rows_of_groups())
        self._sums = [_ascending_sum(sql.col(name)).alias(name) for name in _VALUES]
        self._names = {name: tuple(group.values(_Columns())) for name, group in GROUPS.items()}

    def collect(self, state: Path, kept: Kept | None = None) -> Statistics:
        """Return the statistics of the job in a state directory; damaged files are skipped.

        Files in `kept` are not read again; see `files.read_files`.
        """
        paths: list[str] = []
        contents: dict[str, list[pa.Table]] = {
            name: [arrow_schema(name).empty_table()] for name in TABLES
        }

        def take(name: str, path: Path, content: pa.Table) -> None:
            paths.append(_url(path))
            if kept is not None or name in SPAN_TABLES:
                contents[name].append(content)

        problems = read_files(state, take, kept=kept)
        spans = spans_in(content for name in SPAN_TABLES for content in contents[name])
        weights = weights_of(spans_of(spans))
        if not weights:
            return statistics_of({name: [] for name in GROUPS}, problems)
        rows = self._rows_of_files(paths) if kept is None else self._rows_of(contents)
        return statistics_of(self._sum(rows, weights), problems)

    def _rows_of_files(self, paths: Sequence[str]) -> DataFrame:
        columns = ", ".join(f"`{name}` {_TYPES[kind]}" for name, kind in _COLUMNS.items())
        # A file may be removed by its job after it was checked.
        reader = self._session.read.schema(columns).option("ignoreMissingFiles", "true")
        directory = sql.element_at(sql.split(sql.col("_metadata.file_path"), "/"), -2)
        return reader.parquet(*paths).select("*", directory.alias(_TABLE))

    def _rows_of(self, contents: Mapping[str, Sequence[pa.Table]]) -> DataFrame:
        tables = [
            table.append_column(_TABLE, pa.repeat(pa.scalar(name), len(table)))
            for name, parts in contents.items()
            for table in [pa.concat_tables(parts)]
        ]
        # Sums differed when the columns of the table were in several chunks.
        together = pa.concat_tables(tables, promote_options="default")
        return self._session.createDataFrame(together.drop_columns(_UNUSED).combine_chunks())

    def _sum(
        self, rows: DataFrame, weights: Sequence[Weight]
    ) -> Mapping[str, list[dict[str, Any]]]:
        """Return the sums of each group."""
        of_spans = self._session.createDataFrame(weights, _WEIGHTS)
        grouped = (
            rows.join(sql.broadcast(of_spans), ["worker", "from"])
            .select(self._rows_of_groups)
            .groupBy("group", "numbers", "texts")
            .agg(*self._sums)
        )
        found: dict[str, list[dict[str, Any]]] = {name: [] for name in GROUPS}
        for name, numbers, texts, *sums in grouped.collect():
            keys = {_NUMBERS: iter(numbers), _TEXTS: iter(texts)}
            row = {key: next(keys[_kind(key)]) for key in GROUPS[name].keys}
            found[name].append(row | dict(zip(self._names[name], sums, strict=False)))
        for name, rows_of_group in found.items():
            rows_of_group.sort(key=itemgetter(*GROUPS[name].keys))
        return found


def _url(path: Path) -> str:
    """Return a path as a URL for Spark, which interprets paths as patterns."""
    return "file://" + _OF_PATTERNS.sub(r"\\\g<0>", str(path.resolve()))


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
