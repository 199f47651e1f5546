"""Routing: which worker owns each key, also while owners and plan choices change at a position.

A worker asks its `Routing` about each chunk, message, promise and min time; only `Routing` knows whether a
change is under way (`LayoutChange`).

Contract.  Bins have new owners for rows with roots at or above `position`, in some exchanges or in all.  A
sender looks up the owner in an exchange as of the root of the row, so the undo of a row takes the same route.
The old owner applies the rows below the position, and hands the state over when min time has passed them; the
new owner queues rows of the bins until it has adopted that state.

    announce    The worker agrees only if it has applied and read nothing at or above the position.  Until the
                outcome is known, it cuts chunks of its fronts at the position, and defers the rows above.
    switch      All workers have agreed: deferred rows go to the new owners.  A front that another worker
                continues drops them, and stops at the position.
    cancel      One worker has not agreed: deferred rows go to the old owners.
    adopt       The new owner adds the state and applies the queued rows.
    complete    All have adopted: nothing below the position is in flight any more.

Rows of bins that move are marked in their parcels, so that the new owner need not hash them again.

Into a fold that is replicated, the rows of one side go to all its owners as of their roots.  Those of the
other side stay on their worker if it is one of these, and else go to the owner of their bin.  Rows for a
worker that begins to hold all bins are marked like rows of bins that move: it queues them until it has
adopted the state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fsql.compiler.holdings import Holdings, Moves
from fsql.compiler.owner_map import BIN_SHIFT
from fsql.compiler.plan_choices import NO_CHOICES
from fsql.runtime.order import below

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from fsql.compiler.owner_map import OwnerMap
    from fsql.compiler.plan_choices import PlanChoices
    from fsql.runtime.arrays import Bools, Ints
    from fsql.runtime.batch import Batch, Root
    from fsql.runtime.dataflow.front import Front
    from fsql.runtime.dataflow.messages import Address, Message, Parcel
    from fsql.runtime.ports import DeadLetter

    Hashes = NDArray[np.uint32]
    DeadLetters = tuple[tuple[Root, DeadLetter], ...]


class _ExchangeOwners:
    """The owner map of an exchange, as an array, with the numbers of its owners."""

    def __init__(self, owners: OwnerMap) -> None:
        self.owners = np.array(owners.owners)
        self.numbers = sorted(set(owners.owners))


class Routing:
    """Which worker owns each key in each exchange, as of the root of each row.

    `exchanges` has the name of the exchange into the fold of each stage.
    """

    def __init__(self, holdings: Holdings, exchanges: Mapping[int, str]) -> None:
        self.holdings = holdings
        self.owners = owners = holdings.owners
        self.exchanges = exchanges
        self.change: LayoutChange | None = None
        maps = {name: owners.of(name) for name in exchanges.values()}
        tables = {of: _ExchangeOwners(of) for of in set(maps.values())}
        self._tables = {stage: tables[maps[name]] for stage, name in exchanges.items()}

    # While nothing changes, rows, messages, promises and min times pass as they are.

    def before_change(self, rows: FrontRows) -> FrontRows:
        """Return the rows of a front that are processed now; the others are kept until the switch."""
        change = self.change
        return rows if change is None or change.switched else change.defer(rows)

    def defers(self, message: Message) -> bool:
        """Return whether a message has to wait until the worker knows whether owners change."""
        return self.change is not None and self.change.defers(message)

    def queues(self, parcel: Parcel, batch: Batch) -> bool:
        """Return whether rows wait until their bins are adopted; if so, keep them."""
        change = self.change
        if not parcel.moved or change is None or change.adopted:
            return False
        change.queue(parcel.to, batch)
        return True

    def waits(self, front: Front) -> bool:
        """Return whether a front must not read: its rows are deferred, or another worker continues it."""
        change = self.change
        return change is not None and (front.number in change.deferred or change.has_left(front))

    def promise_of(self, front: Front) -> Root:
        """Return what a front may promise now."""
        return front.promised if self.change is None else self.change.promise_of(front)

    def limit(self, stage: int, root: Root, reached: Root) -> Root:
        """Return how far a fold may advance that has `reached` a root, and is told to advance to `root`."""
        change = self.change
        if change is None or not change.holds_back or root <= change.position:
            return root
        change.min_times[stage] = root
        return max(change.position, reached)

    # The steps of a change.

    @property
    def under_way(self) -> LayoutChange:
        """Return the change that is under way; there must be one."""
        assert self.change is not None
        return self.change

    @property
    def has_switched(self) -> bool:
        """Return whether a change is under way that has been switched to."""
        return self.change is not None and self.change.switched

    def begin(self, change: LayoutChange) -> None:
        """Announce a change."""
        assert self.change is None
        self.change = change

    def switch(self) -> LayoutChange:
        """Use the new owners for rows at or above the position."""
        change = self.under_way
        change.switched = True
        return change

    def cancel(self) -> LayoutChange:
        """Forget a change that has not been switched to, and return it."""
        change, self.change = self.under_way, None
        assert not change.switched
        return change

    def completed(self) -> Routing:
        """Return the routing by the new owners."""
        return Routing(self.under_way.holdings, self.exchanges)

    def only_owner(self, stage: int) -> int | None:
        """Return the worker that owns all keys of a fold; None if there are several, or owners change."""
        numbers = self._tables[stage].numbers
        return numbers[0] if len(numbers) == 1 and self.change is None else None

    def split(
        self, stage: int, batch: Batch, hashes: Hashes
    ) -> list[tuple[int, bool, Ints | None]]:
        """Return for each owner whether the keys have moved, and the indexes of its rows, None for all.

        The rows go into the fold of `stage`.
        """
        table = self._tables[stage]
        owner = table.owners[hashes >> BIN_SHIFT]
        if self.change is not None:
            return self._split_by_root(self.change, stage, batch, hashes, owner)
        if len(owner) == 1:
            return [(int(owner[0]), False, None)]
        parts = [(worker, np.flatnonzero(owner == worker)) for worker in table.numbers]
        return [(worker, False, rows) for worker, rows in parts if len(rows)]

    def _split_by_root(
        self, change: LayoutChange, stage: int, batch: Batch, hashes: Hashes, owner: Ints
    ) -> list[tuple[int, bool, Ints | None]]:
        owner, moved = change.route(self.exchanges[stage], batch, hashes, owner)
        parts = [
            (worker, is_moved, np.flatnonzero((owner == worker) & (moved == is_moved)))
            for worker in np.unique(owner).tolist()
            for is_moved in (False, True)
        ]
        return [(worker, is_moved, rows) for worker, is_moved, rows in parts if len(rows)]

    def copy(self, stage: int, batch: Batch) -> list[tuple[int, bool, Ints | None]]:
        """Return all owners of a replicated fold, each with whether it begins to be one, and its rows."""
        if self.change is None:
            return [(worker, False, None) for worker in self._tables[stage].numbers]
        parts = []
        for change, rows in self._by_root(self.change, batch):
            for worker in self._owners_of(stage, change):
                begins = change is not None and change.begins(self.exchanges[stage], worker)
                parts.append((worker, begins, rows))
        return parts

    def keep(
        self, stage: int, batch: Batch, worker: int
    ) -> list[tuple[int, bool, Ints | None]] | None:
        """Return a batch as the part of the worker that it is on; None if that owns no part of the fold."""
        if self.change is None:
            return [(worker, False, None)] if worker in self._tables[stage].numbers else None
        parts = []
        for change, rows in self._by_root(self.change, batch):
            if worker not in self._owners_of(stage, change):
                return None
            begins = change is not None and change.begins(self.exchanges[stage], worker)
            parts.append((worker, begins, rows))
        return parts

    def _owners_of(self, stage: int, change: LayoutChange | None) -> list[int]:
        if change is None:
            return self._tables[stage].numbers
        return change.owners_of(self.exchanges[stage])

    def _by_root(
        self, change: LayoutChange, batch: Batch
    ) -> Iterator[tuple[LayoutChange | None, Ints | None]]:
        """Yield the indexes of the rows below the position of a change, without it, and of the others."""
        under = below(batch, change.position)
        for of, marks in ((None, under), (change, ~under)):
            if marks.any():
                yield of, None if marks.all() else np.flatnonzero(marks)


class FrontRows(NamedTuple):
    """Rows that a front has read, with their positions; `ordinal` is the number of its table."""

    front: Front
    ordinal: int
    batch: Batch | None
    dead_letters: DeadLetters

    @property
    def rows(self) -> int:
        """Return how many rows there are."""
        return len(self.dead_letters) + (0 if self.batch is None else len(self.batch))


class LayoutChange:
    """One change of owners and choices on one worker, from its announcement to its completion."""

    def __init__(
        self,
        position: Root,
        old: Holdings,
        new: Holdings,
        worker: int,
        choices: PlanChoices = NO_CHOICES,
        leaving: frozenset[int] = frozenset(),
    ) -> None:
        """Begin the change; `leaving` are the numbers of the worker's fronts that others continue."""
        self.position = position
        self.leaving = leaving
        self.choices = choices
        self.holdings = new
        self.owners = new.owners
        self.switched = False
        self.released = False
        self.min_times: dict[int, Root] = {}
        """Min times beyond the position, by stage, that the worker does not follow yet."""
        moves = Moves(worker, old, new)
        self.outgoing = moves.outgoing
        """The bins of each exchange that this worker hands over, by their new owners."""
        self.dropped = moves.dropped
        """The bins of each exchange that this worker does not hold afterwards."""
        self.incoming = moves.incoming
        """The bins of each exchange that this worker adopts, by their old owners."""
        self.adopted = not self.incoming
        self.queued: dict[int, list[tuple[int, Batch]]] = {}
        """Rows of bins that are not adopted yet, by stage, each with its side."""
        self.deferred: dict[int, FrontRows] = {}
        """Rows at or above the position that were read before the switch, by front."""
        self.messages: list[Message] = []
        """Messages with such rows, from workers that have switched already or will not agree."""
        self._old = old
        self._moves: dict[str, tuple[Ints, Bools]] = {}
        """The new owners of the bins of an exchange, and which bins have moved."""
        self._begins: dict[tuple[str, int], bool] = {}
        self._owners_of: dict[str, list[int]] = {}

    @property
    def holds_back(self) -> bool:
        """Return whether folds must not advance beyond the position.

        That is so before the switch, while bins are to be handed over, and while bins are to be adopted:
        state that expires above the position may still be needed for their queued rows.
        """
        if not self.switched or not self.adopted:
            return True
        return bool(self.outgoing) and not self.released

    def route(self, exchange: str, batch: Batch, hashes: Hashes, owner: Ints) -> tuple[Ints, Bools]:
        """Return the owner of each row, given its old owner, and which rows are of bins that have moved."""
        if exchange not in self._moves:
            new = np.array(self.owners.of(exchange).owners)
            self._moves[exchange] = new, new != np.array(self._old.owners.of(exchange).owners)
        new_owners, moved_bins = self._moves[exchange]
        bins = hashes >> BIN_SHIFT
        moved = moved_bins[bins]
        if moved.any():
            moved &= ~below(batch, self.position)
        return np.where(moved, new_owners[bins], owner), moved

    def owners_of(self, exchange: str) -> list[int]:
        """Return the new owners of any bins of an exchange, ascending."""
        if exchange not in self._owners_of:
            self._owners_of[exchange] = sorted(set(self.owners.of(exchange).owners))
        return self._owners_of[exchange]

    def begins(self, exchange: str, worker: int) -> bool:
        """Return whether a worker, which owns bins afterwards, has to get others than it has had."""
        key = exchange, worker
        if key not in self._begins:
            begun = Moves(worker, self._old, self.holdings).begun
            self._begins[key] = bool(begun.of(exchange))
        return self._begins[key]

    def queue(self, to: Address, batch: Batch) -> None:
        """Keep rows of bins that are not adopted yet."""
        self.queued.setdefault(to.stage, []).append((to.side, batch))

    def defers(self, message: Message) -> bool:
        """Return whether a message has to wait until the worker knows whether owners change; if so, keep it.

        It has rows at or above the position, so its sender has switched already, or has not agreed.
        """
        batch = message.parcel.batch
        if self.switched or batch is None or batch.span().greatest < self.position:
            return False
        self.messages.append(message)
        return True

    def defer(self, rows: FrontRows) -> FrontRows:
        """Return the rows of a front's chunk below the position, and keep the rest until the switch."""
        batch, rest = rows.batch, None
        if batch is not None and not (under := below(batch, self.position)).all():
            rest = batch.take(np.flatnonzero(~under))
            kept = np.flatnonzero(under)
            batch = batch.take(kept) if len(kept) else None
        letters = tuple(each for each in rows.dead_letters if each[0] < self.position)
        later = rows.dead_letters[len(letters) :]
        if rest is not None or later:
            front = rows.front
            self.deferred[front.number] = FrontRows(front, rows.ordinal, rest, later)
        return FrontRows(rows.front, rows.ordinal, batch, letters)

    def take_min_times(self) -> list[tuple[int, Root]]:
        """Return the min times that were held back, by stage, and forget them."""
        min_times, self.min_times = self.min_times, {}
        return sorted(min_times.items())

    def take_deferred(self, fronts: Iterable[Front]) -> list[FrontRows]:
        """Return the deferred rows; after the switch, drop those of fronts that leave, and stop these."""
        deferred, self.deferred = self.deferred, {}
        for front in fronts:
            if self.switched and front.number in self.leaving:
                rest = deferred.pop(front.number, None)
                front.stop_at(self.position, 0 if rest is None else rest.rows)
        return list(deferred.values())

    def promise_of(self, front: Front) -> Root:
        """Return what a front may promise: the worker that continues it promises the rest.

        A front that has ended before the switch has no rows at or above the position.
        """
        if self.switched and (front.ended or front.number not in self.leaving):
            return front.promised
        return min(front.promised, self.position)

    def has_left(self, front: Front) -> bool:
        """Return whether this worker has read its part of a front that leaves."""
        leaves = self.switched and front.number in self.leaving
        return leaves and front.promised >= self.position


def is_beyond(position: Root, front: Front) -> bool:
    """Return whether a front has read or promised anything at or above a position."""
    return front.read_up_to > position or (front.promised > position and not front.ended)
