"""Measures a query over a file of text, by the path of `fsql run`, on one core.

At full speed: words a second from the file to the last line of the result file, parsing included, the
time of each operator, peak memory, and the ratio to a plain batch in the same run.  With a rate: row i is due
at `start + i / rate` whether or not the engine was ready for it (so a stall counts for every row that falls
due in it), and is out when the last of what it caused has been written.  The first fifth warms up.
"""

from __future__ import annotations

import os
import resource
import tempfile
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from fsql.benchmarks.baseline import seconds_of
from fsql.connectors.file.output_files import Existing
from fsql.job.compilation import compile_job
from fsql.job.outputs import open_outputs
from fsql.job.planning import RunOptions, choose_plan
from fsql.job.script_file import read_script
from fsql.job.sources import open_splits
from fsql.runtime.dataflow.barrier import Released
from fsql.runtime.dataflow.metrics import slowest
from fsql.runtime.drivers.local import Edges, LocalRun
from fsql.runtime.drivers.memory import collect_less_often, keep_freed_memory
from fsql.runtime.drivers.operator_times import OperatorTimes
from fsql.runtime.ports import Chunk, SourceOffset, Wait

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.runtime.batch import Root
    from fsql.runtime.cluster.delivery.delivery import Contents
    from fsql.runtime.drivers.local import ReleaseTaker
    from fsql.runtime.drivers.output_writer import Outputs
    from fsql.runtime.ports import Release, Split, SplitReader

