"""Metrics: what is counted while a job runs.

    WorkerMetrics ─▶ JobMetrics ─▶ RunMetrics
    one worker       all workers   a run
    in one epoch     in one epoch  over all of its epochs

`rows_…` count rows, `bytes_in` bytes of input, `…_us` are microseconds, `seconds…` seconds; `messages`,
`acknowledgements`, `releases` and `snapshots` are numbers of these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fsql.runtime.batch import END, START

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.runtime.batch import Root
    from fsql.runtime.dataflow.holder import Held


@dataclass(frozen=True, slots=True)
class WorkerMetrics:
    """The metrics of a worker in this epoch.

    `behind_us` is the age of the oldest chunk that is not released completely, in microseconds,
    `rows_unreleased` about how many rows were read and not released.
    """

    rows_in: int
    bytes_in: int
    rows_redone: int
    rows_held: int
    rows_state: int
    messages: int
    unknown_fields: int = 0
    behind_us: int = 0
    rows_unreleased: int = 0


@dataclass(frozen=True, slots=True)
class JobMetrics:
    """The metrics of a job in an epoch; `behind_us` is the age of the oldest input that is not released yet.

    `held` is the number of the front with the least promise, and this promise.
    """

    rows_in: int = 0
    bytes_in: int = 0
    rows_out: int = 0
    rows_late: int = 0
    rows_rejected: int = 0
    unknown_fields: int = 0
    rows_redone: int = 0
    rows_held: int = 0
    rows_state: int = 0
    messages: int = 0
    acknowledgements: int = 0
    releases: int = 0
    snapshots: int = 0
    behind_us: int = 0
    rows_unreleased: int = 0
    held: tuple[int, Root] = (0, END)


@dataclass(slots=True)
class RunMetrics:
    """What a run has done so far, for the panel and the summary.

    `held_by` names the table and the split that hold output back, "" if all input has ended;
    `held_seconds` is for how long they have promised nothing new; `min_time` is the time of what they have
    promised, None if nothing yet.
    """

    rows_in: int = 0
    bytes_in: int = 0
    rows_out: int = 0
    rows_late: int = 0
    rows_rejected: int = 0
    unknown_fields: int = 0
    rows_redone: int = 0
    rows_held: int = 0
    rows_state: int = 0
    messages: int = 0
    acknowledgements: int = 0
    releases: int = 0
    snapshots: int = 0
    recoveries: int = 0
    seconds: float = 0.0
    seconds_behind: float = 0.0
    rows_unreleased: int = 0
    held_by: str = ""
    held_seconds: float = 0.0
    min_time: int | None = None

    def take_held(self, held: Held | None, names: Sequence[str]) -> None:
        """Set what holds output back; `names` are those of the fronts, by number."""
        self.held_by, self.held_seconds, self.min_time = "", 0.0, None
        if held is not None:
            self.held_by, self.held_seconds = names[held.front], held.seconds
            self.min_time = None if held.promised == START else held.promised.time
