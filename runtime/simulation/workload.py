"""Workloads: the plan and the input of a simulated cluster, and its expected output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.records import dataclass
from fsql.compiler.tick_plan import SourceHead
from fsql.runtime.cluster.delivery.shards import RowSharder, Shard
from fsql.runtime.cluster.job_spec import Output
from fsql.runtime.dataflow.front import Front
from fsql.runtime.drivers.cluster import BarrierFirst, Cluster, PlacedFront
from fsql.runtime.drivers.in_memory import Outcome, chunk_of, collect, run_in_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fsql.compiler.logical import Table
    from fsql.compiler.tick_plan import Policy, TickPlan
    from fsql.runtime.batch import Batch, Root
    from fsql.runtime.cluster.delivery.option import DeliveryOption
    from fsql.runtime.ports import Chunk, DeadLetter, SourceOffset
    from fsql.runtime.simulation.sources import Rows

    Ranges = Mapping[int, Sequence[tuple[Root, Root]]]


@dataclass(frozen=True, slots=True)
class Workload:
    """A job: its tick plans by number of workers, and its input, the splits of each table.

    `insert_limits` has the number of rows of each INSERT, if the job ends when all of them have released as
    many.
    """

    name: str
    plan_of: Callable[[int, Policy | None], TickPlan]
    inputs: Mapping[int, Sequence[Rows]]
    insert_limits: tuple[int, ...] = ()

    def outcome(self) -> Outcome:
        """Return the outcome of the job on one worker in one process."""
        if self.insert_limits:
            return self.outcome_without({})
        return run_in_memory(self.plan_of(1, None), self.inputs, seed=0, batch_rows=1000)

    def outcome_without(self, skipped: Ranges) -> Outcome:
        """Return the outcome if fronts skip the rows within some ranges of roots."""
        plan = self.plan_of(1, None)
        fronts: list[tuple[PlacedFront, Rows, Table]] = []
        for stage in plan.stages:
            if isinstance(stage.head, SourceHead):
                table = stage.head.table
                for split, rows in enumerate(self.inputs[table.ordinal]):
                    front = _SkippingFront(len(fronts), table, split, skipped)
                    fronts.append((PlacedFront(front, 0, table.ordinal), rows, table))
        placed = [at for at, _, _ in fronts]
        cluster = Cluster(plan, placed, BarrierFirst(), rows_left=self.insert_limits)
        for at, rows, table in fronts:
            cluster.read(at, chunk_of(rows, 0, table))
            cluster.end(at)
        outcome = Outcome([[] for _ in plan.sinks], [[] for _ in plan.late_windows])
        for contents in cluster.deliver_all():
            collect(outcome, contents, plan)
        return outcome


class _SkippingFront(Front):
    """A front that skips rows; skipped rows still advance the time of later rows."""

    def __init__(self, number: int, table: Table, split: int, skipped: Ranges) -> None:
        super().__init__(number, table, split)
        self._ranges = skipped.get(number, ())

    def take(
        self, chunk: Chunk, source_offset: SourceOffset | None = None
    ) -> tuple[Batch | None, tuple[tuple[Root, DeadLetter], ...]]:
        """See `Front`."""
        import numpy as np

        batch, dead_letters = super().take(chunk, source_offset)
        if batch is not None:
            rows = [i for i in range(len(batch)) if not self._is_skipped(batch.root(i))]
            batch = batch.take(np.array(rows, np.int64)) if rows else None
        return batch, tuple(item for item in dead_letters if not self._is_skipped(item[0]))

    def _is_skipped(self, root: Root) -> bool:
        return any(first <= root < end for first, end in self._ranges)


def outputs_of(
    plan: TickPlan, option: DeliveryOption, shards: int | None = None
) -> tuple[Output, ...]:
    """Return the outputs of a job: for each INSERT, each window's late rows, each table's dead letters.

    The rows of each INSERT go to `shards`, by their roots, if that is given.
    """
    tables = sorted(
        stage.head.table.ordinal for stage in plan.stages if isinstance(stage.head, SourceHead)
    )
    return (
        *(output for insert in range(len(plan.sinks)) for output in _rows(insert, option, shards)),
        *(Output(option, windows=frozenset({w})) for w in range(len(plan.late_windows))),
        *(Output(option, dead_letters_of=ordinal) for ordinal in tables),
    )


def _rows(insert: int, option: DeliveryOption, shards: int | None) -> Sequence[Output]:
    if shards is None:
        return [Output(option, insert=insert)]
    sharder = RowSharder(shards, None)
    return [Output(option, insert=insert, shard=Shard(each, sharder)) for each in range(shards)]
