"""Contraction: chooses which workers own hash bins, by load and by size of state.

While the load is low, worker 0 owns all bins.  It is in the process of the coordinator and reads the first
front, so rows need no hop between processes.  Under load the other workers own the bins.  If the state is
large for one process, all workers own equal parts, which each reloads after a failure.  Each change is
an ordinary tick, so no released byte depends on it.

    contract   the processes together are busy for less than `CONTRACT_BELOW` of the time, for 5 seconds,
               and there is less state than `CONTRACT_BYTES`; with more state, bins are shared equally
    spread     the process of the coordinator is busy for more than `SPREAD_ABOVE`, for a second
    share      worker 0 owns all bins, and there is more state than `SHARE_BYTES`

After a contraction one process does the work of all.  It is then busy for at most about `CONTRACT_BELOW` of
the time, which is far below `SPREAD_ABOVE`; the two limits of the size of state differ as well.  So a steady
load causes at most one tick.  Owners that are none of the three came from another proposal, and are kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.owner_map import BINS, OwnerMap
from fsql.compiler.owners import Owners
from fsql.compiler.records import dataclass
from fsql.runtime.cluster.ticks.events import ProposeTick

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.runtime.dataflow.metrics import Metrics

CONTRACT_BELOW: Final = 0.35
"""As a share of the time of one core."""
SPREAD_ABOVE: Final = 0.8
CONTRACT_BYTES: Final = 256 << 20
"""Bytes of state in memory, which one process loads in about a second after a loss."""
SHARE_BYTES: Final = 2 * CONTRACT_BYTES
CONTRACT_AFTER: Final = 5.0
"""Seconds."""
SPREAD_AFTER: Final = 1.0
PROPOSED_AGAIN_AFTER: Final = 10.0


def contracted_owners(workers: int) -> Owners:
    """Return the owners if worker 0 owns all bins."""
    return Owners(OwnerMap((0,) * BINS, workers))


def spread_owners(workers: int) -> Owners:
    """Return the owners if the workers other than 0 own ranges of about equal width.

    Worker 0 reads the first front, and its process has the barrier, so both are busy enough.
    """
    others = workers - 1
    if others == 0:
        return contracted_owners(1)
    spread = OwnerMap(tuple(1 + number * others // BINS for number in range(BINS)), workers)
    return Owners(spread)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A change of owners, its reason, and after how many seconds it is proposed."""

    owners: Owners
    reason: str
    after: float


class Contraction:
    """Applies the rules to the workers of one job."""

    def __init__(self, workers: int) -> None:
        self._contracted = contracted_owners(workers)
        self._spread = spread_owners(workers)
        self._equal = Owners.of_equal_ranges(workers)
        self._measured_at: float | None = None
        self._seconds = 0.0
        """The processor time of operators of the other workers at the last call."""
        self._wanted_since: tuple[Owners, float] | None = None
        """Which owners are wanted, and since when."""
        self._next_proposal = 0.0

    def reset(self) -> None:
        """Discard the measurements: another epoch runs."""
        self._measured_at = self._wanted_since = None

    def on_load(
        self, busy: float, metrics: Mapping[int, Metrics], owners: Owners, now: float
    ) -> ProposeTick | None:
        """Return the tick to propose, if any.

        `busy` is the share of the time since the last call in which the loop of the coordinator's process was
        busy; `metrics` are those of the workers, by number, and `owners` the current owners.
        """
        others = self._busy_of_others(metrics, now)
        if others is None or self._contracted == self._spread:
            return None
        wanted = self._required_change(
            busy, busy + others, sum(each.bytes_state for each in metrics.values()), owners
        )
        if not self._holds(wanted, now):
            return None
        assert wanted is not None
        self._wanted_since = None
        self._next_proposal = now + PROPOSED_AGAIN_AFTER
        return ProposeTick(wanted.owners.ranges, wanted.reason, wanted.owners.workers)

    def _required_change(
        self, busy: float, together: float, state_bytes: int, owners: Owners
    ) -> _Wanted | None:
        """Return the change that the current load requires, if any."""
        if owners not in (self._contracted, self._spread, self._equal):
            return None
        if busy > SPREAD_ABOVE and owners != self._spread:
            return _Wanted(self._spread, f"busy for {busy:.0%} of the time", SPREAD_AFTER)
        if owners == self._contracted:
            if state_bytes <= SHARE_BYTES:
                return None
            reason = f"{state_bytes >> 20} MiB of state in one process"
            return _Wanted(self._equal, reason, CONTRACT_AFTER)
        quiet = self._contracted if state_bytes < CONTRACT_BYTES else self._equal
        if together >= CONTRACT_BELOW or owners == quiet:
            return None
        reason = f"all processes together busy for {together:.0%} of the time"
        return _Wanted(quiet, reason, CONTRACT_AFTER)

    def _busy_of_others(self, metrics: Mapping[int, Metrics], now: float) -> float | None:
        """Return how many cores the other workers have kept busy since the last call, None in the first."""
        seconds = sum(
            operator.seconds
            for worker in sorted(metrics)
            if worker != 0
            for operator in metrics[worker].operators.values()
        )
        before, self._measured_at = self._measured_at, now
        taken, self._seconds = seconds - self._seconds, seconds
        return None if before is None or now <= before else max(0.0, taken) / (now - before)

    def _holds(self, wanted: _Wanted | None, now: float) -> bool:
        """Return whether the same change has been wanted for long enough."""
        if wanted is None or self._wanted_since is None or self._wanted_since[0] != wanted.owners:
            self._wanted_since = None if wanted is None else (wanted.owners, now)
        if wanted is None or self._wanted_since is None:
            return False
        return now - self._wanted_since[1] >= wanted.after and now >= self._next_proposal