SCRIPTS: Final = Path(__file__).resolve().parents[1] / "queries" / "benchmarks"
_WARM_UP: Final = 0.2
_QUANTILES: Final = (50, 75, 95, 99)
_ROW_BITS: Final = 40


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A query, how its input is written (rows to words), and the batch that it is compared with."""

    name: str
    rows: int
    write: Callable[[Path, int], int]
    baseline: Callable[[Path], object]


@dataclass(frozen=True, slots=True)
class Load:
    """How much is measured, and how: all at once, or `rate` rows a second for `seconds`."""

    rows: int | None = None
    rate: int | None = None
    seconds: float = 20.0
    workers: int = 1
    blackhole: bool = False
    shards: int | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """The results of a measurement; `latency_ms` is empty without a rate, `ratio` None with one."""

    benchmark: str
    workers: int
    rate: int | None
    rows_in: int
    words_in: int
    rows_out: int
    seconds: float
    peak_bytes: int
    ratio: float | None
    latency_ms: dict[str, float]
    operator_seconds: dict[str, float]

    @property
    def words_per_second(self) -> float:
        """Return the throughput, or with a rate the rows fed."""
        return self.words_in / self.seconds

    def fields(self) -> dict[str, object]:
        """Return it as the fields of one JSON object."""
        return {
            "benchmark": self.benchmark,
            "workers": self.workers,
            "rate": self.rate,
            "rows_in": self.rows_in,
            "rows_out": self.rows_out,
            "seconds": round(self.seconds, 3),
            "words_per_second": round(self.words_per_second),
            **{f"latency_ms_p{q}": self.latency_ms.get(f"p{q}") for q in _QUANTILES},
            "peak_bytes": self.peak_bytes,
            "ratio": self.ratio,
            "operator_seconds": self.operator_seconds,
        }


@dataclass(slots=True)
class _Pace:
    """When rows fall due, and when they were out."""

    rate: int
    started: float | None = None
    out: list[tuple[np.ndarray[Any, Any], float]] = field(default_factory=list)

    def due(self) -> int:
        """Return how many rows have fallen due; the first does when this is asked first."""
        now = time.monotonic()
        if self.started is None:
            self.started = now
        return int((now - self.started) * self.rate) + 1

    def wait(self, row: int) -> float:
        """Return the seconds until a row falls due."""
        assert self.started is not None
        return max(0.0, self.started + row / self.rate - time.monotonic())

    def latency_ms(self, seconds: float) -> dict[str, float]:
        """Return the percentiles of the rows that fell due after the warm-up."""
        assert self.started is not None
        due = np.concatenate([self.started + rows / self.rate for rows, _ in self.out])
        out = np.concatenate([np.full(len(rows), written) for rows, written in self.out])
        late = (out - due)[due >= self.started + seconds * _WARM_UP] * 1000
        return {f"p{q}": round(float(np.percentile(late, q)), 3) for q in _QUANTILES}


class HeldSplit(ABC):
    """A split all of whose rows are read at the beginning; who inherits says when they are there."""

    def __init__(self, split: Split) -> None:
        self.name = split.name
        self._split = split
        self._chunk = _no_rows()
        self._row = 0

    def open(self, source_offset: SourceOffset | None = None) -> SplitReader:
        """Read all rows, to hand them out from the first on."""
        assert source_offset is None
        reader = self._split.open()
        parts = []
        while isinstance(part := reader.read(1 << 40), Chunk):
            parts.append(part)
        reader.close()
        columns = [pa.concat_arrays(each) for each in zip(*(p.columns for p in parts), strict=True)]
        self._chunk = Chunk(columns, np.concatenate([part.rows for part in parts]), (), 0)
        return self

    def bytes_passed(self) -> int:
        """Return 0: there is no file."""
        return 0

    def source_offset(self) -> SourceOffset:
        """Return where the next row is."""
        return SourceOffset(self._row, 0, 0)

    @abstractmethod
    def read(self, rows_max: int) -> Chunk | Wait | None:
        """Return some of the next rows, how long to wait for them, or None after the last."""

    def close(self) -> None:
        """Release the rows."""
        self._chunk = _no_rows()

    def rows_before(self, stop: int) -> Chunk | None:
        """Return the rows from the next one on, up to row number `stop`; None if there are none."""
        start, self._row = self._row, stop
        columns = [column.slice(start, stop - start) for column in self._chunk.columns]
        return Chunk(columns, self._chunk.rows[start:stop], (), 0) if start < stop else None


def _no_rows() -> Chunk:
    return Chunk((), np.empty(0, np.int64), (), 0)


class _PacedSplit(HeldSplit):
    """A split whose rows are there when they fall due."""

    def __init__(self, split: Split, pace: _Pace) -> None:
        super().__init__(split)
        self._pace = pace

    def read(self, rows_max: int) -> Chunk | Wait | None:
        end = len(self._chunk.rows)
        stop = min(self._pace.due(), self._row + rows_max, end)
        if stop <= self._row < end:
            return Wait(self._pace.wait(self._row))
        return self.rows_before(max(stop, self._row))


@dataclass(slots=True)
class _PacedOutputs:
    outputs: Outputs
    pace: _Pace
    taken: list[Release] = field(default_factory=list)

    def take(self, contents: Contents) -> None:
        self.outputs.take(contents)
        if isinstance(contents, Released):
            self.taken.append(contents.release)

    def advance(self, bound: Root) -> None:
        self.outputs.advance(bound)
        for release in self.taken:
            rows = np.unique(release.origin & (1 << _ROW_BITS) - 1)
            self.pace.out.append((rows, time.monotonic()))
        self.taken.clear()


def measure(benchmark: Benchmark, load: Load) -> Measured:
    """Write the input, run the batch and the query, and return the results."""
    pin(load.workers)
    keep_freed_memory()
    rows = load.rows or benchmark.rows
    if load.rate is not None:
        rows = max(1, int(load.rate * load.seconds))
    with tempfile.TemporaryDirectory(prefix="fsql-bench-") as directory:
        text = Path(directory) / "input.txt"
        words = benchmark.write(text, rows)
        batch = None if load.rate else seconds_of(benchmark.baseline, text)
        return _run(benchmark, load, text, words, batch)


def measure_file(
    benchmark: Benchmark, text: Path, words: int, shards: int | None = None
) -> Measured:
    """Run the query in this process on an existing file, write next to it, and return the measurement.

    The result goes to one file, or to `shards`.
    The process is bound to one core only for the time of the run.
    """
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    pin(1)
    try:
        return _run(benchmark, Load(shards=shards), text, words, None)
    finally:
        if cores:
            os.sched_setaffinity(0, cores)


def pin(workers: int) -> None:
    """Stay on as many cores as there are workers, with no threads of the libraries."""
    pa.set_cpu_count(1)
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, cores[-workers:])


def _run(benchmark: Benchmark, load: Load, text: Path, words: int, batch: float | None) -> Measured:
    sink_path = "" if load.blackhole else f"'path' = '{text.parent / 'output.jsonl'}',"
    if load.shards is not None:
        sink_path += f" 'shards' = '{load.shards}',"
    values = {
        "input": str(text),
        "sink": "blackhole" if load.blackhole else "file",
        "sink_path": sink_path,
    }
    result = compile_job(read_script(str(SCRIPTS / f"{benchmark.name}.sql"), values))
    splits = open_splits(result)
    plan = choose_plan(result, splits, RunOptions(workers=load.workers))
    instrument = OperatorTimes()
    pace = None if load.rate is None else _Pace(load.rate)
    with open_outputs(result, splits, Existing.OVERWRITE) as outputs:
        taker: ReleaseTaker = outputs
        if pace is not None:
            splits = {t: [_PacedSplit(s, pace) for s in parts] for t, parts in splits.items()}
            taker = _PacedOutputs(outputs, pace)
        edges = Edges(splits, taker)
        run = LocalRun(plan, edges, instrument=instrument)
        collect_less_often()
        started = time.perf_counter()
        metrics = run.run()
        seconds = time.perf_counter() - started
    return Measured(
        benchmark=benchmark.name,
        workers=load.workers,
        rate=load.rate,
        rows_in=metrics.rows_in,
        words_in=words,
        rows_out=metrics.rows_out,
        seconds=seconds,
        peak_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        ratio=None if batch is None else round(batch / seconds, 3),
        latency_ms={} if pace is None else pace.latency_ms(seconds),
        operator_seconds={
            name: round(operator.seconds, 3) for name, operator in slowest(instrument.operators)
        },
    )
