"""Stages that run one after the other, as tasks that share nothing, release what the engine releases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsql.compiler.tick_plan import Policy, SourceHead
from fsql.connectors.file.output_files import Existing
from fsql.job.compilation import compile_job
from fsql.job.outputs import open_outputs
from fsql.job.planning import RunOptions, choose_plan
from fsql.job.sources import open_splits
from fsql.runtime.batch import END, START
from fsql.runtime.dataflow.barrier import Barrier, Stopped
from fsql.runtime.dataflow.outbox import BARRIER
from fsql.runtime.drivers import stage_tasks
from fsql.runtime.drivers.stage_tasks import (
    FoldTask,
    SourceTask,
    message_as_parts,
    message_of_parts,
)
from fsql.tests.queries.examples import EXAMPLES, Example

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from fsql.compiler.tick_plan import TickPlan
    from fsql.job.sources import Splits
    from fsql.runtime.batch import Root
    from fsql.runtime.dataflow.messages import Message
    from fsql.runtime.drivers.stage_tasks import Sent


def messages_to_barrier(plan: TickPlan, splits: Splits) -> list[Message]:
    """Run all stages; every message goes through the wire format."""
    received: dict[tuple[int, int], list[Message]] = {}

    def send(all_sent: Iterable[Sent]) -> None:
        for receiver, message in all_sent:
            copy = message_of_parts(message_as_parts(message))
            received.setdefault((copy.parcel.to.stage, receiver), []).append(copy)

    for task in plan.fronts(splits):
        send(SourceTask(plan, task).run(splits[task.ordinal][task.split]))
    for number, stage in enumerate(plan.stages):
        for worker in range(plan.workers):
            messages = sorted(received.get((number, worker), []), key=lambda m: m.root)
            if not isinstance(stage.head, SourceHead):
                send(FoldTask(plan, number).run(messages))
    return sorted(received[len(plan.stages), BARRIER], key=lambda m: m.root)


@pytest.mark.parametrize("example", EXAMPLES.values(), ids=EXAMPLES.keys())
@pytest.mark.parametrize(("workers", "step_rows"), [(1, 1 << 16), (3, 1), (3, 5)])
def test_tasks_of_stages_write_the_expected_files(
    example: Example,
    workers: int,
    step_rows: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stage_tasks, "STEP_ROWS", step_rows)
    compiled = compile_job(example.script_in(tmp_path))
    splits = open_splits(compiled)
    plan = choose_plan(compiled, splits, RunOptions(workers=workers, policy=Policy.ORDERED))
    barrier = Barrier(plan.sinks, len(plan.late_windows), START, {})
    with open_outputs(compiled, splits, Existing.REFUSE, None) as outputs:

        def release(bound: Root) -> None:
            for contents in barrier.advance(bound):
                assert not isinstance(contents, Stopped)
                outputs.take(contents)
            outputs.advance(bound)

        for message in messages_to_barrier(plan, splits):
            release(message.root)
            barrier.accept(message.parcel)
        release(END)
    written = {path.name: path.read_text() for path in sorted(tmp_path.glob("*.jsonl"))}
    assert written == example.expected
