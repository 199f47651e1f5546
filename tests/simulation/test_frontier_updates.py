"""Nothing waits for late frontier updates: runs end also where folds get none.

FSQL_SEEDS=1000:2000 runs other seeds than those of the suite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.runtime.cluster.coordinator.frontier_updates import FrontierUpdates
from fsql.runtime.simulation.run import Plan, run
from fsql.tests.seeds import chosen_seeds
from fsql.tests.simulation.workloads import generated

if TYPE_CHECKING:
    import pytest

    from fsql.runtime.dataflow.messages import MinTime


def test_folds_without_late_updates_miss_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    right = FrontierUpdates.take_all_updates

    def for_fronts_only(self: FrontierUpdates, worker: int, now: float) -> list[MinTime]:
        before = dict(self._sent[worker])
        barrier = max(before)
        take_updates = right(self, worker, now)
        self._sent[worker].update({s: root for s, root in before.items() if s != barrier})
        self._behind[worker] = True
        return [each for each in take_updates if each.stage == barrier]

    monkeypatch.setattr(FrontierUpdates, "take_all_updates", for_fronts_only)
    for seed in chosen_seeds(6):
        workload, expected = generated(seed)
        assert run(seed, workload, expected, Plan(seconds=10)).failure == "", seed
