"""One stage of a tick plan over input that ends, as tasks that share nothing: what a batch system schedules.

A task of a source's stage reads one split.  A task of a fold's stage processes one worker's share of it: all
messages for that worker, in the order of their least roots, so that min time is known without an acker.  Each
task returns messages; those to the barrier are merged by `Barrier` in the same order.  The stages run one
after the other, and the released rows are those of any other run of the plan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fsql.compiler.tick_plan import FoldHead, ToFold
from fsql.runtime.batch import END, Root
from fsql.runtime.cluster.frames import Frame
from fsql.runtime.dataflow.front import Front
from fsql.runtime.dataflow.messages import Message, MinTime
from fsql.runtime.dataflow.outbox import SendMessage
from fsql.runtime.dataflow.worker import Worker
from fsql.runtime.drivers.local import CHUNK_ROWS
from fsql.runtime.ports import Wait
from fsql.runtime.wire.codec import decode, encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from typing_extensions import Buffer

    from fsql.compiler.assignment import FrontTask
    from fsql.compiler.tick_plan import TickPlan
    from fsql.runtime.dataflow.outbox import Effect
    from fsql.runtime.ports import Split

_EPOCH = 1


class Sent(NamedTuple):
    """A message, and the worker that it is for; `BARRIER` stands for the barrier."""

    receiver: int
    message: Message


def inputs_of(plan: TickPlan, stage: int) -> list[int]:
    """Return the stages that send to the fold of a stage; all of them come before it."""
    senders = [
        index
        for index, each in enumerate(plan.stages)
        if any(isinstance(send.to, ToFold) and send.to.stage == stage for send in each.sends)
    ]
    assert all(sender < stage for sender in senders)
    return senders


class SourceTask:
    """Reads one split and runs the stage of its table."""

    def __init__(self, plan: TickPlan, task: FrontTask) -> None:
        """Be about to read the split of a front."""
        self.front = Front(task.number, plan.tables[task.ordinal], task.split)
        self._ordinal = task.ordinal
        self._worker = _without_bins(plan)

    def run(self, split: Split) -> Iterator[Sent]:
        """Read the split to its end; yield what its rows become.

        Raises:
            FsqlError: if the split cannot be read.
        """
        reader = split.open()
        try:
            while (chunk := reader.read(CHUNK_ROWS)) is not None:
                assert not isinstance(chunk, Wait), "live input is refused before"
                chunk.check_row_numbers()
                yield from _sent(self._worker.read(self.front, self._ordinal, chunk))
        finally:
            reader.close()


def fold_task(plan: TickPlan, stage: int, messages: Iterable[Message]) -> Iterator[Sent]:
    """Run one worker's share of a fold's stage; `messages` are in the order of their roots."""
    assert isinstance(plan.stages[stage].head, FoldHead)
    worker = _without_bins(plan)
    reached: Root | None = None
    for message in messages:
        if message.root != reached:
            reached = message.root
            yield from _steps(worker, worker.advance(MinTime(stage, reached)))
        yield from _steps(worker, worker.receive(message))
    yield from _steps(worker, worker.advance(MinTime(stage, END)))


def _without_bins(plan: TickPlan) -> Worker:
    """Return a worker that owns no bins, and so sends all rows of its stages on as messages."""
    return Worker(plan, plan.workers, _EPOCH)


def _steps(worker: Worker, effects: Sequence[Effect]) -> Iterator[Sent]:
    yield from _sent(effects)
    while worker.is_behind:
        yield from _sent(worker.go_on())


def _sent(effects: Sequence[Effect]) -> Iterator[Sent]:
    for effect in effects:
        if isinstance(effect, SendMessage):
            yield Sent(effect.receiver, effect.message)


def message_as_parts(message: Message) -> list[bytes]:
    """Return a message in the wire format."""
    parts = encode(Frame("", 0, _EPOCH, 0, 0, 0, 0, (message,)))
    return [bytes(part) for part in parts]


def message_of_parts(parts: Sequence[Buffer]) -> Message:
    """Return the message that is encoded in parts.

    Raises:
        MalformedError: if the parts are malformed.
    """
    frame = decode(parts)
    assert isinstance(frame, Frame)
    (message,) = frame.items
    assert isinstance(message, Message)
    return message
