"""The in-process driver: it steps workers, acker and barrier, and carries their messages in memory.

There is one FIFO channel for each pair of sender and receiver.  A `Schedule` chooses which channel delivers
next: `BarrierFirst` prefers the barrier, then the oldest message, which is fastest in one process;
`RandomSchedule` draws the channel from a seed, so that messages arrive out of order even in one process.
"""

from __future__ import annotations

from collections import deque
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol

from fsql.compiler.records import dataclass
from fsql.compiler.tick_plan import SourceHead, TickPlan
from fsql.runtime.batch import START, Root
from fsql.runtime.dataflow.acker import Acker
from fsql.runtime.dataflow.barrier import Barrier, DeadLetters, LateRows, Released, Stopped
from fsql.runtime.dataflow.front import Front
from fsql.runtime.dataflow.messages import (
    AckEntry,
    Acknowledgement,
    Kind,
    Message,
    MinTime,
    Promise,
)
from fsql.runtime.dataflow.outbox import BARRIER, Effect, SendMessage
from fsql.runtime.dataflow.stage_pipeline import Instrumentation, uninstrumented
from fsql.runtime.dataflow.topology import topology
from fsql.runtime.dataflow.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence, Sized

    from fsql.runtime.dataflow.row_encoding import RowEncoding
    from fsql.runtime.kernels.keyed.incremental_snapshot import IncrementalSnapshot
    from fsql.runtime.ports import Chunk, SourceOffset

ACKER = -2
"""The acker's number as a sender and receiver; differs from `worker.BARRIER` and the numbers of workers."""

Channel = tuple[int, int]


@dataclass(frozen=True, slots=True)
class ContinueFolds:
    """The message that a worker sends to itself while one of its folds is behind."""


ChannelMessage = Message | Acknowledgement | Promise | MinTime | ContinueFolds
_CONTINUE: Final = ContinueFolds()
BarrierOutput = Released | LateRows | DeadLetters | Stopped


class Schedule(Protocol):
    """Chooses which channel delivers next."""

    def choose(self, channels: Sequence[Channel]) -> int:
        """Return the index of one of the channels that are not empty."""


class BarrierFirst:
    """Delivers to the barrier if a message waits for it, so that rows are released early; else the oldest."""

    def choose(self, channels: Sequence[Channel]) -> int:
        """See `Schedule`."""
        return next((i for i, (_, receiver) in enumerate(channels) if receiver == BARRIER), 0)


@dataclass(slots=True)
class PlacedFront:
    """A front, the worker that currently owns it, and the ordinal of its table."""

    front: Front
    worker: int
    ordinal: int


def fronts_of(plan: TickPlan, splits: Mapping[int, Sized]) -> list[PlacedFront]:
    """Return new fronts for a job; `splits` has the splits of each table, by the ordinal of the table."""
    tables = plan.tables
    return [
        PlacedFront(
            Front(task.number, tables[task.ordinal], task.split),
            plan.assignment.owner_of_front(task.number),
            task.ordinal,
        )
        for task in plan.fronts(splits)
    ]


