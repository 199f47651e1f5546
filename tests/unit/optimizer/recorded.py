"""Statistics as workers leave them: drawn from a seed, written by what the processes use."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import numpy as np

from fsql.compiler.owner_map import BINS
from fsql.runtime.cluster.ticks.events import RecordStatistics
from fsql.runtime.dataflow.bin_loads import EdgeLoad, HeavyKey
from fsql.runtime.drivers.statistics_files import StatisticsFiles
from fsql.runtime.state.local_directory import LocalDirectory

if TYPE_CHECKING:
    from pathlib import Path

EVERY = 10.0
STARTED = 1_700_000_000.0
NS_A_ROW, NS_A_CALL = 800, 50_000


def record(state: Path, *, seed: int = 1, workers: int = 3, intervals: int = 5) -> None:
    """Write the statistics of some workers; the last one leaves before the last interval."""
    random = Random(seed)
    for interval in range(intervals):
        for worker in range(workers):
            if worker == workers - 1 and interval == intervals - 1:
                continue
            now = STARTED + interval * EVERY + worker * 0.01
            files = StatisticsFiles(LocalDirectory(state), EVERY, lambda now=now: now)  # type: ignore[misc]
            files.write(drawn(random, worker), files.now())


def drawn(random: Random, worker: int) -> RecordStatistics:
    rows, calls = random.randrange(1, 100_000), random.randrange(1, 400)
    busy = rows * NS_A_ROW + calls * NS_A_CALL
    tables: dict[str, list[tuple[object, ...]]] = {
        "operators": [
            ("read", 0, rows, rows, rows * 100, rows * 150),
            ("aggregate-a", calls, rows, rows * 2, busy, busy * 2),
            ("filter-c#0", 1, 1000, 500, 9000, 9000),
            ("filter-c#1", 1, 1000, 250, 9000, 9000),
            ("filter-c#0&1", 1, 500, 200 + worker, 9000, 9000),
        ],
        "folds": [
            (
                *("aggregate-a", "speculative", rows + 10, 10, 5, 2),
                *(calls, calls // 3, calls // 2 + 1, rows // 50, 2_500_000, 70 + worker),
                *(random.randrange(1000), 9000),
            )
        ],
        "latency": [("lines", bucket, random.randrange(1, 9)) for bucket in range(40, 44)],
        "fronts": [("lines", worker, rows, rows * 20, random.randrange(1_000_000), 500_000)],
        "links": [
            (-1, 100, 20_000, 1, 5_000_000),
            ((worker + 1) % 2, rows, rows * 90, 0, rows * 50),
        ],
    }
    counts = np.zeros(BINS, np.int64)
    for _ in range(40):
        counts[random.randrange(BINS)] += random.randrange(1, 1000)
    heavy = (HeavyKey(4_000_000_000, "hot, é", 500, 7), HeavyKey(worker, f"k{worker}", 30, 7))
    loads = [
        EdgeLoad("aggregate-a", 0, counts, counts * 21, counts // 3, heavy),
        EdgeLoad("join-b", 1, counts[::-1], counts[::-1] * 40, counts * 0, ()),
    ]
    return RecordStatistics("job", 1, worker, 9.5 + random.random(), tables, loads)
