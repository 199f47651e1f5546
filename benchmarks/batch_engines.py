"""Queries over Parquet files at rest, as a script of fsql on Spark, as SQL on plain Spark, and in DuckDB.

The three read the same files and write Parquet files, each in a process of its own; they run by turns, in the
opposite order in each second round.  Their times are those of whole processes, start and end included, with
all processes below them.  What starting takes is measured too: it is the time of a query over few rows.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from fsql.benchmarks.batch_orders import write_orders
from fsql.benchmarks.by_turns import bench_folder, by_turns, median_of, ratio_of
from fsql.benchmarks.measure import SCRIPTS
from fsql.benchmarks.process_times import run_command
from fsql.runtime.drivers.processes.starting import COMMAND

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FSQL, SPARK, DUCKDB = "fsql", "spark", "duckdb"
ENGINES: Final = (FSQL, SPARK, DUCKDB)
START: Final = "start"
"""The name under which the times of a query over few rows are reported."""
_FEW_ROWS: Final = 1_000
_QUERIES: Final = SCRIPTS / "batch"
_TABLES: Final = ("orders", "buyers")


@dataclass(frozen=True, slots=True)
class BatchLoad:
    """The parameters: queries, rows of the input, its files, cores of each engine, runs of each query."""

    queries: Sequence[str]
    rows: int
    files: int
    cores: int
    rounds: int


def query_names() -> list[str]:
    """Return the queries, by name."""
    return sorted(path.stem for path in _QUERIES.glob("plain/*.sql"))


def measure_engines(load: BatchLoad) -> Iterator[dict[str, Any]]:
    """Yield what each run took, and after the runs of a query how the engines compare.

    Raises:
        JobFailedError: if a run fails.
    """
    with bench_folder() as folder:
        few = min(_FEW_ROWS, load.rows)
        write_orders(folder / "few", few, 1)
        write_orders(folder / "all", load.rows, load.files)
        yield from _compare(load.queries[0], START, few, load, folder)
        for name in load.queries:
            yield from _compare(name, name, load.rows, load, folder)


def _compare(
    query: str, name: str, rows: int, load: BatchLoad, folder: Path
) -> Iterator[dict[str, Any]]:
    labels = {"benchmark": "spark", "query": name, "rows": rows}
    data = folder / ("few" if name == START else "all")
    own = folder / name
    own.mkdir()

    def run(engine: str, place: Path) -> tuple[dict[str, Any], bytes]:
        times = run_command(_command(engine, query, data, place, load.cores))
        rate = round(rows / times.processor_seconds) if times.processor_seconds else None
        fields = {
            "seconds": round(times.seconds, 3),
            "processor_seconds": round(times.processor_seconds, 3),
            "rows_per_processor_second": rate,
        }
        return fields, _rows_written(place / "output")

    found: list[dict[str, Any]] = []
    turns = [each for r in range(load.rounds) for each in ENGINES[:: 1 if r % 2 == 0 else -1]]
    for engine, measured in by_turns(turns, 1, own, run):
        same = measured.pop("bytes_equal")
        found.append({**labels, "engine": engine, **measured, "rows_equal": same})
        yield found[-1]
    yield {
        **labels,
        "engine": "medians",
        **{
            f"{field}_{engine}": round(median_of(found, "engine", engine, field), 3)
            for field in ("seconds", "processor_seconds")
            for engine in ENGINES
        },
        **{
            f"{field}_fsql_by_{other}": ratio_of(found, (FSQL, other), "engine", field)
            for field in ("seconds", "processor_seconds")
            for other in (SPARK, DUCKDB)
        },
    }


def _command(engine: str, query: str, data: Path, folder: Path, cores: int) -> list[str]:
    output = folder / "output"
    if engine != FSQL:
        arguments = [engine, query, str(data), str(output), str(cores)]
        return [sys.executable, "-m", __name__, *arguments]
    script = folder / "query.sql"
    script.write_text(
        (_QUERIES / "tables.sql").read_text() + (_QUERIES / f"{query}.sql").read_text()
    )
    spark = ("--engine", "spark", "--master", f"local[{cores}]")
    return [
        *COMMAND,
        "run",
        str(script),
        "--quiet",
        *spark,
        f"-Dinput={data}",
        f"-Doutput={output}",
    ]


def _rows_written(output: Path) -> bytes:
    """Return the rows of a result in the order of their values, in a form without types of an engine."""
    files = [output] if output.is_file() else sorted(output.glob("*.parquet"))
    tables = []
    for file in files:
        table = pq.read_table(file, partitioning=None)
        fields = [(f.name, _common_type(f.type)) for f in table.schema]
        tables.append(table.cast(pa.schema(fields)))
    rows = pa.concat_tables(tables).combine_chunks()
    rows = rows.sort_by([(name, "ascending") for name in rows.column_names])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_table(rows)
    return sink.getvalue().to_pybytes()


def _common_type(kind: pa.DataType) -> pa.DataType:
    return pa.timestamp("us", "UTC") if pa.types.is_timestamp(kind) else kind


# What follows is the process of another engine.


def _run_on_spark(query: str, data: Path, output: Path, cores: int) -> None:
    from fsql.job.spark import PARTITIONS
    from fsql.runtime.drivers.spark.session import spark_session

    with spark_session(f"local[{cores}]", PARTITIONS) as session:
        session.conf.set("spark.sql.session.timeZone", "UTC")
        for table in _TABLES:
            session.read.parquet(str(data / table)).createOrReplaceTempView(table)
        session.sql(query).write.parquet(str(output))


def _run_in_duckdb(query: str, data: Path, output: Path, cores: int) -> None:
    import duckdb

    with duckdb.connect(config={"threads": cores}) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for table in _TABLES:
            connection.read_parquet(str(data / table / "*.parquet")).create_view(table)
        connection.sql(query).write_parquet(str(output))


def main(engine: str, query: str, *places: str) -> None:
    """Run a query on another engine, given the folders of its input and output, and the number of cores."""
    data, output, cores = places
    text = (_QUERIES / "plain" / f"{query}.sql").read_text()
    run = _run_on_spark if engine == SPARK else _run_in_duckdb
    run(text, Path(data), Path(output), int(cores))


if __name__ == "__main__":
    main(*sys.argv[1:])
