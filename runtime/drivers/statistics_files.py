"""Statistics as Parquet files in the state directory, a directory for each table.

    STATE/statistics/TABLE/INTERVAL-EPOCH-WORKER.parquet

A file becomes visible as a whole.  After `KEPT` intervals it is removed by the next worker that looks for
old files, which each worker does only at every `REMOVED_EVERY`th write.  Files are not compressed: that would
take most of the time, and workers write them between other work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fsql.compiler.statistics import COMMON, DIRECTORY, SCHEMA, TABLES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fsql.runtime.cluster.ticks.events import RecordStatistics
    from fsql.runtime.dataflow.bin_loads import EdgeLoad
    from fsql.runtime.hosts.ports import Clock
    from fsql.runtime.state.directory import StateDirectory

KEPT: Final = 60
"""For how many intervals files are kept."""
REMOVED_EVERY: Final = 10


class StatisticsFiles:
    """The statistics of one job, as its workers write them."""

    def __init__(self, directory: StateDirectory, every: float, wall_clock: Clock) -> None:
        """Write to a state directory once in `every` seconds; `wall_clock` returns the seconds since 1970."""
        self._directory = directory
        self._every = every
        self._wall_clock = wall_clock
        self._written = 0

    def now(self) -> float:
        """Return the time of the wall clock, in seconds since 1970."""
        return self._wall_clock()

    def write(self, statistics: RecordStatistics, ended: float) -> None:
        """Write a file for each table that has rows.

        The interval is that of `ended`, which is when the statistics were taken: several may be written at
        once, after a large snapshot.

        Raises:
            OSError: if one cannot be written.
        """
        interval = int(ended / self._every)
        begins, ends = round((ended - statistics.seconds) * 1e6), round(ended * 1e6)
        common = SCHEMA, statistics.job, interval, statistics.epoch, statistics.worker, begins, ends
        name = f"{interval:012}-{statistics.epoch}-{statistics.worker}.parquet"
        self._directory.make_directory(DIRECTORY)
        for table, columns in _columns_of(statistics):
            if len(columns[0]):
                self._write(f"{DIRECTORY}/{table}", name, arrow_table(table, common, columns))
            if self._written % REMOVED_EVERY == 0:
                self._remove_old(f"{DIRECTORY}/{table}", interval - KEPT)
        self._written += 1

    def _write(self, directory: str, name: str, table: pa.Table) -> None:
        sink = pa.BufferOutputStream()
        pq.write_table(
            table, sink, compression="none", write_statistics=False, write_page_checksum=True
        )
        self._directory.make_directory(directory)
        hidden = f"{directory}/.{name}"
        self._directory.write(hidden, sink.getvalue().to_pybytes())
        self._directory.rename(hidden, f"{directory}/{name}")

    def _remove_old(self, directory: str, before: int) -> None:
        for name in self._directory.names(directory):
            number = name.lstrip(".").partition("-")[0]
            if number.isdecimal() and int(number) < before:
                self._directory.remove(f"{directory}/{name}")


def arrow_table(
    table: str, common: Sequence[object], columns: Sequence[Sequence[object] | np.ndarray[Any, Any]]
) -> pa.Table:
    """Return the rows of a table from columns and from the values that all rows have in common."""
    fields = [*COMMON, *TABLES[table]]
    count = len(columns[0])
    arrays = [
        pa.repeat(pa.scalar(value, kind), count)
        for value, (_, kind) in zip(common, COMMON, strict=True)
    ]
    arrays += [
        values if isinstance(values, pa.Array) else pa.array(values, kind)
        for values, (_, kind) in zip(columns, TABLES[table], strict=True)
    ]
    return pa.table(arrays, names=[name for name, _ in fields])


def _columns_of(statistics: RecordStatistics) -> Iterator[tuple[str, list[Any]]]:
    yield "bins", _bins(statistics.loads)
    heavy = [(each.operator, each.side, *key) for each in statistics.loads for key in each.heavy]
    tables: Mapping[str, Sequence[tuple[object, ...]]] = {**statistics.tables, "heavy": heavy}
    for table, rows in tables.items():
        yield table, [[row[index] for row in rows] for index in range(len(TABLES[table]))]


def _bins(loads: Sequence[EdgeLoad]) -> list[Any]:
    if not loads:
        return [[] for _ in TABLES["bins"]]
    bins = [np.flatnonzero(load.rows) for load in loads]
    numbers = pa.array(np.repeat(np.arange(len(loads)), [len(each) for each in bins]))
    return [
        pa.array([load.operator for load in loads], pa.string()).take(numbers),
        pa.array([load.side for load in loads], pa.int32()).take(numbers),
        np.concatenate(bins),
        *(
            np.concatenate([counts[each] for counts, each in zip(of_loads, bins, strict=True)])
            for of_loads in zip(
                *((each.rows, each.bytes, each.negative) for each in loads), strict=True
            )
        ),
    ]
