"""The load of each worker in each recorded interval, for display."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from fsql.optimizer.collectors.files import read_files

if TYPE_CHECKING:
    from pathlib import Path

_COLUMNS: Final = ("worker", "from", "to", "busy_ns")


class WorkerInterval(NamedTuple):
    """An interval of a worker, in seconds since 1970, and the fraction of it in which operators were busy."""

    worker: int
    begins: float
    ends: float
    busy: float


def worker_history(state: Path) -> tuple[list[WorkerInterval], tuple[str, ...]]:
    """Return the intervals of all workers, by worker and time, and the reasons why files were skipped.

    Workers that have left are included.
    """
    busy: dict[tuple[int, int, int], int] = {}

    def take(table: str, path: Path, content: Any) -> None:  # noqa: ANN401 - a table of Arrow
        del table, path
        rows = zip(*(content.column(name).to_pylist() for name in _COLUMNS), strict=True)
        for worker, begins, ends, spent in rows:
            span = worker, begins, ends
            busy[span] = busy.get(span, 0) + spent

    problems = read_files(state, take, ("operators",), sys.maxsize)
    found = [
        WorkerInterval(worker, begins / 1e6, ends / 1e6, spent / 1e3 / (ends - begins))
        for (worker, begins, ends), spent in sorted(busy.items())
    ]
    return found, problems
