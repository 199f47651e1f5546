"""The limits of more workers: a queueing model, with costs measured separately in this process.

Each station takes a number of seconds of one core for a word of the inverted index: a worker reads, splits,
groups and exchanges documents, applies rows to its fold, and sends the results; the coordinator receives,
sorts and writes them.  Stations work concurrently, each on a core of its own, on input with a split for each
worker.  So the throughput is that of the busiest station.  Costs are measured with batches as large as in a
run, and include the fixed cost of a batch.

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
_FRAMES: Final = 12
_ROWS_OF_A_FRAME: Final = 100_000
_HASHES: Final = 1 << 32


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds of one core for each word, by station; `rows` are change records for each word."""

    source: float
    fold: float
    coordinator: float
    send: float
    receive: float
    rows: float
    shares: dict[int, float]
    """The share of the rows that the busiest of this number of workers has."""

    @property
    def one_process(self) -> float:
        """Return the seconds for each word of one process that does it all."""
        return self.source + self.fold + self.coordinator

    def stations(self, workers: int, shards: int | None = None) -> dict[str, float]:
        """Return the seconds for each word of the busiest worker, and of the coordinator."""
        away, share = (workers - 1) / workers, self.shares[workers]
        crossing = self.rows * away * (self.send + self.receive) / workers
        if shards is not None and workers >= Settings().shard_writers_min:
            writers = min(workers, shards)
            sends = self.rows * share * (1 - 1 / writers) * self.send
            writes = (self.coordinator + self.rows * (1 - share) * self.receive) / writers
            worker = self.source / workers + self.fold * share + crossing + sends + writes
            return {"worker": worker, "coordinator": 0.0}
        fold = (self.fold + self.rows * self.send) * share
        return {
            "worker": self.source / workers + fold + crossing,
            "coordinator": self.coordinator + self.rows * self.receive,
        }


def scale(
    benchmark: Benchmark, documents: int | None, shards: int | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the costs, then the throughput by the model for each number of workers and what limits it."""
    costs = _measure(benchmark, documents or benchmark.rows, shards)
    yield {
        "benchmark": "scaling",
        "ns_per_word": {
            name: round(getattr(costs, name) * 1e9, 1)
            for name in ("source", "fold", "coordinator", "send", "receive")
        },
    }
    alone = max(costs.stations(1, shards).values())
    for workers in WORKERS:
        stations = costs.stations(workers, shards)
        busiest = max(stations, key=lambda name: stations[name])
        yield {
            "benchmark": "scaling",
            "workers": workers,
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
    spent = {name: seconds / words for name, seconds in run.operator_seconds.items()}
    coordinator = sum(spent.pop(name, 0.0) for name in _COORDINATOR)
    fold = sum(spent.pop(name) for name in list(spent) if name.startswith(_FOLD))
    send, receive = _link_seconds()
    rows = run.rows_out / words
    return Costs(sum(spent.values()), fold, coordinator, send, receive, rows, shares)


def _shares(text: Path) -> dict[int, float]:
    """Return the share of the busiest of this number of workers, by the words of each document."""
    seen: list[str] = []
    for line in text.read_text(encoding="ascii").splitlines():
        seen += sorted(set(line.partition("\t")[2].split(" ")))
    words = pa.array(seen)
    hashes = hash_rows([words], len(words)).astype(np.uint64)
    counts = {n: np.bincount(hashes * np.uint64(n) // np.uint64(_HASHES)) for n in WORKERS}
    return {n: float(count.max() / count.sum()) for n, count in counts.items()}


def _link_seconds() -> tuple[float, float]:
    """Return the processor's seconds for each row that a link takes to send and to receive.

    What ZeroMQ's own threads take is shared between the two.
    """
    batch = _batch()
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
    rows = _FRAMES * _ROWS_OF_A_FRAME
    return (sending + others / 2) / rows, (receiving + others / 2) / rows


def _batch() -> Batch:
    """Return change records as they are sent: a document has 200 of them."""
    rows = np.arange(_ROWS_OF_A_FRAME)
    columns = index(np.random.default_rng(1), _ROWS_OF_A_FRAME, shared=True)
    documents = rows // 200
    return Batch(columns, documents, documents, (rows % 200,))
