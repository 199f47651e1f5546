"""A worker's part in the ticks of one epoch: it hands bins over, adopts others, and changes its plan.

Fronts move as `front_moves` says.

    PrepareTick       read back the stored state of the bins that move away, and send it to their new owners
                      in parts
    StatePart         stage it: load it where no kernel reads it yet
    snapshots         their changes to these bins are sent to the new owners as well, once they are stored;
                      when these are few, the worker is prepared
    AnnounceSnapshot  with the tick: agree to the position (`WorkerSnapshots`, `routing`)
    Switch            rows from the position on go to the new owners, by the new plan
    the snapshot      is taken when min time has reached the position: send its changes as the last part, and
                      release the bins
    StatePart, last   received from all old owners: adopt the bins, if this worker's snapshot is taken
    timer             drop a part of the state that was handed over
    TickCompleted     the change is over

A part may arrive before the tick is known here, because it uses another link.  It is staged once no state of
an earlier tick is left, which could have the same keys.
"""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING, Final

from fsql.compiler.holdings import Moves
from fsql.compiler.owners import Owners, all_of_sets
from fsql.runtime.cluster.frames import (
    COORDINATOR,
    BinsAdopted,
    BinsReleased,
    FrontReleased,
    StatePart,
    TickCopied,
    TickDeclined,
    TickPrepared,
)
from fsql.runtime.cluster.ticks.copied_state import CopiedState
from fsql.runtime.cluster.ticks.events import BinsCopied, CopyBins, Ownership
from fsql.runtime.cluster.worker.events import CloseReader, OpenReader
from fsql.runtime.dataflow.messages import Promise
from fsql.runtime.kernels.keyed.incremental_snapshot import rows_of_bins

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from fsql.compiler.assignment import FrontTask
    from fsql.compiler.holdings import Holdings
    from fsql.compiler.plan_choices import PlanChoices
    from fsql.runtime.cluster.frames import AdoptFront, Item, PrepareTick, Switch
    from fsql.runtime.cluster.ticks.events import BinsNotCopied
    from fsql.runtime.cluster.worker.local_fronts import LocalFront, LocalFronts
    from fsql.runtime.dataflow.front import Front
    from fsql.runtime.dataflow.outbox import Effect
    from fsql.runtime.dataflow.worker import Worker
    from fsql.runtime.kernels.keyed.incremental_snapshot import IncrementalSnapshot

    State = tuple[tuple[str, IncrementalSnapshot], ...]


PART_SECONDS: Final = 0.005
"""The interval at which a part of the state is sent, staged or dropped."""
_PARTS_AT_ONCE: Final = 100
"""The maximum number of parts sent in one step, by a worker whose steps exceed `PART_SECONDS`."""


class _Tick:
    """The tick that is under way, from its preparation on."""

    def __init__(self, prepare: PrepareTick, old: Holdings, new: Holdings, worker: int) -> None:
        self.number = prepare.tick
        self.owners = new.owners
        self.choices = prepare.choices
        self.readers = prepare.readers
        moves = Moves(worker, old, new)
        self.outgoing = moves.outgoing
        self.incoming = moves.incoming
        self.begun = moves.begun
        """The bins whose state the folds get; that of others is received only to be stored."""
        self.copies = CopiedState(self.outgoing, follows_snapshots=prepare.snapshots)
        self.is_copied = self.is_prepared = self.is_handed_over = False
        self.unfinished = set(self.incoming)
        """The old owners whose last part is not staged."""
        self.holds: Mapping[int, int] | None = None


