"""The state and the output below a position, computed by tasks of stages, as a batch system runs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fsql.compiler.lowering.job import lower
from fsql.compiler.tick_plan import Policy, SourceHead
from fsql.optimizer.choose import choose
from fsql.runtime.dataflow.barrier import Barrier
from fsql.runtime.dataflow.outbox import BARRIER
from fsql.runtime.drivers.in_memory import Outcome, SnapshotStart, chunk_of, collect
from fsql.runtime.drivers.stage_tasks import (
    FoldTask,
    SourceTask,
    message_as_parts,
    message_of_parts,
)
from fsql.runtime.ports import SourceOffset

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random

    from fsql.compiler.logical import Table
    from fsql.compiler.tick_plan import TickPlan
    from fsql.runtime.batch import Root
    from fsql.runtime.dataflow.messages import Message
    from fsql.runtime.drivers.in_memory import Row
    from fsql.runtime.drivers.stage_tasks import Sent
    from fsql.runtime.kernels.keyed.incremental_snapshot import IncrementalSnapshot
    from fsql.runtime.ports import Chunk, DeadLetter
    from fsql.tests.property.cases import Case


@dataclass
class RowSplit:
    """Rows in memory as a split, which is read in chunks that are drawn."""

    table: Table
    rows: list[Row | DeadLetter]
    random: Random
    name: str = "rows"
    next_row: int = 0

    def open(self, source_offset: SourceOffset | None = None) -> RowSplit:
        assert source_offset is None
        return self

    def read(self, rows_max: int) -> Chunk | None:
        first = self.next_row
        if first == len(self.rows):
            return None
        self.next_row = min(len(self.rows), first + self.random.randint(1, min(8, rows_max)))
        return chunk_of(self.rows[first : self.next_row], first, self.table)

    def source_offset(self) -> SourceOffset:
        return SourceOffset(self.next_row, self.next_row + 1, 0)

    def bytes_passed(self) -> int:
        return 0

    def close(self) -> None:
        pass


@dataclass
class Computed:
    """The state as of a position, what was released below it, and where each front ends up."""

    begin: SnapshotStart
    outcome: Outcome


def compute(case: Case, workers: int, position: Root, random: Random) -> Computed:
    """Run all stages up to a position; every message goes through the wire format."""
    fronts = {ordinal: len(splits) for ordinal, splits in case.inputs.items()}
    plan = choose(lower(case.job), workers=workers, fronts=fronts, policy=Policy.ORDERED)
    received: dict[tuple[int, int], list[Message]] = {}
    state: dict[str, tuple[IncrementalSnapshot, ...]] = {}

    def send(all_sent: Iterable[Sent]) -> None:
        for receiver, message in all_sent:
            copy = message_of_parts(message_as_parts(message))
            received.setdefault((copy.parcel.to.stage, receiver), []).append(copy)

    for task in plan.fronts(case.inputs):
        rows = list(case.inputs[task.ordinal][task.split])
        split = RowSplit(plan.tables[task.ordinal], rows, random)
        send(SourceTask(plan, task).run(split, position))
    for number, stage in enumerate(plan.stages):
        for worker in range(plan.workers):
            messages = sorted(received.get((number, worker), []), key=lambda m: m.root)
            if isinstance(stage.head, SourceHead):
                continue
            fold = FoldTask(plan, number, position)
            send(fold.run(messages))
            if (part := fold.state()) is not None:
                state[part[0]] = (*state.get(part[0], ()), part[1])
    to_barrier = received.get((len(plan.stages), BARRIER), [])
    return Computed(SnapshotStart(position, state), _released(plan, to_barrier, position))


def _released(plan: TickPlan, messages: list[Message], position: Root) -> Outcome:
    outcome = Outcome([[] for _ in plan.sinks], [[] for _ in plan.late_windows])
    barrier = Barrier(plan.sinks, len(plan.late_windows), rejecting=plan.rejecting)
    for message in messages:
        barrier.accept(message.parcel)
    for contents in barrier.advance(position):
        collect(outcome, contents, plan)
    return outcome
