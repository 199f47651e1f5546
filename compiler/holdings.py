"""Which bins of which exchanges each worker holds: those that it owns, and in a replicated fold all.

A fold that is **replicated** (`tick_plan.Placement`) has its whole state on every worker that owns a bin of
its exchange.  The owner of a bin alone stores the bin in snapshots, so a snapshot has each bin once, and can
be restored whether the fold is replicated or not.

At a tick, the state of a bin is sent by its old owner to its new owner, which stores it from then on, and to
each worker that begins to hold it.  A worker drops what it holds no more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.owner_map import ALL_BINS, all_of, bins_without, common_bins
from fsql.compiler.owners import BinSets
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.compiler.owner_map import BinRanges, OwnerMap
    from fsql.compiler.owners import Owners
    from fsql.compiler.tick_plan import TickPlan


@dataclass(frozen=True)
class Holdings:
    """The owners of all bins, and the names of the exchanges into folds that are replicated."""

    owners: Owners
    replicated: frozenset[str] = frozenset()

    @classmethod
    def of_plan(cls, plan: TickPlan) -> Holdings:
        """Return the holdings of the workers of a plan."""
        return cls(plan.assignment.owners, plan.replicated)

    @property
    def names(self) -> frozenset[str]:
        """Return the exchanges of which the bins are owned or held otherwise than those of all others."""
        return self.replicated | {name for name, _ in self.owners.exchanges}

    def owned(self, worker: int, exchange: str | None) -> BinRanges:
        """Return the bins of an exchange that a worker owns; None stands for those without a name."""
        return self._map(exchange).bins_of(worker)

    def held(self, worker: int, exchange: str | None) -> BinRanges:
        """Return the bins of an exchange that a worker holds."""
        owned = self.owned(worker, exchange)
        return ALL_BINS if owned and exchange in self.replicated else owned

    def held_by(self, worker: int) -> BinSets:
        """Return the bins that a worker holds."""
        return bin_sets(self.names, lambda name: self.held(worker, name))

    def _map(self, exchange: str | None) -> OwnerMap:
        return self.owners.every if exchange is None else self.owners.of(exchange)


def bin_sets(names: frozenset[str], of: Callable[[str | None], BinRanges]) -> BinSets:
    """Return the bins that a function has for each exchange, and for those without a name."""
    return BinSets(of(None), tuple((name, of(name)) for name in sorted(names)))


class Moves:
    """What one worker sends, receives and drops when the holdings change."""

    def __init__(self, worker: int, old: Holdings, new: Holdings) -> None:
        self._worker, self._old, self._new = worker, old, new
        self._names = old.names | new.names
        self.outgoing = self._with_peers(new, lambda peer: self._sent(worker, peer))
        """The bins that the worker sends, by receiver."""
        self.incoming = self._with_peers(old, lambda peer: self._sent(peer, worker))
        """The bins that the worker receives, by their old owners."""
        self.begun = bin_sets(self._names, lambda name: self._begun(worker, name))
        """The bins that it holds from now on; it receives others only to store them."""
        self.dropped = bin_sets(self._names, self._dropped)
        """The bins that it holds no more."""

    def _with_peers(self, of: Holdings, sent: Callable[[int], BinSets]) -> dict[int, BinSets]:
        maps = [of.owners.every, *(each for _, each in of.owners.exchanges)]
        peers = sorted({owner for each in maps for owner, _, _ in each.ranges} - {self._worker})
        found = ((peer, sent(peer)) for peer in peers)
        return {peer: bins for peer, bins in found if bins}

    def _sent(self, sender: int, receiver: int) -> BinSets:
        """Return the bins of a sender that a receiver begins to hold, or begins to own."""

        def sent(name: str | None) -> BinRanges:
            wanted = all_of([self._begun(receiver, name), self._new.owned(receiver, name)])
            return common_bins(self._old.owned(sender, name), wanted)

        return bin_sets(self._names, sent)

    def _begun(self, worker: int, name: str | None) -> BinRanges:
        return bins_without(self._new.held(worker, name), self._old.held(worker, name))

    def _dropped(self, name: str | None) -> BinRanges:
        return bins_without(self._old.held(self._worker, name), self._new.held(self._worker, name))
