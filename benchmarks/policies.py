"""Both fold policies on the same work, where one of two splits is behind the other.

The index of two files, in which rows of equal number have equal time.  Documents of the second file come
when the first is so many documents ahead, so a speculative fold has applied that many before each of them,
and has to do them again; an ordered one has them waiting.  One process, without a result file; seconds are
those of the processor.  `overtaken_at` is the least distance at which `ordered` took less time.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fsql.benchmarks.measure import SCRIPTS, HeldSplit, pin
from fsql.benchmarks.text import write_documents
from fsql.compiler.tick_plan import Policy
from fsql.connectors.file.output_files import Existing
from fsql.job.compilation import compile_job
from fsql.job.outputs import open_outputs
from fsql.job.planning import RunOptions, choose_plan
from fsql.job.script_file import read_script
from fsql.job.sources import open_splits
from fsql.runtime.drivers.local import Edges, LocalRun
from fsql.runtime.drivers.memory import collect_less_often, keep_freed_memory
from fsql.runtime.ports import Wait

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fsql.runtime.ports import Chunk, Split

_CHUNK_DOCUMENTS: Final = 10


@dataclass(slots=True)
class _Progress:
    """How many documents of the first split have been read, and whether that is all."""

    rows: int = 0
    ended: bool = False


class _Split(HeldSplit):
    """The rows of a split; those of the second come when the first is `distance` documents ahead."""

    def __init__(self, split: Split, first: _Progress, distance: int | None) -> None:
        super().__init__(split)
        self._first = first
        self._distance = distance

    def read(self, rows_max: int) -> Chunk | Wait | None:
        stop = min(self._row + min(_CHUNK_DOCUMENTS, rows_max), len(self._chunk.rows))
        if self._distance is None:
            self._first.rows, self._first.ended = stop, stop == self._row
        elif not self._first.ended and self._first.rows < stop + self._distance:
            return Wait(0.0)
        return self.rows_before(stop)


@dataclass(frozen=True, slots=True)
class Comparison:
    """How many documents each split has, and by how many the second is behind."""

    documents: int
    distances: Sequence[int]


def compare(comparison: Comparison) -> Iterator[dict[str, Any]]:
    """Yield what each policy takes at each distance, then the distance at which one overtakes the other."""
    pin(1)
    keep_freed_memory()
    collect_less_often()
    overtaken: int | None = None
    with tempfile.TemporaryDirectory(prefix="fsql-bench-") as directory:
        for name in ("a.txt", "b.txt"):
            words = 2 * write_documents(Path(directory) / name, comparison.documents)
        for distance in comparison.distances:
            seconds = {}
            for policy in Policy:
                run, seconds[policy] = _run(directory, policy, distance)
                metrics = run.metrics
                yield {
                    "benchmark": "policies",
                    "policy": policy.value,
                    "documents_behind": distance,
                    "seconds": round(seconds[policy], 3),
                    "words_per_second": round(words / seconds[policy]),
                    "rows_out": metrics.rows_out,
                    "redone_share": round(metrics.rows_redone / metrics.rows_out, 3),
                }
            if overtaken is None and seconds[Policy.ORDERED] < seconds[Policy.SPECULATIVE]:
                overtaken = distance
    yield {"benchmark": "policies", "overtaken_at": overtaken}


def _run(directory: str, policy: Policy, distance: int) -> tuple[LocalRun, float]:
    """Return a finished run, and the processor's seconds that it took."""
    values = {"input": directory, "sink": "blackhole", "sink_path": ""}
    result = compile_job(read_script(str(SCRIPTS / "inverted_index.sql"), values))
    splits = open_splits(result)
    plan = choose_plan(result, splits, RunOptions(policy=policy))
    first = _Progress()
    lagging = {
        ordinal: [_Split(parts[0], first, None), _Split(parts[1], first, distance)]
        for ordinal, parts in splits.items()
    }
    with open_outputs(result, splits, Existing.OVERWRITE) as outputs:
        run = LocalRun(plan, Edges(lagging, outputs))
        started = time.process_time()
        run.run()
        return run, time.process_time() - started
