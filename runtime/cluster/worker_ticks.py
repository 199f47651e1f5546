"""A worker's part in the ticks of one epoch: it hands bins over, and adopts others.

    PrepareTick       read back the stored state of the bins that go, and send it to their new owners
    snapshots         later changes in these bins go to the new owners as well
    AnnounceSnapshot  with the tick: agree to the position (`WorkerSnapshots`, `layout_change`)
    Switch            rows from the position on go to the new owners
    the snapshot      is taken when min time has come to the position: send its part as the last one, and
                      release the bins
    StatePart, last   of all old owners: adopt the bins, if the own snapshot is taken
    TickCompleted     the change is over

A part may come before the tick is known here, as it comes by another link.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.owner_map import OwnerMap, all_of
from fsql.runtime.cluster.frames import (
    COORDINATOR,
    BinsAdopted,
    StatePart,
    TickDeclined,
    TickPrepared,
)
from fsql.runtime.cluster.tick_events import BinsCopied, CopyBins, Ownership
from fsql.runtime.dataflow.layout_change import moves_of, moves_to
from fsql.runtime.kernels.keyed.incremental_snapshot import rows_of_bins

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fsql.compiler.owner_map import BinRanges
    from fsql.runtime.cluster.frames import Item, PrepareTick, Switch
    from fsql.runtime.cluster.tick_events import BinsNotCopied
    from fsql.runtime.dataflow.outbox import Effect
    from fsql.runtime.dataflow.worker import Worker
    from fsql.runtime.kernels.keyed.incremental_snapshot import IncrementalSnapshot

    State = tuple[tuple[str, IncrementalSnapshot], ...]


class _Tick:
    """The tick that is under way, from its preparation on."""

    def __init__(self, prepare: PrepareTick, owners: OwnerMap, old: OwnerMap, worker: int) -> None:
        self.number = prepare.tick
        self.owners = owners
        self.outgoing = moves_of(worker, old, owners)
        self.incoming = moves_to(worker, old, owners)
        self.copied = not self.outgoing
        self.waiting: list[tuple[State, bool]] = []
        """The changes in the bins that go while these are read back, and whether they are the last."""
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
        self._parts: dict[int, dict[int, list[StatePart]]] = {}
        """Received state of bins, by tick and old owner."""
        self._adopted: State = ()
        self.must_release = False
        """Whether bins have gone that are still here."""
        self._ownership: Ownership | None = None

    @property
    def owners(self) -> OwnerMap | None:
        """Return the owner map of the tick that is prepared."""
        return None if self._tick is None else self._tick.owners

    def take_ownership(self) -> Ownership | None:
        """Return, once after a tick, the bins that the worker owns."""
        ownership, self._ownership = self._ownership, None
        return ownership

    def on_preparation(self, prepare: PrepareTick) -> list[CopyBins]:
        """Begin to copy the bins that go."""
        old = self._worker.owners
        owners = OwnerMap.of_ranges(prepare.owners, old.workers)
        self._tick = _Tick(prepare, owners, old, self._number)
        self._parts = {tick: parts for tick, parts in self._parts.items() if tick == prepare.tick}
        if self._tick.copied:
            self._put(COORDINATOR, TickPrepared(prepare.tick))
            return []
        bins = all_of(self._tick.outgoing.values())
        return [CopyBins(self._epoch, prepare.tick, bins, self.take_ownership())]

    def on_copied(self, event: BinsCopied | BinsNotCopied) -> None:
        """Send the stored state of the bins that go."""
        tick = self._tick
        if tick is None or event.tick != tick.number:
            return
        if not isinstance(event, BinsCopied):
            self._put(COORDINATOR, TickDeclined(tick.number, event.reason))
            return
        self._send(tick, event.state, last=False)
        waiting, tick.waiting = tick.waiting, []
        for state, last in waiting:
            self._send(tick, state, last=last)
        tick.copied = True
        self._put(COORDINATOR, TickPrepared(tick.number))

    def on_snapshot(self, state: State, *, last: bool) -> None:
        """Send the changes since the last snapshot in the bins that go.

        With `last` the snapshot is that of the position where they go: `release` has to follow.
        """
        tick = self._tick
        if tick is None:
            return
        if tick.copied:
            self._send(tick, state, last=last)
        else:
            tick.waiting.append((state, last))
        self.must_release |= last

    def release(self) -> None:
        """Release the bins that have gone, once what was sent of them is on its way: that takes long."""
        if self.must_release:
            self.must_release = False
            self._put_effects(self._worker.release_bins())
            self.adopt_if_complete()

    def _send(self, tick: _Tick, state: State, *, last: bool) -> None:
        for peer, bins in tick.outgoing.items():
            rows = [(operator, rows_of_bins(one, bins)) for operator, one in state]
            part = tuple((operator, one) for operator, one in rows if len(one))
            if part or last:
                self._put(peer, StatePart(tick.number, part, last))

    def on_switch(self, switch: Switch) -> None:
        """Note the holds of the bins that come."""
        assert self._tick is not None
        self._tick.holds = dict(switch.holds)
        self.adopt_if_complete()

    def on_part(self, peer: int, part: StatePart) -> None:
        """Take state of bins that come."""
        self._parts.setdefault(part.tick, {}).setdefault(peer, []).append(part)
        self.adopt_if_complete()

    def adopt_if_complete(self) -> None:
        """Adopt the bins that come once their old owners have sent everything."""
        tick = self._tick
        if tick is None or tick.holds is None or not tick.incoming or self.must_release:
            return
        if not self._worker.may_adopt:
            return
        parts = self._parts.get(tick.number, {})
        if any(peer not in parts or not parts[peer][-1].last for peer in tick.incoming):
            return
        state: dict[str, list[IncrementalSnapshot]] = {}
        for peer in sorted(tick.incoming):
            for part in parts[peer]:
                for operator, rows in part.state:
                    state.setdefault(operator, []).append(rows)
        self._parts.clear()
        self._put_effects(self._worker.adopt(state, tick.holds))
        self._adopted = tuple((operator, one) for operator in state for one in state[operator])
        tick.incoming = {}
        self._put(COORDINATOR, BinsAdopted(tick.number))

    def on_completed(self) -> None:
        """End the tick: the next snapshot is stored under the new owner map."""
        assert self._tick is not None
        self.release()
        self._worker.complete_change()
        bins: BinRanges = self._tick.owners.bins_of(self._number)
        self._ownership = Ownership(bins, self._adopted)
        self._adopted, self._tick = (), None

    def on_abandoned(self) -> None:
        """Discard a tick that was not switched to."""
        self._tick = None
        self._parts.clear()
