"""A worker reads ahead as far as its read-ahead goes, says that it waits, and goes on when it may."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fsql.compiler.assignment import FrontTask
from fsql.compiler.plan_choices import PlanChoices, with_choices
from fsql.optimizer.choose import choose
from fsql.runtime.batch import Root
from fsql.runtime.cluster.frames import COORDINATOR, Begin, Blocked, Credit, Frame, Item, Start
from fsql.runtime.cluster.job_spec import Settings
from fsql.runtime.cluster.node import Received, TimerFired, Transmit
from fsql.runtime.cluster.worker.events import ChunkRead, Loaded, Resumed, Yield
from fsql.runtime.cluster.worker.node import WorkerNode
from fsql.runtime.dataflow.messages import MinTime
from fsql.runtime.dataflow.read_ahead import BYTES_FEW
from fsql.runtime.ports import Chunk, SourceOffset
from fsql.tests.queries.examples import EXAMPLES

EXAMPLE = EXAMPLES["inverted_index"]
PLAN = choose(EXAMPLE.compiled.graph, workers=1, fronts=EXAMPLE.fronts, policy=None)
[TABLE] = (table.name for table in PLAN.tables.values())
CHUNK_BYTES = 1000


class Reading:
    """A worker with one front, whose chunks have one row and `CHUNK_BYTES` each; nothing is lost."""

    def __init__(self, settings: Settings, linger_ms: int = 0) -> None:
        self.chunk_bytes = CHUNK_BYTES
        plan = with_choices(PLAN, PlanChoices(lingers=((TABLE, linger_ms),)))
        self.node = WorkerNode("job", "worker", "there", settings)
        begin = Begin("job", 0, 1, "worker", 0, "here", ("there",), b"", b"", 5.0)
        self.node.step(Received(begin, "here"), 0.0)
        self.node.step(Loaded(1, 0, plan, (FrontTask(0, 0, 0),), {}, settings), 0.0)
        self.frames = self.rows = 0
        self.tell(Start(), 0.0)

    def tell(self, item: Item, now: float) -> None:
        self.frames += 1
        frame = Frame("job", 0, 1, COORDINATOR, 0, self.frames, 0, (item,))
        self.node.step(Received(frame, "here"), now)

    def out(self, row: int, now: float) -> None:
        """Tell that all rows below `row` are out."""
        self.tell(MinTime(len(PLAN.stages), Root(row, row)), now)

    def read(self, now: float) -> list[Item]:
        """Read as long as the front may; return what is said of it."""
        said: list[Item] = []
        while self.node.readable(now):
            assert self.rows < 1000
            row, self.rows = self.rows, self.rows + 1
            chunk = Chunk([pa.array(["title | a b"])], np.array([row]), (), self.chunk_bytes)
            effects = self.node.step(ChunkRead(0, chunk, SourceOffset(row, row + 1, row)), now)
            if Yield() in effects:
                effects += self.node.step(Resumed(), now)
            sent = [each.what for each in effects if isinstance(each, Transmit)]
            items = [item for each in sent if isinstance(each, Frame) for item in each.items]
            said += [item for item in items if isinstance(item, Blocked)]
        return said


def test_what_came_out_lately_may_be_under_way() -> None:
    reading = Reading(Settings(read_ahead_seconds=0.5, read_ahead_bytes_least=4 * CHUNK_BYTES))
    assert reading.read(0.0) == [Blocked(0, Root(4, 4))]
    # Three were out half a second after they were read; the least is still more.
    reading.out(3, 0.5)
    assert reading.read(0.5) == [Blocked(0, Root(7, 7))]
    # Nine of them in half a second: as many may be under way, and one more is begun before they are.
    for now, row in ((0.75, 6), (1.0, 9), (1.125, 12)):
        reading.out(row, now)
        reading.read(now)
    assert 12 + 9 <= reading.rows <= 12 + 10
    # Nothing comes out any more, and nothing is read.
    rows = reading.rows
    assert reading.read(60.0) == []
    assert reading.rows == rows
    # Then a little: what came long ago does not count.
    reading.out(rows - 1, 60.0)
    reading.out(rows, 120.0)
    assert reading.read(120.0) == [Blocked(0, Root(rows + 4, rows + 4))]


def test_the_rows_of_the_lead_are_the_most() -> None:
    reading = Reading(Settings(read_ahead_rows=2))
    assert reading.read(0.0) == [Blocked(0, Root(2, 2))]
    reading.out(1, 0.1)
    assert reading.read(0.1) == [Blocked(0, Root(3, 3))]


def test_a_front_that_is_granted_a_chunk_reads_one() -> None:
    reading = Reading(Settings(read_ahead_bytes_least=1))
    assert reading.read(0.0) == [Blocked(0, Root(1, 1))]
    reading.tell(Credit(0, Root(1, 1)), 0.1)
    assert reading.read(0.1) == [Blocked(0, Root(2, 2))]
    reading.tell(Credit(0, Root(1, 1)), 0.2)
    assert reading.read(0.2) == []


def test_a_front_lingers_between_two_small_chunks() -> None:
    reading = Reading(Settings(), linger_ms=20)
    reading.node.step(TimerFired(), 0.0)
    reading.read(0.0)
    assert reading.rows == 1
    assert reading.node.next_timer() == 0.02
    reading.node.step(TimerFired(), 0.015)
    reading.read(0.015)
    assert reading.rows == 1
    reading.node.step(TimerFired(), 0.02)
    reading.read(0.02)
    assert reading.rows == 2
    # A source that has been silent for longer is read at once.
    reading.read(5.0)
    assert reading.rows == 3


def test_a_front_does_not_linger_after_large_chunks() -> None:
    reading = Reading(Settings(read_ahead_rows=2), linger_ms=20)
    reading.chunk_bytes = BYTES_FEW + 1
    assert reading.read(1.0) == [Blocked(0, Root(2, 2))]


def test_a_granted_chunk_waits_for_the_linger() -> None:
    reading = Reading(Settings(read_ahead_rows=1), linger_ms=20)
    assert reading.read(1.0) == [Blocked(0, Root(1, 1))]
    reading.tell(Credit(0, Root(1, 1)), 1.01)
    assert reading.read(1.01) == []
    assert reading.read(1.02) == [Blocked(0, Root(2, 2))]
