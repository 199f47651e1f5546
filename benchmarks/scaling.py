"""The limits of more workers: a queueing model, with costs measured separately in this process.

Each station takes a number of seconds of one core for a word of the inverted index: a worker reads, splits,
groups and exchanges documents, applies rows to its fold, and sends the results; the coordinator receives,
sorts and writes them.  Stations work concurrently, each on a core of its own, on input with a split for each
worker.  So the throughput is that of the busiest station.  Costs are measured with batches as large as in a
run, and include the fixed cost of a batch.

With one split, one worker reads all and sends a percentage of the documents to the others (`rebalanced`):
none, or as many as are best for the busiest station.

Of a result in shards, each worker that writes takes its part of what the coordinator does otherwise, and of
the rows that others send to it.  What the coordinator does then depends on batches, not rows: it is left out.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from fsql.benchmarks.encode import index
from fsql.benchmarks.measure import measure_file
from fsql.optimizer.rebalancing import STEP
from fsql.runtime.batch import Batch
from fsql.runtime.cluster.frames import Frame
from fsql.runtime.cluster.job_spec import Settings
from fsql.runtime.dataflow.messages import Address, Message, Parcel
from fsql.runtime.drivers.transport import ZeroMqTransport
from fsql.runtime.hashing import hash_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.benchmarks.measure import Benchmark

WORKERS: Final = (1, 2, 4, 8)
_COORDINATOR: Final = ("barrier", "write")
_FOLD: Final = "over"
_READ: Final = "read"
_FRAMES: Final = 12
_ROWS_OF_A_FRAME: Final = 100_000
_DOCUMENTS_OF_A_FRAME: Final = 2_000
_HASHES: Final = 1 << 32


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds of one core for each word, by station; `rows` are change records for each word.

    `read` is the part of `source` that is taken where a split is read.  `send_raw` and `receive_raw` are for
    documents, whole, from there to another worker.
    """

    source: float
    fold: float
    coordinator: float
    send: float
    receive: float
    read: float
    send_raw: float
    receive_raw: float
    rows: float
    shares: dict[int, float]
    """The share of the rows that the busiest of this number of workers has."""

    @property
    def one_process(self) -> float:
        """Return the seconds for each word of one process that does it all."""
        return self.source + self.fold + self.coordinator

    def stations(self, workers: int, shards: int | None = None) -> dict[str, float]:
        """Return the seconds for each word of the busiest worker, and of the coordinator."""
        away = (workers - 1) / workers
        crossing = self.rows * away * (self.send + self.receive) / workers
        fold, coordinator = self._rest(workers, shards)
        return {"worker": self.source / workers + crossing + fold, "coordinator": coordinator}

    def stations_of_one_split(
        self, workers: int, percent: int, shards: int | None = None
    ) -> dict[str, float]:
        """Return the same if one worker reads all, and sends that percentage of it to the others."""
        sent = percent / 100
        fold, coordinator = self._rest(workers, shards)

        def stage(part: float) -> float:
            """Return what it takes to run the first stage over a part, and to exchange the rows."""
            leaving = self.rows * part * (workers - 1) / workers * self.send
            coming = self.rows * (1 - part) / workers * self.receive
            return part * (self.source - self.read) + leaving + coming

        other = sent / (workers - 1)
        return {
            "reader": self.read + sent * self.send_raw + stage(1 - sent) + fold,
            "worker": other * self.receive_raw + stage(other) + fold,
            "coordinator": coordinator,
        }

    def _rest(self, workers: int, shards: int | None) -> tuple[float, float]:
        """Return what folds, and what is done with their rows, take on a worker and on the coordinator."""
        share = self.shares[workers]
        fold = self.fold * share
        if shards is not None and workers >= Settings().shard_writers_min:
            writers = min(workers, shards)
            sends = self.rows * share * (1 - 1 / writers) * self.send
            writes = (self.coordinator + self.rows * (1 - share) * self.receive) / writers
            return fold + sends + writes, 0.0
        return fold + self.rows * self.send * share, self.coordinator + self.rows * self.receive


