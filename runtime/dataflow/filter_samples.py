"""Measures the conditions of filters one by one, on some batches, so that the optimizer can order them.

One in `SAMPLED_EVERY` batches is evaluated again, condition by condition, and the results are dropped, so no
released row depends on it.  The conditions cannot fail.  Each is evaluated on all rows of the input of its
filter run (see `plan_choices`), whatever the current order.  In turn, one pair of conditions of each run is
also evaluated together: the second one on the rows for which the first is true.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from fsql.compiler.graph import Select
from fsql.compiler.plan_choices import condition_names, filter_runs, pair_name
from fsql.compiler.statistics import SAMPLED_EVERY
from fsql.compiler.tick_plan import schema_of
from fsql.runtime.kernels.maps import compile_map

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fsql.compiler.tick_plan import Stage
    from fsql.runtime.batch import Batch
    from fsql.runtime.dataflow.stage_pipeline import Instrumentation
    from fsql.runtime.kernels.maps.map_result import MapResult

    Condition = Callable[[Batch], MapResult]


class _SampledRun(NamedTuple):
    """The conditions of a filter run, which read the rows of a step, and the pairs to evaluate together.

    A pair has the number of its first condition, and the second condition.
    """

    source: int
    conditions: list[Condition]
    pairs: list[tuple[int, Condition]]


class FilterSamples:
    """The measured conditions of one stage, by the step whose rows they read."""

    def __init__(self, stage: Stage, instrument: Instrumentation) -> None:
        """Compile the conditions of the filter runs of a stage, if `instrument` measures."""
        self._batches = 0
        self._runs: list[_SampledRun] = []
        if not instrument.measures:
            return
        for index, run in enumerate(filter_runs(stage)):
            source = stage.steps[run.steps[0]].input
            schema = schema_of(stage, source)
            names = condition_names(stage, index)
            compiled = [compile_map(Select(condition), schema) for condition in run.conjuncts]
            conditions = [instrument(*each) for each in zip(names, compiled, strict=True)]
            pairs = [
                (first, instrument(pair_name(names[first], second), compiled[second]))
                for first, second in combinations(range(len(names)), 2)
            ]
            self._runs.append(_SampledRun(source, conditions, pairs))

    def take(self, results: Mapping[int, Batch]) -> None:
        """Measure the conditions on a batch, if it is to be sampled; `results` has the rows of each step."""
        if not self._runs:
            return
        self._batches += 1
        if self._batches % SAMPLED_EVERY == 1:
            for run in self._runs:
                if len(results[run.source]):
                    kept = [condition(results[run.source]).rows for condition in run.conditions]
                    first, second = run.pairs[self._batches // SAMPLED_EVERY % len(run.pairs)]
                    if len(kept[first]):
                        second(kept[first])
