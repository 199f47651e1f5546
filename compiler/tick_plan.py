"""The tick plan: a graph fused into stages, ready to execute.  Data only.

A **stage** lies between two exchanges.  Its head is a source or a fold; after the head come
steps (map functions, each reading the head or an earlier step) and sends.  A send leads from a step
through an exchange into a fold of a later stage, or into a port of the barrier.  The stages are in
topological order.  The optimizer fills a tick plan, the runtime executes it, and any two tick plans of
one graph release the same bytes.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from fsql.compiler.assignment import FrontTask
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sized

    from fsql.compiler.assignment import Assignment
    from fsql.compiler.expression import Expression
    from fsql.compiler.graph import Combine, MapFunction
    from fsql.compiler.logical import SinkTable, Table
    from fsql.compiler.reasons import Reason
    from fsql.compiler.schema import Schema

HEAD = -1
"""The input of a step, or the step of a send, that is the stage's head itself."""


class Policy(enum.Enum):
    """How a fold handles disorder; both release the same bytes."""

    SPECULATIVE = "speculative"
    ORDERED = "ordered"


@dataclass(frozen=True, slots=True)
class SourceHead:
    """The stage begins with the rows of a table.

    The worker of a front sends `rebalanced` percent of the rows to other workers before the first step.
    Between two chunks of a split it waits for `linger_ms` milliseconds, if the first one has few rows.
    """

    table: Table
    rebalanced: int = 0
    linger_ms: int = 0


@dataclass(frozen=True, slots=True)
class FoldHead:
    """The stage begins with a fold: one fused drifting-state cycle.

    `operator` is its stable id, for state and statistics.  `inputs` are the schemas and path depths of
    the rows that come in (one, or two for a join); `depth` is that of the rows that go out.

    With `marks_replacements`, an aggregate does not retract a group's old row when it adds a new one, but
    marks this in a last BOOLEAN column of the new row.  An upsert sink by the same key needs no more, at
    half the rows.  `repairs_free` is how many rows a speculative fold may apply again before their ratio to
    all applied rows counts, and makes it wait.
    """

    operator: str
    combine: Combine
    policy: Policy
    inputs: tuple[tuple[Schema, int], ...]
    schema: Schema
    depth: int
    marks_replacements: bool = False
    repairs_free: int = 1_000


@dataclass(frozen=True, slots=True)
class Step:
    """Apply `function` to the rows of step `input` (an index, or HEAD)."""

    function: MapFunction
    input: int
    schema: Schema
    depth: int
    origin: str


class Placement(enum.Enum):
    """To which of the workers that own bins of a fold rows go.

    A fold is **replicated** if the rows of one side go to EVERY worker, which keeps them all; then those of
    the other side may be at any one worker, and stay HERE, on the worker that they are on.
    """

    OWNER = "owner"
    HERE = "here"
    EVERY = "every"


@dataclass(frozen=True, slots=True)
class ToFold:
    """Into input `side` of the fold that heads stage `stage`; exchanged by the hash of `keys`.

    With another `placement` than OWNER, the fold is replicated.

    Rows of a key that has `pre_aggregates` of them in a batch, or more, are pre-aggregated before; with 0
    none are.  See `pre_aggregation`.
    """

    stage: int
    side: int
    keys: tuple[Expression, ...]
    pre_aggregates: int = 0
    placement: Placement = Placement.OWNER


@dataclass(frozen=True, slots=True)
class ToSink:
    """Into the barrier's port for INSERT number `insert`."""

    insert: int


@dataclass(frozen=True, slots=True)
class ToLate:
    """Into the barrier's port for the late rows of window operator `window`."""

    window: int


@dataclass(frozen=True, slots=True)
class Send:
    """The rows of `step` go to `to`."""

    step: int
    to: ToFold | ToSink | ToLate


@dataclass(frozen=True, slots=True)
class Stage:
    """A head, steps and sends."""

    head: SourceHead | FoldHead
    steps: tuple[Step, ...]
    sends: tuple[Send, ...]


def schema_of(stage: Stage, step: int) -> Schema:
    """Return the columns of the rows of a step, or of the head."""
    if step != HEAD:
        return stage.steps[step].schema
    return stage.head.table.schema if isinstance(stage.head, SourceHead) else stage.head.schema


@dataclass(frozen=True, slots=True)
class SinkPort:
    """The output of one INSERT, for the barrier.

    `may_tie` says that two rows of an append-only result may share a position.  `consolidated` promises that
    the rows of one root position are consolidated already, unless a fold upstream has repaired, so that the
    barrier need not consolidate them.  `marked` states that the last column is the mark of
    `FoldHead.marks_replacements`.
    """

    table: SinkTable
    append_only: bool
    may_tie: bool
    depth: int
    consolidated: bool
    marked: bool = False


@dataclass(frozen=True, slots=True)
class TickPlan:
    """The stages, the barrier's ports, and what each worker owns.

    `reasons` state why the optimizer chose this plan.
    """

    stages: tuple[Stage, ...]
    sinks: tuple[SinkPort, ...]
    late_windows: tuple[str, ...]
    assignment: Assignment
    reasons: tuple[Reason, ...]

    @property
    def workers(self) -> int:
        """Return how many workers there are."""
        return self.assignment.workers

    @property
    def exchanges(self) -> dict[int, str]:
        """Return the name of the exchange into each fold, by stage: the operator id of the fold."""
        heads = [(number, stage.head) for number, stage in enumerate(self.stages)]
        return {number: head.operator for number, head in heads if isinstance(head, FoldHead)}

    @property
    def replicated(self) -> frozenset[str]:
        """Return the names of the exchanges into folds that are replicated."""
        sends = [send.to for stage in self.stages for send in stage.sends]
        every = {
            to.stage for to in sends if isinstance(to, ToFold) if to.placement is Placement.EVERY
        }
        return frozenset(name for number, name in self.exchanges.items() if number in every)

    @property
    def rejecting(self) -> tuple[int, ...]:
        """Return the ordinals of the tables that go on after malformed rows."""
        return tuple(each for each, table in self.tables.items() if not table.stops_on_error)

    @property
    def tables(self) -> dict[int, Table]:
        """Return the tables that are read, by ordinal, in the order of their stages."""
        heads = [stage.head for stage in self.stages if isinstance(stage.head, SourceHead)]
        return {head.table.ordinal: head.table for head in heads}

    def fronts(self, splits: Mapping[int, Sized]) -> tuple[FrontTask, ...]:
        """Return the fronts of the job, numbered: one for each split of each table that is read.

        `splits` has the splits of each table, by its ordinal.
        """
        read = [
            (ordinal, split) for ordinal in self.tables for split in range(len(splits[ordinal]))
        ]
        return tuple(FrontTask(number, *of) for number, of in enumerate(read))
