"""Measures a query over generated text: words a second, and how long a row takes from due to released.

The job runs as `fsql run` runs it, with its output encoded and written to a device that drops it.  Without
a rate, rows come as fast as they are taken, and latency means nothing.  With one, row i is due at
`start + i / rate` whether or not the engine was ready for it (so a stall is counted for every row that
falls due in it), and is out when the last of what it caused has been written.  Rows due in the first
fifth of the time warm up, and do not count for latency.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from fsql.console.compiled import compiled
from fsql.console.job import RunOptions, planned
from fsql.console.outputs import opened_outputs
from fsql.console.script import read_script
from fsql.runtime.connectors import open_source
from fsql.runtime.drivers.local import Edges, LocalRun
from fsql.runtime.drivers.memory import keep_freed_memory
from fsql.runtime.ports import Chunk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from fsql.runtime.drivers.local import Counters
    from fsql.runtime.ports import Release, SinkWriter, Split, SplitReader, Wait

SCRIPTS: Final = Path(__file__).resolve().parents[1] / "queries" / "benchmarks"
_UNLIMITED: Final = 1_000_000_000
"""A rate that no engine keeps up with."""
_ROW_BITS: Final = 40
_WARM_UP: Final = 0.2
_QUANTILES: Final = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}


@dataclass(frozen=True, slots=True)
class Measured:
    """What a measurement came to; latencies are in milliseconds, None where no rate was given."""

    benchmark: str
    workers: int
    rate: int | None
    seconds: float
    rows_in: int
    words_in: int
    rows_out: int
    words_per_second: float
    rows_out_per_second: float
    latency_ms: dict[str, float] | None

    def fields(self) -> dict[str, object]:
        """Return it as fields."""
        return asdict(self)


@dataclass(slots=True)
class _Meter:
    """Stands at both ends of a job: sees when rows fall due, how many words come in, when rows go out."""

    rate: int | None
    started: float | None = None
    words: int = 0
    latencies: list[tuple[NDArray[np.int64], float]] = field(default_factory=list)

    def clock(self) -> float:
        """Return the time; the generator asks first when its first row falls due."""
        now = time.monotonic()
        if self.started is None:
            self.started = now
        return now

    def latency_ms(self, seconds: float) -> dict[str, float] | None:
        """Return the quantiles of the latency of rows that were due after the warm-up."""
        if self.rate is None or not self.latencies:
            return None
        assert self.started is not None
        due, out = (
            np.concatenate([self.started + rows / self.rate for rows, _ in self.latencies]),
            np.concatenate([np.full(len(rows), written) for rows, written in self.latencies]),
        )
        late = (out - due)[due > self.started + seconds * _WARM_UP] * 1000
        if len(late) == 0:
            return None
        return {name: float(np.quantile(late, q)) for name, q in _QUANTILES.items()}


@dataclass(frozen=True, slots=True)
class _MeteredSplit:
    """A generator whose words are counted."""

    split: Split
    meter: _Meter

    @property
    def name(self) -> str:
        return self.split.name

    def open(self) -> SplitReader:
        return _MeteredReader(self.split.open(), self.meter)


@dataclass(frozen=True, slots=True)
class _MeteredReader:
    reader: SplitReader
    meter: _Meter

    def read(self, rows_max: int) -> Chunk | Wait | None:
        chunk = self.reader.read(rows_max)
        if isinstance(chunk, Chunk):
            text = np.frombuffer(chunk.columns[-1].buffers()[2], np.uint8)
            # One space stands between two words, and a line has one word more than spaces.
            self.meter.words += int(np.count_nonzero(text == ord(" "))) + len(chunk.rows)
        return chunk

    def close(self) -> None:
        self.reader.close()


@dataclass(frozen=True, slots=True)
class _MeteredSink:
    sink: SinkWriter
    meter: _Meter

    def write(self, release: Release) -> None:
        self.sink.write(release)
        if self.meter.rate is not None:
            # A group is released whole, so a row is out with the release that has its changes.
            rows = np.unique(release.origin & (1 << _ROW_BITS) - 1)
            self.meter.latencies.append((rows, time.monotonic()))

    def close(self) -> None:
        self.sink.close()


class _TimeIsUp(Exception):  # noqa: N818 - not an error: this is how a measurement ends
    """The measurement has lasted as long as it was to."""


def measure(
    benchmark: str, parameters: Mapping[str, str], *, rate: int | None, seconds: float, workers: int
) -> Measured:
    """Run `queries/benchmarks/<benchmark>.sql` for so many seconds and return what it came to."""
    keep_freed_memory()
    values = {**parameters, "rate": str(rate or _UNLIMITED), "output": "/dev/null"}
    result = compiled(read_script(str(SCRIPTS / f"{benchmark}.sql"), values))
    meter = _Meter(rate)
    splits = {
        table.ordinal: [
            _MeteredSplit(split, meter)
            for split in open_source(table, result.script.base_directory, clock=meter.clock)
        ]
        for table in result.job.tables
    }
    plan = planned(result, splits, RunOptions(workers=workers))

    def end_in_time(counters: Counters) -> None:
        if counters.seconds >= seconds:
            raise _TimeIsUp

    with opened_outputs(result, splits) as outputs:
        sinks = [_MeteredSink(sink, meter) for sink in outputs.sinks]
        run = LocalRun(plan, Edges(splits, sinks, outputs.write_late, outputs.write_rejects))
        with suppress(_TimeIsUp):
            run.run(end_in_time)
    counters = run.counters
    return Measured(
        benchmark=benchmark,
        workers=workers,
        rate=rate,
        seconds=counters.seconds,
        rows_in=counters.rows_in,
        words_in=meter.words,
        rows_out=counters.rows_out,
        words_per_second=meter.words / counters.seconds,
        rows_out_per_second=counters.rows_out / counters.seconds,
        latency_ms=meter.latency_ms(counters.seconds),
    )
