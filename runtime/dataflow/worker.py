"""The worker executes its share of every stage, in steps that a driver starts.

A worker owns hash ranges.  The rows that a stage sends are split by the owner of each row's hash: a worker's
own rows are a call within the same step, and the others are messages.  At the end of each step the worker has
processed everything that the step brought, and sends one combined acknowledgement: the id that it consumed,
the ids of all that it sent, and the changed holds of its folds.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fsql.compiler.graph import CombineAggregate, CombineJoin, CombineOver
from fsql.compiler.owner_map import BIN_SHIFT
from fsql.compiler.tick_plan import FoldHead, SourceHead, TickPlan, ToFold
from fsql.runtime.batch import END, START, Batch
from fsql.runtime.dataflow.fold import Fold
from fsql.runtime.dataflow.invariants import check_operators
from fsql.runtime.dataflow.messages import (
    Acknowledgement,
    Address,
    Entry,
    Ids,
    Kind,
    Message,
    MinTime,
    Parcel,
    PortKind,
    Promise,
    link_number,
)
from fsql.runtime.dataflow.stage_pipeline import Instrumentation, StagePipeline, uninstrumented
from fsql.runtime.hashing import hash_rows
from fsql.runtime.kernels.aggregate.grouped import AggregateKernel
from fsql.runtime.kernels.aggregate.over import OverKernel
from fsql.runtime.kernels.join.equi_join import JoinKernel
from fsql.runtime.kernels.join.updates import JoinUpdatesKernel
from fsql.runtime.order import concat

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from fsql.runtime.batch import Root
    from fsql.runtime.dataflow.fold_output import FoldOutput
    from fsql.runtime.dataflow.front import Front
    from fsql.runtime.kernels.keyed.incremental_snapshot import IncrementalSnapshot
    from fsql.runtime.kernels.keyed.kernel import Kernel
    from fsql.runtime.kernels.keyed.prepare import Evaluator
    from fsql.runtime.ports import Chunk, SourceOffset

    Ints = NDArray[np.int64]

BARRIER = -1
"""The receiver of messages to the barrier; other receivers are workers by number."""

_HOLDS: Final = 0
_FIRST_PEER: Final = 2
"""Peers in message ids: 0 stands for the holds of a worker's folds, 1 for the barrier, then the workers."""


@dataclass(frozen=True, slots=True)
class SendMessage:
    """Effect: put a message on the link to `receiver`."""

    receiver: int
    message: Message


Effect = SendMessage | Acknowledgement | Promise


