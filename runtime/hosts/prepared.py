"""A job prepared from its description; each process of the job prepares it itself.

Processes send each other the description, never plans or code: the same compiler makes equal plans of equal
descriptions.  This package does not call the compiler.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final, NoReturn, Protocol

from fsql.compiler.records import dataclass
from fsql.compiler.tick_plan import SourceHead

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fsql.compiler.analysis.sharding import Sharding
    from fsql.compiler.assignment import FrontTask
    from fsql.compiler.tick_plan import TickPlan
    from fsql.runtime.cluster.job_spec import Output, ResultDifference, Settings
    from fsql.runtime.dataflow.row_encoding import RowEncoding
    from fsql.runtime.hosts.ports import StatisticsLog
    from fsql.runtime.ports import Split
    from fsql.runtime.sink import Sink
    from fsql.runtime.state.directory import StateDirectory


@dataclass(frozen=True, slots=True)
class PreparedShards:
    """The shards of a job: `shardings` by INSERT, and their outputs by the coordinator's numbers.

    `make_sink` returns the sink of an output, which is not open yet.  `difference` is that of the last change
    of the plan.
    """

    shardings: Mapping[int, Sharding]
    outputs: Mapping[int, Output]
    make_sink: Callable[[int], Sink]
    difference: ResultDifference | None = None


def _no_sink(number: int) -> NoReturn:
    raise AssertionError(number)


NO_SHARDS: Final = PreparedShards({}, {}, _no_sink)
"""For jobs without shards."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """The data of a job that a worker needs, except its number.

    `encodings` are those of the INSERTs whose rows workers encode; `statistics` takes those of the worker.
    """

    plan: TickPlan
    fronts: tuple[FrontTask, ...]
    splits: Mapping[int, Sequence[Split]]
    settings: Settings
    state: StateDirectory
    encodings: Mapping[int, RowEncoding] = field(default_factory=dict)
    statistics: StatisticsLog | None = None
    shards: PreparedShards = NO_SHARDS

    def split(self, task: FrontTask) -> Split:
        """Return the split that a front reads."""
        return self.splits[task.ordinal][task.split]

    def table_name(self, task: FrontTask) -> str:
        """Return the name of the table that a front reads."""
        heads = [stage.head for stage in self.plan.stages if isinstance(stage.head, SourceHead)]
        return next(head.table.name for head in heads if head.table.ordinal == task.ordinal)


class Prepare(Protocol):
    """Prepares a job."""

    def __call__(self, description: bytes) -> Prepared:
        """Return the job of a description.

        Raises:
            FsqlError: if the description, or a source that it names, cannot be used.
        """
