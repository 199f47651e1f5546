"""The queries of Nexmark on one core, from Parquet files to the blackhole, and the same as batches in DuckDB.

Each query runs in a process of its own, so its peak memory is its own.  DuckDB has one thread and returns
Arrow columns; it runs twice, and the second time counts.  `ratio` is its processor time divided by that of
fsql, so other programs count little; it is null if DuckDB is not installed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fsql.benchmarks.measure import SCRIPTS, pin
from fsql.benchmarks.nexmark_batch import open_events
from fsql.benchmarks.nexmark_events import write_events
from fsql.connectors.file.output_files import Existing
from fsql.job.compilation import compile_job
from fsql.job.outputs import open_outputs
from fsql.job.planning import RunOptions, choose_plan
from fsql.job.script_file import script_of_text
from fsql.job.sources import open_splits
from fsql.runtime.dataflow.metrics import slowest
from fsql.runtime.drivers.local import Edges, LocalRun
from fsql.runtime.drivers.memory import collect_less_often, keep_freed_memory
from fsql.runtime.drivers.operator_times import OperatorTimes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

EVENTS: Final = 2_000_000
_QUERIES: Final = SCRIPTS.parent / "nexmark"
_EVENT_RATE: Final = 10_000
_OPERATORS_SHOWN: Final = 5


def query_names() -> list[str]:
    """Return the queries that run, in the order of their numbers."""
    names = [path.stem for path in _QUERIES.glob("batch/*.sql")]
    return sorted(names, key=lambda name: (int(name[1:].partition("_")[0]), name))


def measure_queries(names: Sequence[str], events: int) -> Iterator[dict[str, Any]]:
    """Write the events, and yield the figures of each query."""
    with tempfile.TemporaryDirectory(prefix="fsql-bench-") as directory:
        write_events(Path(directory), events, _EVENT_RATE)
        for name in names:
            command = [sys.executable, "-m", __name__, directory, name]
            run = subprocess.run(command, check=True, stdout=subprocess.PIPE)  # noqa: S603 - our own command
            fields = json.loads(run.stdout)
            seconds, busy = fields["seconds"], fields["processor_seconds"]
            batch = _batch_seconds(Path(directory), name)
            yield {
                "benchmark": f"nexmark {name}",
                "events": events,
                **fields,
                "events_per_second": round(events / seconds),
                "events_per_processor_second": round(events / busy),
                "ratio": None if batch is None else round(batch / busy, 3),
            }


def measure_query(directory: Path, name: str) -> dict[str, Any]:
    """Run a query in this process, and return its figures."""
    pin(1)
    keep_freed_memory()
    text = (_QUERIES / "tables.sql").read_text() + (_QUERIES / f"{name}.sql").read_text()
    compiled = compile_job(script_of_text(text, {"events": str(directory)}))
    splits = open_splits(compiled)
    plan = choose_plan(compiled, splits, RunOptions())
    instrument = OperatorTimes()
    with open_outputs(compiled, splits, Existing.REFUSE) as outputs:
        run = LocalRun(plan, Edges(splits, outputs), instrument=instrument)
        collect_less_often()
        started, busy = time.perf_counter(), time.process_time()
        metrics = run.run()
        seconds, busy = time.perf_counter() - started, time.process_time() - busy
    return {
        "rows_in": metrics.rows_in,
        "rows_out": metrics.rows_out,
        "seconds": round(seconds, 6),
        "processor_seconds": round(busy, 6),
        "peak_bytes": _peak_bytes(),
        "operator_seconds": {
            operator: round(spent.seconds, 3)
            for operator, spent in slowest(instrument.operators)[:_OPERATORS_SHOWN]
        },
    }


def _batch_seconds(directory: Path, name: str) -> float | None:
    try:
        import duckdb
    except ImportError:
        return None
    batch = (_QUERIES / "batch" / f"{name}.sql").read_text()
    with duckdb.connect(config={"threads": 1}) as connection:
        open_events(connection, directory)
        connection.sql(batch).to_arrow_table()
        started = time.process_time()
        connection.sql(batch).to_arrow_table()
        return time.process_time() - started


def _peak_bytes() -> int:
    """Return the most memory that this process has had."""
    status = Path("/proc/self/status").read_text()
    [peak] = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(peak) * 1024


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure_query(Path(sys.argv[1]), sys.argv[2])))
