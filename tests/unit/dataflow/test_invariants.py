"""Invariants that hold in production: each broken on purpose, in the machine and in the node around it.

What this cannot show: that they hold; `test_cascades.py` and the simulator run with all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from fsql.compiler import logical
from fsql.compiler.lowering import lower
from fsql.compiler.tick_plan import FoldHead
from fsql.optimizer.choose import choose
from fsql.runtime.batch import START, Batch, Root
from fsql.runtime.cluster.coordinator.events import EpochTaken, LeaseHeld, Progress, SinkOpened
from fsql.runtime.cluster.coordinator.node import CoordinatorNode
from fsql.runtime.cluster.delivery.option import DeliveryOption
from fsql.runtime.cluster.frames import COORDINATOR, Begin, Frame, Goodbye, Hello, Ready
from fsql.runtime.cluster.job_spec import JobSpec, Output, Settings
from fsql.runtime.cluster.node import Received, Transmit
from fsql.runtime.cluster.worker.events import Loaded
from fsql.runtime.cluster.worker.node import WorkerNode
from fsql.runtime.dataflow.acker import Acker
from fsql.runtime.dataflow.barrier import Barrier
from fsql.runtime.dataflow.invariants import InvariantError
from fsql.runtime.dataflow.messages import (
    AckEntry,
    Acknowledgement,
    Address,
    Kind,
    Message,
    MinTime,
    Parcel,
    PortKind,
    Promise,
)
from fsql.runtime.dataflow.worker import Worker
from fsql.tests.unit.dataflow.plans import KEY, call, grouped, insert, table

if TYPE_CHECKING:
    from fsql.runtime.cluster.frames import Item

PLAN = choose(
    lower(logical.Job((insert(grouped(logical.Scan(table(0), 0), [KEY], call("COUNT"))),)))
)
[FOLD] = [number for number, stage in enumerate(PLAN.stages) if isinstance(stage.head, FoldHead)]
BARRIER = len(PLAN.stages)


def rows(*times: int) -> Batch:
    time = np.array(times, np.int64)
    return Batch([pa.array(["a"] * len(times))], time, np.zeros(len(times), np.int64), ())


def acker() -> Acker:
    """Return the acker of one stage and the barrier, of which one front has promised 7."""
    made = Acker([frozenset(), frozenset([0])], [frozenset([0]), frozenset([0])])
    made.promise(Promise(0, Root(7, 0)))
    made.take_advanced()
    return made


@pytest.mark.parametrize("stage", [0, 1])
def test_no_message_enters_or_leaves_below_min_time(stage: int) -> None:
    below = AckEntry(stage, Kind.MESSAGE, Root(6, 0), 1)
    with pytest.raises(InvariantError, match=rf"a message to stage {stage}: .* time 6 is below"):
        acker().acknowledge(Acknowledgement((below,)))


def test_no_promise_goes_back() -> None:
    with pytest.raises(InvariantError, match=r"the promise of front 0: .* time 6 is below"):
        acker().promise(Promise(0, Root(6, 0)))


def test_min_time_does_not_go_back() -> None:
    one = acker()
    one.acknowledge(Acknowledgement((AckEntry(0, Kind.HOLD, Root(5, 0), 1),)))
    one.promise(Promise(0, Root(8, 0)))
    with pytest.raises(InvariantError, match=r"min time of stage 1: .* time 5 is below"):
        one.take_advanced()


def sent_to_sink(batch: Batch) -> Parcel:
    return Parcel(Address(BARRIER, 0, PortKind.SINK), batch)


def test_no_rows_come_to_the_barrier_below_what_is_released() -> None:
    barrier = Barrier(PLAN.sinks, 0)
    barrier.advance(Root(7, 0))
    barrier.accept(sent_to_sink(rows(7)))
    with pytest.raises(InvariantError, match=r"rows at the barrier: .* time 6 is below"):
        barrier.accept(sent_to_sink(rows(8, 6)))
    with pytest.raises(InvariantError, match=r"min time at the barrier: .* time 6 is below"):
        barrier.advance(Root(6, 0))


def test_no_rows_come_to_a_fold_below_min_time() -> None:
    worker = Worker(PLAN, 0, 1)
    worker.advance(MinTime(FOLD, Root(7, 0)))
    message = Message(Parcel(Address(FOLD), rows(6)), 1, Root(6, 0))
    with pytest.raises(InvariantError, match=r"rows at the input of a fold: .* time 6 is below"):
        worker.receive(message)


def test_a_message_has_no_rows_below_the_root_that_the_ack_table_knows() -> None:
    message = Message(Parcel(Address(FOLD), rows(6)), 1, Root(7, 0))
    with pytest.raises(InvariantError, match=r"rows of a message: .* time 6 is below"):
        Worker(PLAN, 0, 1).receive(message)


def test_a_worker_leaves_the_epoch_and_says_why() -> None:
    node = WorkerNode("job", "worker", "there", Settings())
    begin = Begin("job", 0, 1, "worker", 0, "here", ("there",), b"", b"", 5.0)
    node.step(Received(begin, "here"), 0.0)
    node.step(Loaded(1, 0, PLAN, (), {}, Settings()), 0.0)
    items: tuple[Item, ...] = (
        MinTime(FOLD, Root(7, 0)),
        Message(Parcel(Address(FOLD), rows(6)), 1, Root(6, 0)),
    )
    effects = node.step(Received(Frame("job", 0, 1, COORDINATOR, 0, 1, 0, items), "here"), 0.0)
    [goodbye] = [
        effect.what
        for effect in effects
        if isinstance(effect, Transmit) and isinstance(effect.what, Goodbye)
    ]
    assert goodbye.reason == (
        "internal error FSQL-I902: rows at the input of a fold: "
        "row 0 of split 0 of table 0, at time 6 is below row 0 of split 0 of table 0, at time 7"
    )
    assert node.epoch is None


def test_a_coordinator_ends_the_epoch_and_says_why() -> None:
    output = Output(DeliveryOption.EXACTLY_ONCE, insert=0, name='table "out"')
    node = CoordinatorNode(JobSpec("job", 0, PLAN, (), (output,), b""), "here", Settings())
    node.step(LeaseHeld(1e9), 0.0)
    node.step(Received(Hello("job", "worker", "there"), "there"), 0.0)
    node.step(EpochTaken(1, None), 0.0)
    node.step(SinkOpened(1, 0, START, 4), 0.0)
    ready = Frame("job", 0, 1, 0, COORDINATOR, 1, 0, (Ready(),))
    node.step(Received(ready, "there"), 0.0)
    message = Message(sent_to_sink(rows(6)), 1, Root(7, 0))
    frame = Frame("job", 0, 1, 0, COORDINATOR, 2, 0, (message,))
    effects = node.step(Received(frame, "there"), 0.0)
    assert node.epoch is None
    [detail] = {effect.detail for effect in effects if isinstance(effect, Progress)}
    assert detail.startswith("internal error FSQL-I902: rows of a message: ")
