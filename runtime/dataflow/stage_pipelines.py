"""The pipelines of all stages; during a tick that changes them, those of both plans.

A row takes the pipeline of the plan that is in force at its root, and so does its undo.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fsql.compiler.plan_choices import with_choices
from fsql.compiler.pre_aggregation import read_columns
from fsql.compiler.tick_plan import HEAD, FoldHead, SourceHead
from fsql.runtime.batch import END
from fsql.runtime.dataflow.stage_pipeline import Instrumentation, StagePipeline
from fsql.runtime.dataflow.topology import source_stages
from fsql.runtime.order import are_large, below, concat

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.plan_choices import PlanChoices
    from fsql.compiler.tick_plan import Stage, TickPlan, ToFold
    from fsql.runtime.batch import Batch, Root
    from fsql.runtime.dataflow.row_encoding import RowEncoding
    from fsql.runtime.dataflow.stage_pipeline import Sends
    from fsql.runtime.kernels.aggregate.pre_aggregation import PreAggregation
    from fsql.runtime.kernels.keyed.prepare import Evaluator


class StagePipelines:
    """The compiled stages of one worker."""

    def __init__(
        self, plan: TickPlan, instrument: Instrumentation, encodings: Mapping[int, RowEncoding]
    ) -> None:
        """Compile all stages of a plan."""
        self._instrument = instrument
        self._encodings = encodings
        self.plan = self.next_plan = plan
        """The plan, and the one from the position of a change on."""
        self._sources = source_stages(plan)
        self._pipelines = [self._compile(stage) for stage in plan.stages]
        self._position = END
        self._next: dict[int, StagePipeline] = {}
        """The pipelines from the position on, of the stages where they differ."""
        self._pre_aggregations: dict[ToFold, PreAggregation] = {}

    def _compile(self, stage: Stage) -> StagePipeline:
        return StagePipeline(stage, len(self.plan.stages), self._instrument, self._encodings)

    def change(self, position: Root, choices: PlanChoices) -> None:
        """Use the plan with other choices for rows with roots at or above `position`."""
        self._position, self.next_plan = position, with_choices(self.plan, choices)
        stages = enumerate(zip(self.plan.stages, self.next_plan.stages, strict=True))
        self._next = {
            number: self._compile(after)
            for number, (before, after) in stages
            if (before.steps, before.sends) != (after.steps, after.sends)
        }

    def complete_change(self) -> None:
        """Use one plan again: nothing below the position is in flight."""
        for number, pipeline in self._next.items():
            self._pipelines[number] = pipeline
        self.plan, self._next = self.next_plan, {}

    def keys_of(self, stage: int, to: ToFold) -> Evaluator:
        """Return the function that evaluates the keys by which the rows of a stage are exchanged."""
        keys = self._pipelines[stage].keys_of.get(to)
        return self._next[stage].keys_of[to] if keys is None else keys

    def pre_aggregation(self, to: ToFold) -> PreAggregation:
        """Return the pre-aggregation for a fold; None if it may not get pre-aggregated rows."""
        from fsql.runtime.kernels.aggregate.pre_aggregation import PreAggregation

        if to not in self._pre_aggregations:
            head = self.plan.stages[to.stage].head
            assert isinstance(head, FoldHead)
            columns = read_columns(head)
            assert columns is not None
            self._pre_aggregations[to] = PreAggregation(columns, to.pre_aggregates)
        return self._pre_aggregations[to]

    def linger_of(self, ordinal: int) -> float:
        """Return the linger of table number `ordinal` in seconds, by the newest plan."""
        head = self.next_plan.stages[self._sources[ordinal]].head
        assert isinstance(head, SourceHead)
        return head.linger_ms / 1000

    def rows_passed(self) -> dict[tuple[int, int], int]:
        """Return how many rows each step has made, by stage and step, since the plan last changed."""
        return {
            (stage, HEAD + number): rows
            for stage, pipeline in enumerate(self._pipelines)
            for number, rows in enumerate(pipeline.rows)
        }

    def run(self, stage: int, batches: Sequence[Batch]) -> tuple[Sends, list[Batch]]:
        """Run the steps of a stage over batches, large ones in turn; see `StagePipeline.run`."""
        if not are_large(batches):
            return self._run(stage, concat(batches))
        sends, errors = [], []
        for batch in batches:
            more_sends, more_errors = self._run(stage, batch)
            sends += more_sends
            errors += more_errors
        return sends, errors

    def _run(self, stage: int, batch: Batch) -> tuple[Sends, list[Batch]]:
        old, new = self._pipelines[stage], self._next.get(stage)
        if new is None:
            return old.run(batch)
        under = below(batch, self._position)
        if under.all():
            return old.run(batch)
        if not under.any():
            return new.run(batch)
        sends, errors = old.run(batch.take(np.flatnonzero(under)))
        more_sends, more_errors = new.run(batch.take(np.flatnonzero(~under)))
        return [*sends, *more_sends], [*errors, *more_errors]
