"""The worker executes its share of every stage, in steps that a driver starts.

A worker owns hash bins of each exchange.  Rows that a stage sends are split by the owner of each row's hash:
own rows are passed by calls within the same step, others as messages.  At its end a step has processed all of
its input, and one combined acknowledgement has the ids of consumed and sent messages and the changed holds.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from fsql.compiler.holdings import Holdings
from fsql.compiler.owners import all_of_sets
from fsql.compiler.plan_choices import NO_CHOICES, with_choices
from fsql.runtime.batch import START, Batch
from fsql.runtime.dataflow.exchange import Exchange
from fsql.runtime.dataflow.foreign_state import ForeignState
from fsql.runtime.dataflow.invariants import check_operators
from fsql.runtime.dataflow.messages import (
    AckEntry,
    Address,
    Kind,
    Message,
    MinTime,
    Parcel,
    PortKind,
    Promise,
)
from fsql.runtime.dataflow.outbox import BARRIER, Effect, Outbox, SendMessage
from fsql.runtime.dataflow.rebalancing import Rebalancing
from fsql.runtime.dataflow.routing import FrontRows, LayoutChange, Routing, is_beyond
from fsql.runtime.dataflow.shard_exchange import ShardExchange
from fsql.runtime.dataflow.stage_pipeline import Instrumentation, uninstrumented
from fsql.runtime.dataflow.stage_pipelines import StagePipelines
from fsql.runtime.dataflow.timed_folds import TimedFolds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fsql.compiler.owners import Owners
    from fsql.compiler.plan_choices import PlanChoices
    from fsql.compiler.tick_plan import TickPlan, ToFold
    from fsql.runtime.arrays import Ints
    from fsql.runtime.batch import Root
    from fsql.runtime.dataflow.bin_loads import BinLoads
    from fsql.runtime.dataflow.fold import Fold
    from fsql.runtime.dataflow.fold_output import FoldOutput
    from fsql.runtime.dataflow.front import Front
    from fsql.runtime.dataflow.row_encoding import RowEncoding
    from fsql.runtime.kernels.keyed.incremental_snapshot import IncrementalSnapshot
    from fsql.runtime.ports import Chunk, SourceOffset


class Worker:
    """One worker's stages, folds and fronts."""

    def __init__(
        self,
        plan: TickPlan,
        number: int,
        epoch: int,
        instrument: Instrumentation = uninstrumented,
        encodings: Mapping[int, RowEncoding] | None = None,
        loads: BinLoads | None = None,
        shards: ShardExchange | None = None,
    ) -> None:
        self._plan, self._number = plan, number
        self._barrier_stage = len(plan.stages)
        self._errors_to = Address(self._barrier_stage, 0, PortKind.ERROR)
        self._routing = Routing(Holdings.of_plan(plan), plan.exchanges)
        self._timed = TimedFolds(plan, instrument)
        self.folds: dict[int, Fold] = self._timed.by_stage
        self.pipelines = StagePipelines(plan, instrument, encodings or {})
        self._outbox = Outbox(number, epoch)
        self._exchange = Exchange(self.pipelines, loads, number)
        self._rebalancing = Rebalancing(self.pipelines, number)
        self._shards = shards or ShardExchange()
        self._announced = False
        self.foreign = ForeignState(self.folds)
        self._calls: deque[tuple[Parcel, Ints | None]] = deque()
        """Pending calls of folds of this worker: parcels, with the indexes of the rows, None for all."""

    def read(
        self, front: Front, ordinal: int, chunk: Chunk, source_offset: SourceOffset | None = None
    ) -> list[Effect]:
        """Process a chunk of table number `ordinal`, which was read from `source_offset` on."""
        return [*self.read_first(front, ordinal, chunk, source_offset), *self.read_rest(front)]

    def read_first(
        self, front: Front, ordinal: int, chunk: Chunk, source_offset: SourceOffset | None = None
    ) -> list[SendMessage]:
        """Process a chunk as `read` does, but leave the worker's own rows to `read_rest`.

        Return the messages to other workers, which can begin meanwhile.
        """
        rows = FrontRows(front, ordinal, *front.take(chunk, source_offset))
        self._enter(self._routing.before_change(rows))
        return self._outbox.take_for_workers()

    def _enter(self, rows: FrontRows) -> None:
        """Run the stage of a table over rows of a front, or let others do so; send the malformed rows."""
        if rows.batch is not None:
            for part in self._rebalancing.parts(rows.ordinal, rows.batch, self._routing):
                if part.worker == self._number:
                    self._run(part.stage, [part.batch], repairs=False)
                else:
                    self._outbox.post(part.worker, Parcel(Address(part.stage), part.batch))
        if rows.dead_letters:
            stops = rows.front.stops_on_error
            to = Address(self._barrier_stage, 0, PortKind.DEAD_LETTER, stops)
            self._outbox.post(BARRIER, Parcel(to, None, dead_letters=rows.dead_letters))

    @property
    def has_more(self) -> bool:
        """Return whether rows of the chunk are left for `read_rest`."""
        return bool(self._calls)

    def read_rest(self, front: Front) -> list[Effect]:
        """Process the rows that `read_first` has left, and promise; other steps may be taken in between."""
        return [*self._finish_step(), self._promise(front)]

    def end(self, front: Front, source_offset: SourceOffset | None = None) -> list[Effect]:
        """End a front, whose reader is at the end of its split, at `source_offset`."""
        front.end(source_offset)
        return [self._promise(front)]

    def waits(self, front: Front) -> bool:
        """Return whether a front must not read: its rows are deferred, or another worker continues it."""
        return self._routing.waits(front)

    def _promise(self, front: Front) -> Promise:
        return Promise(front.number, self._routing.promise_of(front))

    def receive(self, message: Message) -> list[Effect]:
        """Process a message from another worker.

        Raises:
            InvariantError: if its root in the ack table is not its least root.
        """
        message.check()
        if self._routing.defers(message):
            return []
        self._calls.append((message.parcel, None))
        stage = message.parcel.to.stage
        return self._finish_step(AckEntry(stage, Kind.MESSAGE, message.root, message.id))

    def advance(self, min_time: MinTime) -> list[Effect]:
        """Advance min time at the input of a stage."""
        if min_time.stage not in self.folds:
            return []
        self._follow(min_time.stage, min_time.root)
        return self._finish_step()

    def _follow(self, stage: int, root: Root) -> None:
        """Advance a fold to `root`, or to the position of a change of owners that holds it back."""
        root = self._routing.limit(stage, root, self.folds[stage].min_time_of_input)
        self._outbox.used.add(stage)
        self._forward(stage, self._timed.advance[stage](root))

    @property
    def is_behind(self) -> bool:
        """Return whether a fold is behind; see `Fold.is_behind`."""
        return any(fold.is_behind for fold in self.folds.values())

    def continue_work(self) -> list[Effect]:
        """Apply more rows of the fold that is behind and nearest to the sinks, if any is."""
        stage = max((stage for stage, fold in self.folds.items() if fold.is_behind), default=None)
        if stage is None:
            return []
        self._outbox.used.add(stage)
        self._forward(stage, self._timed.continue_work[stage]())
        return self._finish_step()

    @property
    def reached(self) -> Root:
        """Return the greatest root position that any fold has applied, or that was pre-aggregated."""
        applied = max((fold.reached for fold in self.folds.values()), default=START)
        return max(applied, self._exchange.reached)

    def load(
        self, state: Mapping[str, tuple[IncrementalSnapshot, ...]], position: Root
    ) -> list[Effect]:
        """Load the worker's share of a snapshot's state; no input may have arrived before.

        `state` has the snapshots of each operator, oldest first; `position` becomes min time of all folds.

        Raises:
            InvariantError: if state belongs to an operator that the plan does not have.
        """
        check_operators(state, [fold.operator for fold in self.folds.values()])
        held = self.holdings.held_by(self._number)
        for fold in self.folds.values():
            fold.load(state.get(fold.operator, ()), held.of(fold.operator), position)
        self._outbox.used.update(self.folds)
        return self._finish_step()

    def announce(self, position: Root) -> bool:
        """Announce a snapshot as of `position` to all folds; return whether all can take it."""
        if not self._exchange.agrees_to(position):
            return False
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

    # Changes of owners: see `routing`.

    @property
    def owners(self) -> Owners:
        """Return the owners of the bins; during a change, those below its position."""
        return self._routing.owners

    @property
    def holdings(self) -> Holdings:
        """Return which bins workers hold; during a change, below its position."""
        return self._routing.holdings

    def holdings_after(self, owners: Owners, choices: PlanChoices) -> Holdings:
        """Return which bins workers hold after a change to these owners and choices."""
        return Holdings(owners, with_choices(self.pipelines.plan, choices).replicated)

    @property
    def change(self) -> LayoutChange | None:
        """Return the change of owners that is under way, if there is one."""
        return self._routing.change

    def announce_change(
        self,
        position: Root,
        owners: Owners,
        fronts: Iterable[Front],
        choices: PlanChoices = NO_CHOICES,
        leaving: frozenset[int] = frozenset(),
    ) -> bool:
        """Announce a snapshot at which owners and choices change; return whether the worker agrees.

        `fronts` are those of the worker; it agrees only if none has read or promised anything at or above the
        position.  Other workers continue those with the numbers `leaving`.
        """
        if any(is_beyond(position, front) for front in fronts) or not self.announce(position):
            return False
        for front in fronts:
            front.remember_next()
        holdings = self.holdings_after(owners, choices)
        change = self.holdings, holdings, self._number, choices, leaving
        self._routing.begin(LayoutChange(position, *change))
        return True

    def cancel_change(self, fronts: Iterable[Front]) -> list[Effect]:
        """Cancel a change that has not been switched to, and its snapshot."""
        change = self._routing.cancel()
        self.cancel()
        return self._process_deferred(change, fronts)

    def switch(self, fronts: Iterable[Front]) -> list[Effect]:
        """From now on send rows at or above the position to the new owners, by the new plan."""
        change = self._routing.switch()
        self.pipelines.change(change.position, change.choices)
        for stage, output in self._timed.change_policies(change.position, change.choices):
            self._forward(stage, output)
            self._outbox.used.add(stage)
        return self._process_deferred(change, fronts)

    def _process_deferred(self, change: LayoutChange, fronts: Iterable[Front]) -> list[Effect]:
        """Process the rows of fronts and the min times that a change has deferred."""
        for deferred in change.take_deferred(fronts):
            self._enter(deferred)
        self._follow_all(change)
        effects = self._finish_step()
        messages, change.messages = change.messages, []
        for message in messages:
            effects += self.receive(message)
        return [*effects, *(self._promise(front) for front in fronts)]

    def _follow_all(self, change: LayoutChange) -> None:
        for stage, root in change.take_min_times():
            self._follow(stage, root)

    def release_bins(self) -> list[Effect]:
        """Release the bins that were handed over; `foreign.collect` drops their state later."""
        change = self._routing.under_way
        owned = change.owners.bins_of(self._number)
        self.foreign.release(change.dropped, owned)
        change.released = True
        self._outbox.used.update(self.folds)
        self._follow_all(change)
        return self._finish_step()

    @property
    def has_switched(self) -> bool:
        """Return whether a change of owners is under way that has been switched to."""
        return self._routing.has_switched

    @property
    def may_adopt(self) -> bool:
        """Return whether the state has reached the position of a change that has been switched to."""
        return self.has_switched and not self._announced

    def adopt(self, holds: Mapping[int, int]) -> list[Effect]:
        """Begin to own the adopted bins, whose state is completely staged, and apply their queued rows.

        `holds` has for each stage of a fold with such bins the id of their hold in the ack table.
        """
        change = self._routing.under_way
        assert self.may_adopt
        assert not change.adopted
        change.adopted = True
        queued, change.queued = change.queued, {}
        bins = all_of_sets(change.incoming.values())
        for stage, fold in self.folds.items():
            if bins.of(fold.operator):
                self._forward(stage, fold.adopt(change.position, queued.pop(stage, ())))
                self._outbox.used.add(stage)
        assert not queued
        self._follow_all(change)
        leaving = [AckEntry(stage, Kind.HOLD, change.position, id_) for stage, id_ in holds.items()]
        return self._finish_step(*leaving)

    def complete_change(self) -> None:
        """End the change: all have adopted, and nothing below its position is in flight."""
        self._routing = self._routing.completed()
        self.pipelines.complete_change()
        self.foreign.on_completed()

    def take_snapshots(self) -> list[tuple[str, IncrementalSnapshot]] | None:
        """Return the changes of each operator, once all folds have reached the position; None before."""
        folds = list(self.folds.values())
        if not self._announced or not all(fold.snapshots.crossed for fold in folds):
            return None
        self._announced = False
        taken = [(fold.operator, fold.snapshots.take()) for fold in folds]
        state = [(operator, snapshot) for operator, snapshot in taken if snapshot is not None]
        owned = self.owners.bins_of(self._number)
        return self.foreign.without(state, owned, self.holdings.replicated)

    def _finish_step(self, *consumed: AckEntry) -> list[Effect]:
        """Carry out the pending calls of this step; return its messages and one acknowledgement."""
        while self._calls:
            parcel, rows = self._calls.popleft()
            assert parcel.batch is not None
            batch = parcel.batch if rows is None else parcel.batch.take(rows)
            if self._routing.queues(parcel, batch):
                continue
            if parcel.to.stage not in self.folds:  # rows of a front of another worker
                self._run(parcel.to.stage, [batch], repairs=False)
                continue
            self._outbox.used.add(parcel.to.stage)
            output = self._timed.accept[parcel.to.stage](parcel.to.side, batch)
            output.repairs |= parcel.repairs
            self._forward(parcel.to.stage, output)
        return self._outbox.finish(consumed, self.folds)

    def _forward(self, stage: int, output: FoldOutput) -> None:
        if output.rows:
            self._run(stage, output.rows, repairs=output.repairs)
        for errors in output.errors:
            self._outbox.post(BARRIER, Parcel(self._errors_to, errors, repairs=output.repairs))

    def _run(self, stage: int, batches: list[Batch], *, repairs: bool) -> None:
        """Run a stage's steps over the output of its head, and send the results."""
        sends, errors = self.pipelines.run(stage, batches)
        for to, batch in sends:
            if isinstance(to, Address):
                self._outbox.post_all(self._shards.parts(Parcel(to, batch, repairs)))
            else:
                self._send(stage, to, batch, repairs=repairs)
        for batch in errors:
            self._outbox.post(BARRIER, Parcel(self._errors_to, batch, repairs))

    def _send(self, stage: int, to: ToFold, batch: Batch, *, repairs: bool) -> None:
        """Split a batch by the owners of its keys' hashes; queue a call for the own part, send the others."""
        address = Address(to.stage, to.side)
        batch, parts, errors = self._exchange.parts(self._routing, stage, to, batch)
        if errors is not None:
            self._outbox.post(BARRIER, Parcel(self._errors_to, errors, repairs))
        for worker, moved, rows in parts:
            if worker == self._number:  # messages to others need not wait for this call
                self._calls.append((Parcel(address, batch, repairs, moved=moved), rows))
            else:
                part = batch if rows is None else batch.take(rows)
                self._outbox.post(worker, Parcel(address, part, repairs, moved=moved))
