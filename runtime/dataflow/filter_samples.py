"""Measures the conditions of filters one by one, on some batches, so that the optimizer can order them.

One in `SAMPLED_EVERY` batches is evaluated again, condition by condition, and the results are dropped: what
is released does not depend on it.  The conditions cannot fail.  Each sees all rows that come to its filter
run, whatever the order that is in force.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.graph import Select
from fsql.compiler.plan_choices import condition_names, filter_runs
from fsql.compiler.statistics import SAMPLED_EVERY
from fsql.compiler.tick_plan import schema_of
from fsql.runtime.kernels.maps import compile_map

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fsql.compiler.tick_plan import Stage
    from fsql.runtime.batch import Batch
    from fsql.runtime.dataflow.stage_pipeline import Instrumentation
    from fsql.runtime.kernels.maps.map_result import MapResult


class FilterSamples:
    """The conditions of one stage that are measured, by the step whose rows they see."""

    def __init__(self, stage: Stage, instrument: Instrumentation) -> None:
        """Compile the conditions of the filter runs of a stage, if `instrument` measures."""
        self._batches = 0
        self._conditions: list[tuple[int, list[Callable[[Batch], MapResult]]]] = []
        if not instrument.measures:
            return
        for index, run in enumerate(filter_runs(stage)):
            source = stage.steps[run.steps[0]].input
            schema = schema_of(stage, source)
            names = condition_names(stage, index)
            conditions = [
                instrument(name, compile_map(Select(condition), schema))
                for name, condition in zip(names, run.conjuncts, strict=True)
            ]
            self._conditions.append((source, conditions))

    def take(self, results: Mapping[int, Batch]) -> None:
        """Measure the conditions on a batch, if it is its turn; `results` has the rows of each step."""
        if not self._conditions:
            return
        self._batches += 1
        if self._batches % SAMPLED_EVERY == 1:
            for source, conditions in self._conditions:
                if len(results[source]):
                    for condition in conditions:
                        condition(results[source])