class Worker:
    """One worker's stages, folds and fronts."""

    def __init__(
        self, plan: TickPlan, number: int, epoch: int, watch: Instrumentation = uninstrumented
    ) -> None:
        self._plan = plan
        self._number = number
        self._barrier_stage = len(plan.stages)
        self._errors_to = Address(self._barrier_stage, 0, PortKind.ERROR)
        self._owners = np.array(plan.assignment.bins.owners)
        self.folds: dict[int, Fold] = {}
        self._accept: dict[int, Callable[[int, Batch], FoldOutput]] = {}
        self._advance: dict[int, Callable[[Root], FoldOutput]] = {}
        self._go_on: dict[int, Callable[[], FoldOutput]] = {}
        self._pipelines: list[StagePipeline] = []
        for index, stage in enumerate(plan.stages):
            if isinstance(stage.head, FoldHead):
                self.folds[index] = make_fold(stage.head)
                self._accept[index] = watch(stage.head.operator, self.folds[index].accept)
                self._advance[index] = watch(stage.head.operator, self.folds[index].advance)
                self._go_on[index] = watch(stage.head.operator, self.folds[index].go_on)
            self._pipelines.append(StagePipeline(stage, self._barrier_stage, watch))
        self._ids = {
            receiver: Ids(epoch, link_number(number + _FIRST_PEER, receiver + _FIRST_PEER))
            for receiver in (BARRIER, *range(plan.workers))
        }
        self._hold_ids = Ids(epoch, link_number(number + _FIRST_PEER, _HOLDS))
        self._holds: dict[int, Entry] = {}
        self._stepped: set[int] = set()
        """The folds that this step has used."""
        self._source_stage = {
            stage.head.table.ordinal: index
            for index, stage in enumerate(plan.stages)
            if isinstance(stage.head, SourceHead)
        }
        self._announced = False
        self._calls: deque[tuple[Parcel, Ints | None]] = deque()
        """What goes to folds here: parcels, with the rows that are meant if not all are."""
        self._sent: list[SendMessage] = []
        self._sent_first: list[SendMessage] = []

    def read(
        self, front: Front, ordinal: int, chunk: Chunk, source_offset: SourceOffset | None = None
    ) -> list[Effect]:
        """Take a chunk that one of the worker's fronts has read, from table number `ordinal`.

        `source_offset` is where the reader stood before; only a front that may have to resume needs it.
        """
        return [*self.read_first(front, ordinal, chunk, source_offset), *self.read_rest(front)]

    def read_first(
        self, front: Front, ordinal: int, chunk: Chunk, source_offset: SourceOffset | None = None
    ) -> list[SendMessage]:
        """Take a chunk, as `read` does, but leave to `read_rest` what is done here.

        Return what goes to other workers, who can begin meanwhile.
        """
        batch, rejects = front.take(chunk, source_offset)
        if batch is not None:
            self._run(self._source_stage[ordinal], [batch], repairs=False)
        if rejects:
            to = Address(self._barrier_stage, 0, PortKind.REJECT, front.stops_on_error)
            self._post(BARRIER, Parcel(to, None, rejects=rejects))
        first = [sent for sent in self._sent if sent.receiver != BARRIER]
        self._sent = [sent for sent in self._sent if sent.receiver == BARRIER]
        self._sent_first += first
        return first

    @property
    def has_more(self) -> bool:
        """Return whether rows of the chunk are left for `read_rest`."""
        return bool(self._calls)

    def read_rest(self, front: Front) -> list[Effect]:
        """Process what `read_first` has left, and promise; other steps may come in between."""
        return [*self._finish_step(None), Promise(front.number, front.promised)]

    def end(self, front: Front, source_offset: SourceOffset | None = None) -> list[Effect]:
        """End a front, whose reader has nothing more to read and stands at `source_offset`."""
        front.end(source_offset)
        return [Promise(front.number, END)]

    def receive(self, message: Message) -> list[Effect]:
        """Process a message from another worker.

        Raises:
            InvariantError: if the ack table knows it under another root than its least.
        """
        message.check()
        self._calls.append((message.parcel, None))
        stage = message.parcel.to.stage
        return self._finish_step(Entry(stage, Kind.MESSAGE, message.root, message.id))

    def advance(self, min_time: MinTime) -> list[Effect]:
        """Advance min time at the input of one of the stages."""
        if min_time.stage not in self.folds:
            return []
        self._stepped.add(min_time.stage)
        self._forward(min_time.stage, self._advance[min_time.stage](min_time.root))
        return self._finish_step(None)

    @property
    def is_behind(self) -> bool:
        """Return whether a fold is behind; see `Fold.is_behind`."""
        return any(fold.is_behind for fold in self.folds.values())

    def go_on(self) -> list[Effect]:
        """Apply more rows of the fold nearest to the sinks that is behind, if any."""
        stage = max((stage for stage, fold in self.folds.items() if fold.is_behind), default=None)
        if stage is None:
            return []
        self._stepped.add(stage)
        self._forward(stage, self._go_on[stage]())
        return self._finish_step(None)

    @property
    def reached(self) -> Root:
        """Return the greatest root position that any fold has applied."""
        return max((fold.reached for fold in self.folds.values()), default=START)

    def load(
        self, state: Mapping[str, tuple[IncrementalSnapshot, ...]], position: Root
    ) -> list[Effect]:
        """Load the worker's share of a snapshot's state; no input may have come before.

        Args:
            state: the increments of each operator, oldest first, of any number of workers.
            position: the position that the state is of: min time of all folds, to begin with.

        Raises:
            InvariantError: if state belongs to an operator that the plan does not have.
        """
        check_operators(state, [fold.operator for fold in self.folds.values()])
        owned = self._plan.assignment.bins_of(self._number)
        for fold in self.folds.values():
            fold.load(state.get(fold.operator, ()), owned, position)
        self._stepped.update(self.folds)
        return self._finish_step(None)

    def announce(self, position: Root) -> bool:
        """Announce a snapshot as of `position` to all folds; return whether all can take it."""
        agreed = [fold for fold in self.folds.values() if fold.announce(position)]
        if len(agreed) == len(self.folds):
            self._announced = True
            return True
        for fold in agreed:
            fold.snapshots.cancel()
        return False

    def cancel(self) -> None:
        """Cancel the announced snapshot; the next one includes what has changed."""
        self._announced = False
        for fold in self.folds.values():
            fold.snapshots.cancel()

    def take_snapshots(self) -> list[tuple[str, IncrementalSnapshot]] | None:
        """Return once what changed in each operator; None until min time has reached it at all folds."""
        folds = list(self.folds.values())
        if not self._announced or not all(fold.snapshots.crossed for fold in folds):
            return None
        self._announced = False
        taken = [(fold.operator, fold.snapshots.take()) for fold in folds]
        return [(operator, increment) for operator, increment in taken if increment is not None]

    def _finish_step(self, consumed: Entry | None) -> list[Effect]:
        """Carry out the calls of this step; return what was sent and one acknowledgement of it all."""
        while self._calls:
            parcel, rows = self._calls.popleft()
            assert parcel.batch is not None
            batch = parcel.batch if rows is None else parcel.batch.take(rows)
            self._stepped.add(parcel.to.stage)
            output = self._accept[parcel.to.stage](parcel.to.side, batch)
            output.repairs |= parcel.repairs
            self._forward(parcel.to.stage, output)
        entries = [] if consumed is None else [consumed]
        for sent in (*self._sent_first, *self._sent):
            message = sent.message
            entries.append(Entry(message.parcel.to.stage, Kind.MESSAGE, message.root, message.id))
        entries += self._take_changed_holds()
        effects: list[Effect] = [*self._sent]
        self._sent_first, self._sent = [], []
        if entries:
            effects.append(Acknowledgement(tuple(entries)))
        return effects

    def _take_changed_holds(self) -> list[Entry]:
        """Return the ack table entries of the holds that changed in this step."""
        moved = []
        for stage in sorted(self._stepped):
            root, known = self.folds[stage].hold(), self._holds.get(stage)
            if root == (None if known is None else known.root):
                continue
            if known is not None:
                moved.append(self._holds.pop(stage))
            if root is not None:
                self._holds[stage] = Entry(stage, Kind.HOLD, root, self._hold_ids.next())
                moved.append(self._holds[stage])
        self._stepped.clear()
        return moved

    def _forward(self, stage: int, output: FoldOutput) -> None:
        if output.rows:
            self._run(stage, output.rows, repairs=output.repairs)
        for errors in output.errors:
            self._post(BARRIER, Parcel(self._errors_to, errors, repairs=output.repairs))

    def _run(self, stage: int, batches: list[Batch], *, repairs: bool) -> None:
        """Run a stage's steps over what its head made, and send the results."""
        chain = self._pipelines[stage]
        sends, errors = chain.run(concat(batches))
        for to, batch in sends:
            if isinstance(to, Address):
                self._post(BARRIER, Parcel(to, batch, repairs))
            else:
                self._exchange(to, chain.keys_of[to], batch, repairs=repairs)
        for batch in errors:
            self._post(BARRIER, Parcel(self._errors_to, batch, repairs))

    def _exchange(self, to: ToFold, keys: Evaluator, batch: Batch, *, repairs: bool) -> None:
        """Split a batch by the owners of its keys' hashes; call the own part, send the others."""
        address = Address(to.stage, to.side)
        if self._plan.workers == 1:
            self._calls.append((Parcel(address, batch, repairs), None))
            return
        values, kept, errors = keys(batch)
        if errors is not None:
            self._post(BARRIER, Parcel(self._errors_to, errors, repairs))
        if kept is not None:
            batch = batch.take(kept)
        hashes = hash_rows(values, len(batch))
        if len(hashes) == 1:
            worker = self._plan.assignment.owner_of_hash(int(hashes[0]))
            parcel = Parcel(address, batch, repairs)
            if worker == self._number:
                self._calls.append((parcel, None))
            else:
                self._post(worker, parcel)
            return
        owner = self._owners[hashes >> BIN_SHIFT]
        for worker in range(self._plan.workers):
            rows = np.flatnonzero(owner == worker)
            if len(rows) == 0:
                continue
            if worker == self._number:
                # Messages to others need not wait for this.
                self._calls.append((Parcel(address, batch, repairs), rows))
            else:
                self._post(worker, Parcel(address, batch.take(rows), repairs))

    def _post(self, receiver: int, parcel: Parcel) -> None:
        message = Message(parcel, self._ids[receiver].next(), parcel.least_root())
        self._sent.append(SendMessage(receiver, message))


def make_fold(head: FoldHead) -> Fold:
    """Return an empty fold for `head`, with the kernel of its operator."""
    combine = head.combine
    kernel: Kernel[Any]
    match combine:
        case CombineAggregate():
            kernel = AggregateKernel(combine, marks_replacements=head.marks_replacements)
            return Fold(head, kernel, ties=False, append_only=combine.input_append_only)
        case CombineOver():
            kernel = OverKernel(combine)
            return Fold(head, kernel, ties=combine.may_tie, append_only=True)
        case CombineJoin():
            make = JoinKernel if combine.input_append_only else JoinUpdatesKernel
            kernel = make(combine, [schema for schema, _ in head.inputs])
            return Fold(head, kernel, ties=False, append_only=combine.input_append_only)
        case _:
            raise AssertionError(combine)