class Cluster:
    """The workers, the acker, the barrier and the fronts of one job, in one process."""

    def __init__(  # noqa: PLR0913 - all of them are of one job
        self,
        plan: TickPlan,
        fronts: Sequence[PlacedFront],
        schedule: Schedule,
        *,
        epoch: int = 1,
        instrument: Instrumentation = uninstrumented,
        start: Root = START,
        encodings: Mapping[int, RowEncoding] = MappingProxyType({}),
        rows_left: Sequence[int] = (),
    ) -> None:
        """Begin at `start`; the workers encode the rows of INSERTs that have `encodings`.

        `rows_left` are those of the barrier.
        """
        self.plan = plan
        self.fronts = fronts
        self.workers = [
            Worker(plan, number, epoch, instrument, encodings) for number in range(plan.workers)
        ]
        self.acker = Acker(*topology(plan, [(at.front.number, at.ordinal) for at in fronts]), start)
        late_windows = len(plan.late_windows)
        self.barrier = Barrier(
            plan.sinks, late_windows, start, encodings, rows_left, plan.rejecting
        )
        self._release = instrument("barrier", self.barrier.advance)
        self._schedule = schedule
        self._channels: dict[Channel, deque[ChannelMessage]] = {}
        self.messages = 0
        self.rebalanced = 0
        """The number of batches that another worker has processed from the first stage on."""

    def load(self, state: Mapping[str, tuple[IncrementalSnapshot, ...]], position: Root) -> None:
        """Load state before anything is read; the acknowledgements of its holds are sent first."""
        for number, worker in enumerate(self.workers):
            self.carry(number, worker.load(state, position))
        while self._channels:
            self.deliver()

    @property
    def idle(self) -> bool:
        """Return whether all channels are empty."""
        return not self._channels

    def read(
        self, at: PlacedFront, chunk: Chunk, source_offset: SourceOffset | None = None
    ) -> None:
        """Hand a chunk to the worker of a front; `source_offset` is needed only to resume."""
        worker = self.workers[at.worker]
        self.carry(at.worker, worker.read(at.front, at.ordinal, chunk, source_offset))

    def end(self, at: PlacedFront) -> None:
        """End a front at its worker."""
        self.carry(at.worker, self.workers[at.worker].end(at.front))

    def deliver(self) -> list[BarrierOutput]:
        """Deliver the first message of one channel; return the rows that the barrier releases."""
        channels = list(self._channels)
        channel = channels[self._schedule.choose(channels)]
        queue = self._channels[channel]
        message = queue.popleft()
        if not queue:
            del self._channels[channel]
        self.messages += 1
        return self._deliver(channel[1], message)

    def deliver_all(self) -> Iterator[BarrierOutput]:
        """Deliver until all channels are empty."""
        while self._channels:
            yield from self.deliver()

    def may_read(self, at: PlacedFront, read_ahead: int) -> bool:
        """Return whether a front may read: within its read-ahead, or as the least one while all is idle."""
        front = at.front
        if front.ended or self.barrier.stopped:
            return False
        if self.workers[at.worker].waits(front):
            return False
        if front.rows_above(self.barrier.min_time) < read_ahead:
            return True
        return self.idle and front.promised == min(other.front.promised for other in self.fronts)

    def is_acknowledged(self, worker: int) -> bool:
        """Return whether the acker has received everything that a worker has sent it."""
        return (worker, ACKER) not in self._channels

    def rows_buffered(self) -> int:
        """Return how many rows and groups the folds, the channels and the barrier hold."""
        message = [item for queue in self._channels.values() for item in queue]
        return (
            sum(fold.state_rows() for worker in self.workers for fold in worker.folds.values())
            + sum(m.parcel.rows for m in message if isinstance(m, Message))
            + self.barrier.rows_buffered()
        )

    def _deliver(self, receiver: int, message: ChannelMessage) -> list[BarrierOutput]:
        match message:
            case Acknowledgement():
                self.acker.acknowledge(message)
                self._announce(self.acker.take_advanced())
            case Promise():
                self.acker.promise(message)
                self._announce(self.acker.take_advanced())
            case Message() if receiver == BARRIER:
                self._at_barrier(message)
            case Message():
                head = self.plan.stages[message.parcel.to.stage].head
                self.rebalanced += isinstance(head, SourceHead)
                self.carry(receiver, self.workers[receiver].receive(message))
            case MinTime() if receiver == BARRIER:
                return self._release(message.root)
            case MinTime():
                self.carry(receiver, self.workers[receiver].advance(message))
            case ContinueFolds():
                self.carry(receiver, self.workers[receiver].continue_work())
        return []

    def _at_barrier(self, message: Message) -> None:
        to = message.parcel.to
        self.barrier.accept(message.parcel)
        entry = AckEntry(to.stage, Kind.MESSAGE, message.root, message.id)
        self._put(BARRIER, ACKER, Acknowledgement((entry,)))

    def _announce(self, advanced: list[MinTime]) -> None:
        for min_time in advanced:
            if min_time.stage == len(self.plan.stages):
                self._put(ACKER, BARRIER, min_time)
            elif not isinstance(self.plan.stages[min_time.stage].head, SourceHead):
                for worker in range(self.plan.workers):
                    self._put(ACKER, worker, min_time)

    def carry(self, sender: int, effects: Sequence[Effect]) -> None:
        """Put the output of a worker on its channels."""
        for effect in effects:
            if isinstance(effect, SendMessage):
                self._put(sender, effect.receiver, effect.message)
            else:
                self._put(sender, ACKER, effect)
        if self.workers[sender].is_behind and (sender, sender) not in self._channels:
            self._put(sender, sender, _CONTINUE)

    def _put(self, sender: int, receiver: int, message: ChannelMessage) -> None:
        self._channels.setdefault((sender, receiver), deque()).append(message)
