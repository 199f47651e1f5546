"""Long runs: rows per second and bytes have to be the same at the end as at the beginning.

* `windows`: a day of events, counted by minute and by a thousand keys.
* `keys`: a group for each key.  The first half of the rows, which is not measured, brings all keys; the
  second brings them again, in another order.
* `lag`: two splits of 100 minutes, of which one is 10 minutes behind the other in event time.
* `joins`: bids on a thousand auctions, counted and summed up by auction, and the two results joined.
* `ranges`: events of a thousand keys, each joined with those of its key in the last minute.

All in one process and without files: rows are made when they are read, so what is measured is fronts, folds,
acker and barrier.  Of the lag, only the time in which both splits have rows is measured.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from fsql.benchmarks.measure import SCRIPTS, pin
from fsql.compiler.tick_plan import Policy, SourceHead
from fsql.job.compilation import compile_job
from fsql.job.script_file import read_script
from fsql.optimizer.choose import choose
from fsql.runtime.arrow_types import arrow_type
from fsql.runtime.dataflow.barrier import Released
from fsql.runtime.dataflow.front import Front
from fsql.runtime.drivers.cluster import BarrierFirst, Cluster, PlacedFront
from fsql.runtime.drivers.memory import collect_less_often, keep_freed_memory
from fsql.runtime.ports import Chunk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fsql.runtime.arrays import Ints


LOADS: Final = {
    "windows": 5_000_000,
    "keys": 20_000_000,
    "lag": 1_200_000,
    "joins": 50_000,
    "ranges": 500_000,
}
"""How many rows each load has by default."""
_PARTS: Final = 10
_SECOND_US: Final = 1_000_000
_DAY_SECONDS: Final = 86_400
_KEYS: Final = 1_000
_CHUNK_ROWS: Final = 8_192
_LAG_SECONDS: Final = 600
_LAG_RUN_SECONDS: Final = 6_000
_PRIME: Final = 2_147_483_647


@dataclass(frozen=True, slots=True)
class Growth:
    """Which load is run, with how many rows, under which policy of the folds."""

    load: str
    rows: int
    policy: Policy


class _Step(NamedTuple):
    """The rows from `first` on, up to `end`, of a split: they are made when they are read."""

    split: int
    first: int
    end: int


def grow(growth: Growth) -> Iterator[dict[str, Any]]:
    """Yield rows a second and bytes of each part of the run, then how the last compares with the first."""
    pin(1)
    keep_freed_memory()
    collect_less_often()
    run = _Run(growth)
    load = _LOADS[growth.load]
    steps = list(load.steps(growth.rows))
    begin, end = load.measured_range(steps)
    for step in steps[:begin]:
        run.step(step)
    bounds = np.linspace(begin, end, _PARTS + 1).astype(int).tolist()
    measured: list[dict[str, int]] = []
    about = {"benchmark": "growth", "load": growth.load, "policy": growth.policy.value}
    for part, (first, after) in enumerate(pairwise(bounds), 1):
        started = time.process_time()
        rows = sum(run.step(step) for step in steps[first:after])
        seconds = max(time.process_time() - started, 1e-9)
        measured.append(
            {
                "part": part,
                "rows": rows,
                "rows_per_second": round(rows / seconds),
                "bytes": _resident_bytes(),
                "rows_kept": run.cluster.rows_buffered(),
                "rows_out": run.rows_out,
            }
        )
        yield {**about, **measured[-1]}
    for step in steps[end:]:
        run.step(step)
    run.end()
    ratios = {
        f"{name}_last_to_first": round(measured[-1][name] / max(measured[0][name], 1), 3)
        for name in ("rows_per_second", "bytes", "rows_kept")
    }
    yield {**about, "rows_out": run.rows_out, **ratios}


class _Run:
    """A job in one process that is given rows."""

    def __init__(self, growth: Growth) -> None:
        self._load = _LOADS[growth.load]
        self._rows = growth.rows
        name = _SCRIPTS.get(growth.load, f"growth_{growth.load}")
        script = read_script(str(SCRIPTS / f"{name}.sql"), {"input": "none"})
        splits = 2 if growth.load == "lag" else 1
        plan = choose(compile_job(script).graph, fronts={0: splits}, policy=growth.policy)
        [table] = [stage.head.table for stage in plan.stages if isinstance(stage.head, SourceHead)]
        self._types = [arrow_type(column.type) for column in table.columns]
        fronts = [
            PlacedFront(Front(split, table, split), 0, table.ordinal) for split in range(splits)
        ]
        self.cluster = Cluster(plan, fronts, BarrierFirst())
        self.rows_out = 0

    def step(self, step: _Step) -> int:
        """Read rows, and let out what can go; return how many were read."""
        rows = np.arange(step.first, step.end)
        keys, times = self._load.columns(step.split, rows, self._rows)
        columns = zip((times, keys, keys % 7), self._types, strict=True)
        arrays = [pa.array(column).cast(kind) for column, kind in columns]
        self.cluster.read(self.cluster.fronts[step.split], Chunk(arrays, rows, (), 0))
        self._release()
        return len(rows)

    def end(self) -> None:
        """End all splits, and release the rest."""
        for front in self.cluster.fronts:
            self.cluster.end(front)
        self._release()

    def _release(self) -> None:
        for contents in self.cluster.deliver_all():
            if isinstance(contents, Released):
                self.rows_out += len(contents.release.time)


class _Load(Protocol):
    """The rows to read, and their order."""

    def steps(self, rows: int) -> Iterator[_Step]:
        """Return the steps of a run of about this number of rows."""

    def measured_range(self, steps: Sequence[_Step]) -> tuple[int, int]:
        """Return the first step that is measured, and the first one after the measured steps."""

    def columns(self, split: int, row: Ints, rows: int) -> tuple[Ints, Ints]:
        """Return the keys and times of rows."""


class _Windows:
    def steps(self, rows: int) -> Iterator[_Step]:
        chunk = max(1, min(_CHUNK_ROWS, rows // 1_000))
        for first in range(0, rows, chunk):
            yield _Step(0, first, min(first + chunk, rows))

    def measured_range(self, steps: Sequence[_Step]) -> tuple[int, int]:
        return 0, len(steps)

    def columns(self, split: int, row: Ints, rows: int) -> tuple[Ints, Ints]:
        del split
        return row % _KEYS, row * (_DAY_SECONDS * _SECOND_US // rows)


class _Keys:
    def steps(self, rows: int) -> Iterator[_Step]:
        chunk = max(1, min(_CHUNK_ROWS, rows // 100))
        for first in range(0, rows, chunk):
            yield _Step(0, first, min(first + chunk, rows))

    def measured_range(self, steps: Sequence[_Step]) -> tuple[int, int]:
        return len(steps) // 2, len(steps)

    def columns(self, split: int, row: Ints, rows: int) -> tuple[Ints, Ints]:
        del split
        keys = max(1, rows // 2)
        return np.where(row < keys, row, row % keys * _PRIME % keys), row


class _Lag:
    def steps(self, rows: int) -> Iterator[_Step]:
        rate = self._rate(rows)
        for second in range(_LAG_RUN_SECONDS + _LAG_SECONDS):
            for split, at in ((0, second), (1, second - _LAG_SECONDS)):
                if 0 <= at < _LAG_RUN_SECONDS:
                    yield _Step(split, at * rate, (at + 1) * rate)

    def _rate(self, rows: int) -> int:
        return max(1, rows // (2 * _LAG_RUN_SECONDS))

    def measured_range(self, steps: Sequence[_Step]) -> tuple[int, int]:
        both = [number for number, step in enumerate(steps) if step.split == 1]
        ended = max(number for number, step in enumerate(steps) if step.split == 0)
        return both[0], ended

    def columns(self, split: int, row: Ints, rows: int) -> tuple[Ints, Ints]:
        return row * (2 + split) % _KEYS, row * _SECOND_US // self._rate(rows)


class _Joins:
    """Rows of a thousand keys, 100 in a second."""

    def steps(self, rows: int) -> Iterator[_Step]:
        chunk = max(1, rows // 200)
        for first in range(0, rows, chunk):
            yield _Step(0, first, min(first + chunk, rows))

    def measured_range(self, steps: Sequence[_Step]) -> tuple[int, int]:
        """Leave out the first tenth, in which keys and times of the range are new."""
        return len(steps) // 10, len(steps)

    def columns(self, split: int, row: Ints, rows: int) -> tuple[Ints, Ints]:
        del split, rows
        return row * _PRIME % _KEYS, row * (_SECOND_US // 100)


_LOADS: Final[dict[str, _Load]] = {
    "windows": _Windows(),
    "keys": _Keys(),
    "lag": _Lag(),
    "joins": _Joins(),
    "ranges": _Joins(),
}
_SCRIPTS: Final = {"keys": "growth_groups", "lag": "growth_groups"}
"""The scripts of the loads that have none of their own."""


def _resident_bytes() -> int:
    """Return how much memory the process has now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096
