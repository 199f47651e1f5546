"""Nothing waits for news: runs come to their end also where folds get none (`protocol/telling.py`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.runtime.cluster.frontier_updates import Telling
from fsql.runtime.simulation.run import Plan, run
from fsql.tests.simulation.workloads import generated

if TYPE_CHECKING:
    import pytest

    from fsql.runtime.dataflow.messages import MinTime

SEEDS = range(40)


def test_folds_that_hear_no_news_miss_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Telling.all_news

    def for_fronts_only(self: Telling, worker: int, now: float) -> list[MinTime]:
        before = dict(self._told[worker])
        barrier = max(before)
        news = right(self, worker, now)
        self._told[worker].update({s: root for s, root in before.items() if s != barrier})
        self._behind[worker] = True
        return [each for each in news if each.stage == barrier]

    monkeypatch.setattr(Telling, "all_news", for_fronts_only)
    for seed in SEEDS:
        workload, expected = generated(seed)
        assert run(seed, workload, expected, Plan(seconds=10)).failure == "", seed
