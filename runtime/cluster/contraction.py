"""Contraction: which workers own hash bins, by how much there is to do.

While there is little to do, all bins belong to worker 0, which is in the process of the coordinator and reads
the first front: then rows take no hop between processes.  Under load the other workers own them.  Each change
is an ordinary tick, so no released byte depends on it.

    contract   the processes together are busy for less than `CONTRACT_BELOW` of the time, for 5 seconds
    spread     the process of the coordinator is busy for more than `SPREAD_ABOVE`, for a second

All that the processes do is done by one after a contraction.  It is then busy for about `CONTRACT_BELOW` at
most, which is far below `SPREAD_ABOVE`; and the other way round.  So a steady load causes one tick at most.
An owner map that is neither of the two was proposed by somebody, and stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.owner_map import BINS, OwnerMap
from fsql.runtime.cluster.tick_events import ProposeTick

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.runtime.metrics import Metrics

CONTRACT_BELOW: Final = 0.35
"""A share of the time of one core."""
SPREAD_ABOVE: Final = 0.8
CONTRACT_AFTER: Final = 5.0
"""Seconds."""
SPREAD_AFTER: Final = 1.0
PROPOSED_AGAIN_AFTER: Final = 10.0


def contracted_owners(workers: int) -> OwnerMap:
    """Return the map in which worker 0 owns all bins."""
    return OwnerMap((0,) * BINS, workers)


def spread_owners(workers: int) -> OwnerMap:
    """Return the map in which the others own ranges of about the same width.

    Worker 0 has enough to do with the first front, and its process with the barrier.
    """
    others = workers - 1
    if others == 0:
        return contracted_owners(1)
    return OwnerMap(tuple(1 + number * others // BINS for number in range(BINS)), workers)


class Contraction:
    """The rule, for the workers of one job."""

    def __init__(self, workers: int) -> None:
        self._contracted = contracted_owners(workers)
        self._spread = spread_owners(workers)
        self._equal = OwnerMap.of_equal_ranges(workers)
        self._measured_at: float | None = None
        self._seconds = 0.0
        """What operators of the other workers had taken then."""
        self._holds_since: float | None = None
        """Since when the reason for a change holds."""
        self._next_proposal = 0.0

    def reset(self) -> None:
        """Forget what was measured, when another epoch runs."""
        self._measured_at = self._holds_since = None

    def on_load(
        self, busy: float, metrics: Mapping[int, Metrics], owners: OwnerMap, now: float
    ) -> ProposeTick | None:
        """Return the tick to propose, if any.

        `busy` is the share of the time in which the loop of the coordinator's process was busy, since the
        last call; `metrics` are those of the workers, by number, and `owners` the present owners.
        """
        others = self._busy_of_others(metrics, now)
        if others is None or self._contracted == self._spread:
            return None
        if owners == self._contracted:
            if not self._holds(busy > SPREAD_ABOVE, SPREAD_AFTER, now):
                return None
            return self._proposal(self._spread, f"busy for {busy:.0%} of the time", now)
        if owners in (self._spread, self._equal):
            together = busy + others
            if not self._holds(together < CONTRACT_BELOW, CONTRACT_AFTER, now):
                return None
            reason = f"all processes together busy for {together:.0%} of the time"
            return self._proposal(self._contracted, reason, now)
        return None

    def _busy_of_others(self, metrics: Mapping[int, Metrics], now: float) -> float | None:
        """Return how many cores the other workers have kept busy since the last call, None at the first."""
        seconds = sum(
            operator.seconds
            for worker in sorted(metrics)
            if worker != 0
            for operator in metrics[worker].operators.values()
        )
        before, self._measured_at = self._measured_at, now
        taken, self._seconds = seconds - self._seconds, seconds
        return None if before is None or now <= before else max(0.0, taken) / (now - before)

    def _holds(self, reason: bool, after: float, now: float) -> bool:  # noqa: FBT001 - it is a condition
        """Return whether the reason for a change has held long enough."""
        if not reason or self._holds_since is None:
            self._holds_since = now if reason else None
        since = self._holds_since
        return since is not None and now - since >= after and now >= self._next_proposal

    def _proposal(self, owners: OwnerMap, reason: str, now: float) -> ProposeTick:
        self._holds_since = None
        self._next_proposal = now + PROPOSED_AGAIN_AFTER
        return ProposeTick(owners.ranges, reason, owners.workers)
