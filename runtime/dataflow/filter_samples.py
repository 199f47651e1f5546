"""Measures the conditions of filters one by one, on some batches, so that the optimizer can order them.

One in `SAMPLED_EVERY` batches is evaluated again, condition by condition, and the results are dropped, so no
released row depends on it.  The conditions cannot fail.  Each is evaluated on all rows of the input of its
filter run (see `plan_choices`), whatever the current order.  From the same results follows for each pair of
conditions how many rows both keep: of those for which the first is true, the rows for which the second is.
A run with more than `PAIRS_MAX` pairs counts so many of them in turn.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from fsql.compiler.graph import Select
from fsql.compiler.plan_choices import condition_names, filter_runs, pair_name
from fsql.compiler.statistics import SAMPLED_EVERY
from fsql.compiler.tick_plan import schema_of
from fsql.runtime.batch import Batch
from fsql.runtime.kernels.maps import compile_map
from fsql.runtime.kernels.maps.map_result import MapResult

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fsql.compiler.tick_plan import Stage
    from fsql.runtime.dataflow.stage_pipeline import Instrumentation

    Condition = Callable[[Batch], MapResult]
    Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]
    Both = Callable[[Batch, Flags], MapResult]

PAIRS_MAX: Final = 64
"""The maximum number of pairs of a filter run that are counted in one batch."""


class _Pair(NamedTuple):
    """The numbers of two conditions, and the measured function that returns the rows that both keep."""

    first: int
    second: int
    both: Both


class _SampledRun(NamedTuple):
    """The conditions of a filter run, which read the rows of a step, and their pairs."""

    source: int
    conditions: list[Condition]
    pairs: list[_Pair]


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
            conditions = [
                instrument(name, compile_map(Select(condition), schema))
                for name, condition in zip(names, run.conjuncts, strict=True)
            ]
            pairs = [
                _Pair(first, second, instrument(pair_name(names[first], second), _kept_by_both))
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
                    _measure(run, results[run.source], self._batches // SAMPLED_EVERY)


def _measure(run: _SampledRun, rows: Batch, sample: int) -> None:
    """Measure the conditions of a run on some rows; `sample` counts the measured batches."""
    count = len(rows)
    # A condition reads columns only, so origins can number the rows.
    numbered = Batch(rows.columns, rows.time, np.arange(count), rows.path, None)
    kept = [condition(numbered).rows.with_columns([]) for condition in run.conditions]
    flags = [np.bincount(each.origin, minlength=count) > 0 for each in kept]
    first = sample * PAIRS_MAX % len(run.pairs) if len(run.pairs) > PAIRS_MAX else 0
    for pair in (run.pairs * 2)[first : first + min(PAIRS_MAX, len(run.pairs))]:
        if len(kept[pair.first]):
            pair.both(kept[pair.first], flags[pair.second])


def _kept_by_both(kept: Batch, is_true: Flags) -> MapResult:
    """Return those of the rows that one condition has kept for which another one is true."""
    return MapResult(kept.take(np.flatnonzero(is_true[kept.origin])), None)