class WorkerTicks:
    """The ticks of one worker in one epoch."""

    def __init__(
        self,
        worker: Worker,
        number: int,
        epoch: int,
        put: Callable[[int, Item], None],
        put_effects: Callable[[Sequence[Effect]], None],
    ) -> None:
        """Start without a tick; `put` sends to peers, `put_effects` sends the output of the worker."""
        self._worker = worker
        self._number = number
        self._epoch = epoch
        self._put = put
        self._put_effects = put_effects
        self._tick: _Tick | None = None
        self._received: deque[tuple[int, StatePart]] = deque()
        """State of bins that is not staged yet, with the old owner."""
        self._adopted: list[tuple[str, IncrementalSnapshot]] = []
        self.must_release = False
        """Whether state of bins that were handed over is not dropped yet."""
        self._ownership: Ownership | None = None
        self._next_part = 0.0

    @property
    def prepared(self) -> tuple[Owners, PlanChoices]:
        """Return the owners and the choices of the tick that is prepared."""
        assert self._tick is not None
        return self._tick.owners, self._tick.choices

    def take_ownership(self) -> Ownership | None:
        """Return, once after a tick, the bins that the worker owns."""
        ownership, self._ownership = self._ownership, None
        return ownership

    def leaving(self, fronts: Iterable[Front]) -> frozenset[int]:
        """Return the numbers of the fronts of the worker that other workers will continue."""
        assert self._tick is not None
        readers = self._tick.readers
        numbers = [front.number for front in fronts] if readers else []
        return frozenset(front for front in numbers if readers[front] != self._number)

    @property
    def number(self) -> int:
        """Return the number of the tick that is under way, 0 if none is."""
        return 0 if self._tick is None else self._tick.number

    # Work in parts, between which other steps are taken.

    def next_timer(self) -> float:
        """Return when to call `continue_work`, infinity for never."""
        tick = self._tick
        has_parts = tick is not None and (tick.copies.has_more or self._may_stage(tick))
        return self._next_part if has_parts or self._worker.foreign.is_released else math.inf

    def _may_stage(self, tick: _Tick) -> bool:
        """Return whether state of the tick's bins has arrived, and no state of an earlier tick is left."""
        if not self._received or self._received[0][1].tick != tick.number:
            return False
        return self._worker.has_switched or not self._worker.foreign.is_released

    def continue_work(self, now: float, is_behind: Callable[[int], bool]) -> None:
        """Do one part of the remaining work; `is_behind` is that of `Links`."""
        if now < self.next_timer():
            return
        due = min(1 + int((now - self._next_part) / PART_SECONDS), _PARTS_AT_ONCE)
        self._next_part = now + PART_SECONDS
        tick = self._tick
        if self._worker.foreign.is_released:
            self._worker.foreign.collect()
        elif tick is not None and self._may_stage(tick):
            self._stage_next(tick)
        elif tick is not None:
            self._send_parts(tick, due, is_behind)
        self._report_progress()

    def _send_parts(self, tick: _Tick, due: int, is_behind: Callable[[int], bool]) -> None:
        """Send the parts that are due: under load, one for each step is slower than the state changes."""
        while due and tick.copies.has_more and not is_behind(tick.copies.next_peer):
            peer, state = tick.copies.take()
            self._put(peer, StatePart(tick.number, state, last=False))
            due -= 1

    def _report_progress(self) -> None:
        """Report to the coordinator, once each, that stored state is nearly sent, and that all is sent."""
        tick = self._tick
        if tick is None or tick.is_prepared or self._worker.foreign.is_released:
            return
        if tick.outgoing and not tick.is_copied and tick.copies.is_nearly_sent:
            tick.is_copied = True
            self._put(COORDINATOR, TickCopied(tick.number))
        if tick.copies.is_small and not self._received:
            tick.is_prepared = True
            self._put(COORDINATOR, TickPrepared(tick.number))

    # The old owner.

    def on_preparation(self, prepare: PrepareTick) -> CopyBins | None:
        """Return the request to read back the state of bins that move away; None if none do."""
        owners = Owners.of_ranges(prepare.owners, prepare.exchanges)
        new = self._worker.holdings_after(owners, prepare.choices)
        self._tick = _Tick(prepare, self._worker.holdings, new, self._number)
        self._received = deque(part for part in self._received if part[1].tick == prepare.tick)
        self._report_progress()
        if not self._tick.outgoing:
            return None
        bins = all_of_sets(self._tick.outgoing.values())
        return CopyBins(self._epoch, prepare.tick, bins, self.take_ownership())

    def on_copied(self, event: BinsCopied | BinsNotCopied, now: float) -> None:
        """Begin to send the stored state of the bins that move away."""
        tick = self._tick
        if tick is None or event.tick != tick.number:
            return
        if not isinstance(event, BinsCopied):
            self._put(COORDINATOR, TickDeclined(tick.number, event.reason))
            return
        tick.copies.on_stored_state(event.state)
        self._next_part = now
        self._report_progress()

    def on_stored(self, state: State) -> None:
        """Send the changes of a snapshot to the bins that move away.

        It is stored, so its rows exist already: to build those of a large one would block the loop for long.
        """
        tick = self._tick
        if tick is None or tick.is_handed_over:
            return
        tick.copies.on_snapshot(state)
        self._report_progress()

    def on_last_snapshot(self, states: Sequence[State]) -> None:
        """Send the rest: of snapshots that are not stored yet, and of that at the position where bins move.

        If any bins move away, `release` has to follow.
        """
        tick = self._tick
        assert tick is not None
        for state in states:
            tick.copies.on_snapshot(state)
        tick.is_handed_over = True
        for peer in tick.outgoing:
            self._put(peer, StatePart(tick.number, tick.copies.take_all(peer), last=True))
        self.must_release = bool(tick.outgoing)
        self.adopt_if_complete()

    def release(self) -> None:
        """Release the bins that were handed over, once their state was sent."""
        if self.must_release:
            self.must_release = False
            assert self._tick is not None
            self._put_effects(self._worker.release_bins())
            self._put(COORDINATOR, BinsReleased(self._tick.number))
            self.adopt_if_complete()

    # The new owner.

    def on_switch(self, switch: Switch) -> None:
        """Record the holds for the bins that this worker adopts."""
        assert self._tick is not None
        self._tick.holds = dict(switch.holds)
        self.adopt_if_complete()

    def on_part(self, peer: int, part: StatePart) -> None:
        """Accept state of bins to adopt; stage it immediately if no other work has to precede it."""
        self._received.append((peer, part))
        tick = self._tick
        if tick is not None and (part.last or len(self._received) == 1):
            while self._may_stage(tick):
                self._stage_next(tick)
            self.adopt_if_complete()

    def _stage_next(self, tick: _Tick) -> None:
        peer, part = self._received.popleft()
        owned = tick.owners.bins_of(self._number)
        for operator, rows in part.state:
            self._worker.foreign.stage(operator, rows_of_bins(rows, tick.begun.of(operator)))
            self._adopted.append((operator, rows_of_bins(rows, owned.of(operator))))
        if part.last:
            tick.unfinished.discard(peer)

    def adopt_if_complete(self) -> None:
        """Adopt bins once their old owners have sent everything."""
        tick = self._tick
        if tick is None or tick.holds is None or not tick.incoming or self.must_release:
            return
        if tick.unfinished or not self._worker.may_adopt:
            return
        tick.incoming = {}
        self._put_effects(self._worker.adopt(tick.holds))
        self._put(COORDINATOR, BinsAdopted(tick.number))

    def on_completed(self) -> None:
        """End the tick: the next snapshot is stored under the new owner map."""
        assert self._tick is not None
        self.release()
        self._worker.complete_change()
        bins = self._tick.owners.bins_of(self._number)
        self._ownership = Ownership(bins, tuple(self._adopted))
        self._adopted, self._tick = [], None

    def on_abandoned(self) -> None:
        """Discard a tick that was not switched to."""
        if self._tick is not None:
            self._worker.foreign.discard_staged(self._tick.begun)
        self._tick = None
        self._received.clear()
        self._adopted = []


