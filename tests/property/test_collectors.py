"""Aggregates that collect values release the same bytes where the rows of a batch are applied in parts."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql.compiler import logical
from fsql.compiler.expression import AggregateFunction
from fsql.runtime.kernels.aggregate import kernel as grouped
from fsql.runtime.kernels.keyed.kernel import KeyedRows, split_at_position
from fsql.tests.property.cases import case_of
from fsql.tests.property.check import check
from fsql.tests.property.snapshots import check_snapshots, roots_of
from fsql.tests.property.ways import by_oracle
from fsql.tests.seeds import chosen_seeds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.runtime.batch import Root
    from fsql.tests.property.cases import Case


def collects(case: Case) -> bool:
    """Return whether a case has an updating aggregate that collects values."""
    plans = [plan for insert in case.job.inserts for plan in logical.operators(insert.query)]
    calls = [
        call for plan in plans if isinstance(plan, logical.Aggregate) for call in plan.aggregates
    ]
    return any(call.function is AggregateFunction.ARRAY_AGG for call in calls)


@pytest.mark.slow
def test_results_made_in_parts_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouped, "VALUES_MAX", 3)
    divided: list[Root] = []

    def divide(
        sides: Sequence[KeyedRows | None], bound: Root
    ) -> tuple[list[KeyedRows | None], list[KeyedRows | None]]:
        divided.append(bound)
        return split_at_position(sides, bound)

    monkeypatch.setattr(grouped, "split_at_position", divide)
    cases = [case_of("plan", seed) for seed in chosen_seeds(120)]
    for case in filter(collects, cases):
        check(case, schedules=2)
        check_snapshots(
            case, by_oracle(case.job, case.inputs), roots_of(case), Random(case.name), Counter()
        )
    assert divided
