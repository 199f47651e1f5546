"""The stages of a tick plan over finite input, as independent tasks that a batch system can schedule.

A task of a source's stage reads one split.  A task of a fold's stage processes one worker's share of it: all
messages for that worker, in the order of their least roots, so that min time is known without an acker.  Each
task returns messages; `Barrier` merges those that are for the barrier, in the same order.  The stages run one
after the other, and the released rows are the same as in any other run of the plan.

Tasks may also run `until` a position.  Then their messages may have rows at or above it, which are not used,
and a fold returns its state as of the position, which is that of a worker's snapshot there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from fsql.compiler.tick_plan import FoldHead, ToFold
from fsql.runtime.batch import END
from fsql.runtime.cluster.frames import Frame
from fsql.runtime.dataflow.front import Front
from fsql.runtime.dataflow.messages import Message, MinTime
from fsql.runtime.dataflow.outbox import SendMessage
from fsql.runtime.dataflow.stage_pipeline import uninstrumented
from fsql.runtime.dataflow.worker import Worker
from fsql.runtime.drivers.local import CHUNK_ROWS
from fsql.runtime.ports import Wait
from fsql.runtime.wire.codec import decode, encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from typing_extensions import Buffer

    from fsql.compiler.assignment import FrontTask
    from fsql.compiler.tick_plan import TickPlan
    from fsql.runtime.batch import Root
    from fsql.runtime.dataflow.bin_loads import BinLoads
    from fsql.runtime.dataflow.outbox import Effect
    from fsql.runtime.dataflow.stage_pipeline import Instrumentation
    from fsql.runtime.kernels.keyed.incremental_snapshot import IncrementalSnapshot
    from fsql.runtime.ports import SourceOffset, Split

_EPOCH: Final = 1
STEP_ROWS: Final = 1 << 16
"""A fold receives about this many rows before it applies those that are final."""


class Sent(NamedTuple):
    """A message and its receiver: a worker, or `BARRIER`."""

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

    def __init__(
        self,
        plan: TickPlan,
        task: FrontTask,
        instrument: Instrumentation = uninstrumented,
        loads: BinLoads | None = None,
    ) -> None:
        """Prepare to read the split of a front; `loads` counts the rows that are sent to folds."""
        self.front = Front(task.number, plan.tables[task.ordinal], task.split)
        self.end: SourceOffset | None = None
        """Where the split ends, once it is read to its end."""
        self._ordinal = task.ordinal
        self._worker = _without_bins(plan, instrument, loads)

    def run(self, split: Split, until: Root = END) -> Iterator[Sent]:
        """Read the split to its end, or until all rows below a position are read; yield the messages.

        Raises:
            FsqlError: if the split cannot be read.
        """
        reader = split.open()
        try:
            while self.front.read_up_to < until:
                before = reader.source_offset()
                chunk = reader.read(CHUNK_ROWS)
                if chunk is None:
                    self.end = before
                    break
                assert not isinstance(chunk, Wait), "live input is refused before"
                chunk.check_row_numbers()
                yield from _messages(self._worker.read(self.front, self._ordinal, chunk, before))
            self.front.end(reader.source_offset())
        finally:
            reader.close()


class FoldTask:
    """One worker's share of a fold's stage."""

    def __init__(self, plan: TickPlan, stage: int, until: Root = END) -> None:
        """Begin without state; `until` is the position below which rows are applied."""
        assert isinstance(plan.stages[stage].head, FoldHead)
        self._worker = _without_bins(plan)
        self._fold = self._worker.folds[stage]
        self._stage = stage
        self._until = until
        if until != END:
            self._fold.announce(until)

    def run(self, messages: Iterable[Message]) -> Iterator[Sent]:
        """Apply messages, which must be in the order of their roots; yield the resulting messages.

        Messages of many senders overlap.  If rows were applied up to the root of each of them, a fold would
        send many messages of few rows, and the folds behind it even more.
        """
        worker, received = self._worker, 0
        for message in messages:
            if message.root >= self._until:
                break
            if received >= STEP_ROWS:
                received = 0
                yield from _run_steps(worker, worker.advance(MinTime(self._stage, message.root)))
            yield from _run_steps(worker, worker.receive(message))
            received += message.parcel.rows
        yield from _run_steps(worker, worker.advance(MinTime(self._stage, self._until)))

    def state(self) -> tuple[str, IncrementalSnapshot] | None:
        """Return the operator and its state as of the position; called after the end of `run`."""
        state = self._fold.snapshots.take()
        return None if state is None else (self._fold.operator, state)


def _without_bins(
    plan: TickPlan, instrument: Instrumentation = uninstrumented, loads: BinLoads | None = None
) -> Worker:
    """Return a worker that owns no bins, and so sends all rows of its stages on as messages."""
    return Worker(plan, plan.workers, _EPOCH, instrument, loads=loads)


def _run_steps(worker: Worker, effects: Sequence[Effect]) -> Iterator[Sent]:
    yield from _messages(effects)
    while worker.is_behind:
        yield from _messages(worker.continue_work())


def _messages(effects: Sequence[Effect]) -> Iterator[Sent]:
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