# A worker's part in moves of fronts: after a tick another worker continues a front from its position on.
#
# Contract.  The old owner reads a front up to the position, drops the later rows of its last chunk, and
# promises no more than the position.  Then it reports where the front is to be resumed.  This report goes
# to the coordinator, after the acknowledgements of all rows of the front, and only then is the new owner
# notified. So when the new owner makes its first promise, the ack table has everything below the position.
# The new owner resumes as after a restart: it reads from the boundary of a chunk on, and drops the rows
# below the position.
#
# A front that has ended moves as well: snapshots need its resume point from a worker that stays.


class FrontMoves:
    """The fronts that one worker releases and adopts in one epoch."""

    def __init__(
        self,
        worker: Worker,
        epoch: int,
        fronts: LocalFronts,
        tasks: Iterable[FrontTask],
        put: Callable[[int, Item], None],
    ) -> None:
        """`tasks` are all fronts of the job; `put` sends an item to a node."""
        self._worker = worker
        self._epoch = epoch
        self._fronts = fronts
        self._tasks = {task.number: task for task in tasks}
        self._put = put

    def release(self, tick: int, unfinished: Collection[int]) -> list[CloseReader]:
        """Release the fronts that leave and have reached the position, except those `unfinished`.

        A chunk of those is not fully processed yet, so its acknowledgement has not been sent.
        """
        change = self._worker.change
        if change is None or not change.leaving:
            return []
        effects = []
        for front in list(self._fronts):
            if change.has_left(front) and front.number not in unfinished:
                self._fronts.release(front.number)
                point = front.resume_point(change.position)
                self._put(COORDINATOR, FrontReleased(tick, point, front.ended))
                effects.append(CloseReader(front.number))
        return effects

    def adopt(self, item: AdoptFront) -> tuple[LocalFront, list[OpenReader]]:
        """Continue a front of another worker, and make the promises that the other one could not make."""
        change, point = self._worker.change, item.point
        assert change is not None
        assert change.switched
        task = self._tasks[point.front]
        here = self._fronts.adopt(task, point, change.position, ended=item.ended)
        self._put(COORDINATOR, Promise(point.front, here.front.promised))
        opened = OpenReader(self._epoch, point.front, point.source_offset)
        return here, [] if item.ended else [opened]
