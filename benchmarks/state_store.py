"""How long storing a snapshot keeps other threads from running: `python -m fsql.benchmarks.state_store`.

A thread spins while this one stores snapshots, and notes how much processor time this one got between
two of its own turns.  That is what this one held the interpreter lock for; it is also what it did without
the lock while the machine ran other programs in place of the spinning thread, so the least of many rounds
is the most reliable.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from fsql.runtime.batch import Root
from fsql.runtime.kernels.keyed.incremental_snapshot import EXPIRES, NEVER, IncrementalSnapshot
from fsql.runtime.state.rocks import RocksStore
from fsql.runtime.state.segments import StateSegments

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_ROUNDS: Final = 30
_SIZES: Final = (500, 50_000, 500_000)


@dataclass(frozen=True, slots=True)
class Gaps:
    """Milliseconds for each round: what the work took, and the longest that nobody else ran for it."""

    elapsed: Sequence[float]
    held: Sequence[float]


def incremental_snapshot(rows: int) -> IncrementalSnapshot:
    """Return an incremental snapshot of words, counts and sums."""
    chance = np.random.default_rng(rows)
    columns = {
        "key": pa.array([f"word-{number}" for number in chance.integers(0, 2**40, rows)]),
        "count": pa.array(chance.integers(0, 1_000_000, rows)),
        "sum": pa.array(chance.random(rows)),
        EXPIRES: pa.array(np.full(rows, NEVER)),
    }
    return IncrementalSnapshot(pa.RecordBatch.from_pydict(columns), 1, appends=False)


def gaps(work: Callable[[], None], rounds: int = _ROUNDS) -> Gaps:
    """Return what a spinning thread sees of `work`."""
    held_longest = [0.0]
    done = threading.Event()
    clock = time.pthread_getcpuclockid(threading.get_ident())

    def spin() -> None:
        last = time.clock_gettime(clock)
        while not done.is_set():
            now = time.clock_gettime(clock)
            held_longest[0] = max(held_longest[0], now - last)
            last = now

    thread = threading.Thread(target=spin)
    thread.start()
    elapsed, held = [], []
    for _ in range(rounds):
        time.sleep(0.01)
        held_longest[0] = 0.0
        start = time.perf_counter()
        work()
        elapsed.append(1e3 * (time.perf_counter() - start))
        held.append(1e3 * held_longest[0])
    done.set()
    thread.join()
    return Gaps(elapsed, held)


def _refuse_merge(
    snapshots: Sequence[IncrementalSnapshot], position: Root, *, whole: bool = False
) -> IncrementalSnapshot:
    raise AssertionError(
        f"no snapshot is to be merged here: {len(snapshots)} at {position}, {whole}"
    )


def main() -> None:
    """Print a line for each number of rows."""
    sys.setswitchinterval(5e-4)
    print("rows      elapsed ms   longest hold ms: least, median, greatest of", _ROUNDS)  # noqa: T201
    with tempfile.TemporaryDirectory() as directory:
        store = RocksStore(Path(directory) / "db")
        for rows in _SIZES:
            stored = incremental_snapshot(rows)
            numbers = iter(range(_ROUNDS))

            def work(stored: IncrementalSnapshot = stored, numbers: object = numbers) -> None:
                number = next(numbers)  # type: ignore[call-overload]
                segments = StateSegments(store, 0, stored.rows.num_rows, _refuse_merge)
                segments.store(number, Root(number, 0), [("fold", stored)])

            measured = gaps(work)
            print(  # noqa: T201
                f"{rows:<9,} {np.median(measured.elapsed):10.1f}   {min(measured.held):.2f}, "
                f"{np.median(measured.held):.2f}, {max(measured.held):.2f}"
            )
        store.close()


if __name__ == "__main__":
    main()