def scale(
    benchmark: Benchmark, documents: int | None, shards: int | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the costs, then the throughput by the model for each number of workers and what limits it."""
    costs = _measure(benchmark, documents or benchmark.rows, shards)
    yield {
        "benchmark": "scaling",
        "ns_per_word": {
            name: round(getattr(costs, name) * 1e9, 1)
            for name in (
                *("source", "fold", "coordinator", "send", "receive"),
                *("read", "send_raw", "receive_raw"),
            )
        },
    }
    alone = max(costs.stations(1, shards).values())
    for workers in WORKERS:
        stations = costs.stations(workers, shards)
        yield _fields(costs, workers, workers, 0, stations, alone)
    for workers in WORKERS[1:]:
        for percent in (0, _best_percent(costs, workers, shards)):
            stations = costs.stations_of_one_split(workers, percent, shards)
            yield _fields(costs, workers, 1, percent, stations, alone)


def _best_percent(costs: Costs, workers: int, shards: int | None) -> int:
    """Return the percentage of the documents with which the busiest worker takes least."""

    def busiest(percent: int) -> float:
        stations = costs.stations_of_one_split(workers, percent, shards)
        return max(stations["reader"], stations["worker"])

    return min(range(0, 101, STEP), key=busiest)


def _fields(
    costs: Costs,
    workers: int,
    splits: int,
    percent: int,
    stations: dict[str, float],
    alone: float,
) -> dict[str, Any]:
    """Return the throughput by the model, and what limits it."""
    busiest = max(stations, key=lambda name: stations[name])
    return {
        "benchmark": "scaling",
        "workers": workers,
        "splits": splits,
        "rebalanced": percent,
        "words_per_second": round(1 / stations[busiest]),
        "ratio": round(alone / stations[busiest], 2),
        "ratio_to_one_process": round(costs.one_process / stations[busiest], 2),
        "limited_by": busiest,
        "busy": {name: round(each / stations[busiest], 2) for name, each in stations.items()},
    }


def _measure(benchmark: Benchmark, documents: int, shards: int | None) -> Costs:
    with tempfile.TemporaryDirectory(prefix="fsql-bench-") as directory:
        text = Path(directory) / "input.txt"
        words = benchmark.write(text, documents)
        run = measure_file(benchmark, text, words, shards)
        shares = _shares(text)
        lines = text.read_text(encoding="ascii").splitlines()
    spent = {name: seconds / words for name, seconds in run.operator_seconds.items()}
    coordinator = sum(spent.pop(name, 0.0) for name in _COORDINATOR)
    fold = sum(spent.pop(name) for name in list(spent) if name.startswith(_FOLD))
    send, receive = _link_seconds(_batch())
    raw = [len(lines) * each / words for each in _link_seconds(_documents(lines))]
    rows = run.rows_out / words
    source, read = sum(spent.values()), spent[_READ]
    return Costs(source, fold, coordinator, send, receive, read, raw[0], raw[1], rows, shares)


def _shares(text: Path) -> dict[int, float]:
    """Return the share of the busiest of this number of workers, by the words of each document."""
    seen: list[str] = []
    for line in text.read_text(encoding="ascii").splitlines():
        seen += sorted(set(line.partition("\t")[2].split(" ")))
    words = pa.array(seen)
    hashes = hash_rows([words], len(words)).astype(np.uint64)
    counts = {n: np.bincount(hashes * np.uint64(n) // np.uint64(_HASHES)) for n in WORKERS}
    return {n: float(count.max() / count.sum()) for n, count in counts.items()}


def _link_seconds(batch: Batch) -> tuple[float, float]:
    """Return the processor's seconds for each row that a link takes to send and to receive.

    What ZeroMQ's own threads take is shared between the two.
    """
    near, far = ZeroMqTransport(bytes(32)), ZeroMqTransport(bytes(32))
    sending = receiving = 0.0
    began = time.process_time()
    try:
        for number in range(_FRAMES):
            message = Message(Parcel(Address(0), batch), number, batch.span().least)
            frame = Frame("scaling", 0, 1, 0, 1, number + 1, 0, (message,))
            started = time.thread_time()
            near.send(far.address, frame)
            sent = time.thread_time()
            while not far.receive(1.0):
                pass
            sending, receiving = sending + sent - started, receiving + time.thread_time() - sent
    finally:
        others = time.process_time() - began - sending - receiving
        near.close()
        far.close()
    rows = _FRAMES * len(batch)
    return (sending + others / 2) / rows, (receiving + others / 2) / rows


def _documents(lines: list[str]) -> Batch:
    """Return as many documents as a batch has of them, repeated if there are fewer."""
    rows = np.arange(_DOCUMENTS_OF_A_FRAME)
    repeated = pa.array(lines).take(pa.array(rows % len(lines)))
    return Batch([repeated], rows, rows, ())


def _batch() -> Batch:
    """Return change records as they are sent: a document has 200 of them."""
    rows = np.arange(_ROWS_OF_A_FRAME)
    columns = index(np.random.default_rng(1), _ROWS_OF_A_FRAME, shared=True)
    documents = rows // 200
    return Batch(columns, documents, documents, (rows % 200,))
