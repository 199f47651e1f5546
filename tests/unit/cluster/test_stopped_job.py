"""A job that has stopped at an error row commits no snapshot from behind that row."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from fsql.compiler.tick_plan import Policy
from fsql.optimizer.choose import choose
from fsql.runtime.batch import END, Root
from fsql.runtime.cluster.coordinator_epoch import CoordinatorEpoch
from fsql.runtime.cluster.job_spec import JobSpec, Settings
from fsql.runtime.dataflow.barrier import Stopped
from fsql.tests.queries.examples import EXAMPLES


def test_snapshots_are_whole_up_to_the_error_row() -> None:
    example = EXAMPLES["inverted_index"]
    plan = choose(
        example.compiled.graph, workers=1, fronts=example.fronts, policy=Policy.SPECULATIVE
    )
    epoch = CoordinatorEpoch(
        JobSpec("job", 0, plan, (), (), b""), 1, None, ("there",), Settings(), 0.0
    )
    bounds: list[Root] = []
    snapshots: Any = SimpleNamespace(
        position=None,
        idle=lambda _: False,
        on_min_time=lambda _: None,
        due=lambda *_, **_lull: None,
        stored_below=lambda _: True,
        take_manifest=bounds.append,
    )
    epoch.snapshots = snapshots
    epoch.barrier.min_time = END
    epoch._further_snapshots(0.0)
    epoch._stop = Stopped(Root(5, 0), 522, None)
    epoch._further_snapshots(0.0)
    assert bounds == [END, Root(5, 0)]
