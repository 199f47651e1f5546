"""The pipelines of two plans: a row takes that of its root."""

from __future__ import annotations

from collections import Counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from fsql.compiler.plan_choices import FilterOrder, PlanChoices, choices_of
from fsql.job.compilation import compile_job
from fsql.job.script_file import script_of_text
from fsql.optimizer.choose import choose
from fsql.runtime.arrow_types import to_arrow
from fsql.runtime.batch import Batch, Root
from fsql.runtime.dataflow.stage_pipelines import StagePipelines

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.runtime.dataflow.metrics import MeasuredOperator
    from fsql.runtime.dataflow.stage_pipeline import Sends

SCRIPT = """
CREATE TABLE t (a BIGINT, b BIGINT) WITH ('connector' = 'stdin');
CREATE TABLE kept (a BIGINT, b BIGINT) WITH ('connector' = 'file', 'path' = 'kept');
INSERT INTO kept SELECT a, b FROM t WHERE a > 1 AND b > 2;
"""


class CountedCalls:
    """Counts the batches that steps get, by how many functions the steps were compiled to."""

    operators: MappingProxyType[str, MeasuredOperator] = MappingProxyType({})
    measures = False

    def __init__(self) -> None:
        self.made = 0
        self.calls: Counter[int] = Counter()

    def __call__(self, operator: str, work: Callable[..., Any]) -> Callable[..., Any]:
        del operator
        number, self.made = self.made, self.made + 1

        def counted(*arguments: object) -> object:
            self.calls[number] += 1
            return work(*arguments)

        return counted

    def take(self) -> list[int]:
        """Return which functions were called, and forget it."""
        called, self.calls = sorted(self.calls), Counter()
        return called


PLAN = choose(compile_job(script_of_text(SCRIPT, {})).graph)


def batch(times: list[int]) -> Batch:
    columns = [to_arrow([*times], column.type) for column in PLAN.tables[0].columns]
    return Batch(columns, np.array(times, np.int64), np.zeros(len(times), np.int64), ())


def times_of(sends: Sends) -> list[int]:
    return [time for _, made in sends for time in made.time.tolist()]


def test_a_row_takes_the_pipeline_of_its_root() -> None:
    watch = CountedCalls()
    pipelines = StagePipelines(PLAN, watch, {})
    old = set(range(watch.made))
    [order] = choices_of(PLAN).filters
    parted = FilterOrder(order.stage, order.run, ((1,), (0,)))
    pipelines.change(Root(5, 0), PlanChoices(filters=(parted,)))
    new = set(range(len(old), watch.made))
    for times, kept, may_call in (
        ([1, 2, 3, 4], [3, 4], old),
        ([5, 6], [5, 6], new),
        ([1, 2, 3, 4, 5, 6], [3, 4, 5, 6], old | new),
        ([4, 3], [4, 3], old),
    ):
        sends, errors = pipelines.run(0, [batch(times)])
        called = set(watch.take())
        assert (times_of(sends), errors) == (kept, [])
        assert called <= may_call
        assert bool(called & old) == bool(may_call & old)
        assert bool(called & new) == bool(may_call & new)
    pipelines.complete_change()
    pipelines.run(0, [batch([3, 4])])
    assert set(watch.take()) <= new
