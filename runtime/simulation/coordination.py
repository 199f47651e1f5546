"""The way to coordination: calls take a while, fail, lose their answers, or see what is old.

Coordination itself is that of `fsql.runtime.coordination` in memory, with lease, epochs and commits as every
driver uses them; it lives outside of the cluster and outlives it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from fsql.runtime.coordination.in_memory import Ensemble, MemoryCoordination
from fsql.runtime.coordination.port import CoordinationUnavailableError
from fsql.runtime.simulation.world import MILLISECOND, SECOND

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.runtime.coordination.lease import Lease
    from fsql.runtime.simulation.hosts import Host
    from fsql.runtime.simulation.world import World

_Answer = TypeVar("_Answer")

LEADER: Final = "leader"
"""The key of the lease; its value is the address of whoever leads."""


class Coordination:
    """What everybody shares, and what is wrong with the ways to it."""

    def __init__(self, world: World) -> None:
        self.ensemble = Ensemble(lambda: world.now_us / SECOND)
        self.reachable = True
        self.away: set[str] = set()
        self.fault_rate = 0.0
        self._world = world
        self._choices = world.tape.stream("coordination")

    def way(self) -> MemoryCoordination:
        """Return a way of its own for one process."""
        return MemoryCoordination(self.ensemble)

    def call(
        self,
        host: Host,
        way: MemoryCoordination,
        operation: Callable[[], _Answer],
        answer: Callable[[_Answer | None], None],
    ) -> None:
        """Have a process call coordination, and `answer` called with the result; None means: not known."""
        host.later(
            100 + self._choices.below(MILLISECOND), self._there, host, way, operation, answer
        )

    def _there(
        self,
        host: Host,
        way: MemoryCoordination,
        operation: Callable[[], _Answer],
        answer: Callable[[_Answer | None], None],
    ) -> None:
        faults = way.faults
        faults.unavailable = not self.reachable or host.name in self.away
        faults.replies_lost = int(self._choices.chance(self.fault_rate))
        faults.stale_writes = 2 * int(self._choices.chance(self.fault_rate))
        try:
            result: _Answer | None = operation()
        except CoordinationUnavailableError:
            result = None
        host.later(100 + self._choices.below(MILLISECOND), answer, result)

    def holds(self, lease: Lease) -> bool:
        """Say whether a lease is really held now."""
        if lease.held_until < 0:
            return False
        entry = self.ensemble.states[-1].entries.get(LEADER)
        session = self.ensemble.sessions.get(lease.session)
        if entry is None or session is None:
            return False
        return entry.session == lease.session and session.ends > self.ensemble.clock()
