"""A worker stores incremental snapshots in order, even if the next one is announced meanwhile."""

from __future__ import annotations

import pytest

from fsql.compiler.tick_plan import FoldHead
from fsql.optimizer.choose import choose
from fsql.runtime.batch import Root
from fsql.runtime.cluster.frames import (
    COORDINATOR,
    AnnounceSnapshot,
    Begin,
    CancelSnapshot,
    Frame,
    Item,
    SnapshotAcknowledged,
    SnapshotDeclined,
    Start,
)
from fsql.runtime.cluster.job_spec import Settings
from fsql.runtime.cluster.node import Received, Transmit
from fsql.runtime.cluster.worker.events import Loaded, NotStored, Store, Stored
from fsql.runtime.cluster.worker.node import WorkerNode
from fsql.runtime.dataflow.messages import MinTime
from fsql.tests.queries.examples import EXAMPLES

EXAMPLE = EXAMPLES["inverted_index"]
PLAN = choose(EXAMPLE.compiled.graph, workers=1, fronts=EXAMPLE.fronts, policy=None)
FOLDS = [n for n, stage in enumerate(PLAN.stages) if isinstance(stage.head, FoldHead)]


class Storing:
    """A worker that has no fronts, and what it is told."""

    def __init__(self) -> None:
        self.node = WorkerNode("job", "worker", "there", Settings())
        begin = Begin("job", 0, 1, "worker", 0, "here", ("there",), b"", b"", 5.0)
        self.node.step(Received(begin, "here"), 0.0)
        self.node.step(Loaded(1, 0, PLAN, (), {}, Settings()), 0.0)
        self.frames = 0
        self.tell(Start())

    def tell(self, *items: Item) -> list[int]:
        """Return the numbers of the snapshots that are to be stored now."""
        self.frames += 1
        frame = Frame("job", 0, 1, COORDINATOR, 0, self.frames, 0, items)
        effects = self.node.step(Received(frame, "here"), 0.0)
        return [each.snapshot for each in effects if isinstance(each, Store)]

    def pass_by(self, row: int) -> list[int]:
        return self.tell(*(MinTime(stage, Root(row, row)) for stage in FOLDS))

    def answer(self, event: Stored | NotStored) -> tuple[list[Item], list[int]]:
        """Return what is said, and the numbers of the snapshots that are to be stored now."""
        effects = self.node.step(event, 0.0)
        frames = [each.what for each in effects if isinstance(each, Transmit)]
        said = [item for each in frames if isinstance(each, Frame) for item in each.items]
        return said, [each.snapshot for each in effects if isinstance(each, Store)]


def announced(number: int) -> AnnounceSnapshot:
    return AnnounceSnapshot(number, Root(10 * number, 0))


@pytest.mark.parametrize("cancelled", [False, True])
def test_what_is_given_while_another_is_stored_waits_for_that(*, cancelled: bool) -> None:
    storing = Storing()
    storing.tell(announced(1))
    assert storing.pass_by(11) == [1]
    storing.tell(announced(2))
    assert storing.pass_by(21) == []
    storing.tell(announced(3))
    assert storing.pass_by(31) == []
    if cancelled:
        # What was given is not to be lost: the third builds on it.
        assert storing.tell(CancelSnapshot(2)) == []
    assert storing.answer(Stored(1, 1, ())) == ([SnapshotAcknowledged(1, (), ())], [2])
    assert storing.answer(Stored(1, 1, ())) == ([], [])
    assert storing.answer(NotStored(1, 2, "full")) == ([SnapshotDeclined(2, "full")], [3])
    assert storing.answer(Stored(1, 3, ())) == ([SnapshotAcknowledged(3, (), ())], [])
    assert storing.tell(announced(4)) == []
    assert storing.pass_by(41) == [4]
