"""Calls of coordination in a simulation: they take time, fail, lose their answers, or read stale values.

Coordination itself is the in-memory one of `fsql.runtime.coordination`; it is outside of the cluster and
outlives its processes.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeVar

from fsql.runtime.coordination.commits import read_committed
from fsql.runtime.coordination.in_memory import Ensemble, MemoryCoordination
from fsql.runtime.coordination.port import CoordinationError, CoordinationUnavailableError
from fsql.runtime.hosts.job_state import LEADER, close_leader_session
from fsql.runtime.simulation.world import MILLISECOND, SECOND

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.runtime.coordination.commits import Committed
    from fsql.runtime.coordination.lease import Lease
    from fsql.runtime.coordination.port import Changes, Entry
    from fsql.runtime.simulation.process import Process
    from fsql.runtime.simulation.world import World

_Answer = TypeVar("_Answer")

LATE_US: Final = 2 * SECOND
"""The maximum delay of a write whose call got no answer."""


class SharedCoordination:
    """The coordination that all processes share, and its faults."""

    def __init__(self, world: World) -> None:
        self.ensemble = Ensemble(lambda: world.now_us / SECOND)
        self.reachable = True
        self.away: set[str] = set()
        self.read_only = False
        self.fault_rate = 0.0
        self.late_rate = 0.0
        self._world = world
        self.choices = world.tape.stream("coordination")

    def do_later(self, operation: Callable[[], object]) -> None:
        """Execute a write later whose call got no answer now; ignore it if it fails then."""

        def execute() -> None:
            with suppress(CoordinationError):
                operation()

        self._world.after(self.choices.below(LATE_US), execute)

    def heal(self) -> None:
        """End all faults."""
        self.reachable, self.read_only = True, False
        self.fault_rate = self.late_rate = 0.0
        self.away.clear()
        self.ensemble.restart()

    def newest_committed(self) -> Committed | None:
        """Return the newest snapshot, as an observer outside of the cluster sees it."""
        return read_committed(MemoryCoordination(self.ensemble))

    def end_leadership(self, owner: str) -> bool:
        """End the session of a killed coordinator, as the launcher does; return whether it held the lease."""
        if not self.reachable or self.read_only:
            return False
        entry = self.ensemble.states[-1].entries.get(LEADER)
        close_leader_session(MemoryCoordination(self.ensemble), owner)
        return entry is not None and entry.value == owner.encode()

    def holds(self, lease: Lease) -> bool:
        """Return whether a lease is held now, by the state of the ensemble."""
        if lease.held_until < 0:
            return False
        entry = self.ensemble.states[-1].entries.get(LEADER)
        session = self.ensemble.sessions.get(lease.session)
        if entry is None or session is None:
            return False
        return entry.session == lease.session and session.ends > self.ensemble.clock()


class SimulatedCoordination:
    """The `Coordination` of one process."""

    def __init__(self, coordination: SharedCoordination, process: Process) -> None:
        self._shared = coordination
        self._client = MemoryCoordination(coordination.ensemble)
        self._process = process
        self._life = process.life

    def _call(self, name: str, operation: Callable[[], _Answer], *, writes: bool) -> _Answer:
        if writes:
            self._process.call(self._life, name)
        else:
            self._process.check(self._life)
        shared, faults = self._shared, self._client.faults
        self._process.charge(200 + shared.choices.below(MILLISECOND))
        faults.unavailable = not shared.reachable or self._process.name in shared.away
        faults.read_only = shared.read_only
        faults.replies_lost = faults.stale_writes = 0
        if shared.fault_rate:
            faults.replies_lost = int(shared.choices.chance(shared.fault_rate))
            faults.stale_writes = 2 * int(shared.choices.chance(shared.fault_rate))
        if writes and shared.late_rate and shared.choices.chance(shared.late_rate):
            shared.do_later(operation)
            raise CoordinationUnavailableError("no answer came")
        return operation()

    def open_session(self, ttl_seconds: float) -> int:
        """See `Coordination`."""
        return self._call(
            "open_session", lambda: self._client.open_session(ttl_seconds), writes=True
        )

    def keep_alive(self, session: int) -> None:
        """See `Coordination`."""
        self._call("keep_alive", lambda: self._client.keep_alive(session), writes=False)

    def close_session(self, session: int) -> None:
        """See `Coordination`."""
        self._call("close_session", lambda: self._client.close_session(session), writes=True)

    def get(self, key: str) -> Entry | None:
        """See `Coordination`."""
        return self._call("get", lambda: self._client.get(key), writes=False)

    def create(self, session: int, key: str, value: bytes, *, ephemeral: bool = False) -> Entry:
        """See `Coordination`."""
        client = self._client
        return self._call(
            "create", lambda: client.create(session, key, value, ephemeral=ephemeral), writes=True
        )

    def replace(self, session: int, key: str, value: bytes, version: int) -> Entry:
        """See `Coordination`."""
        client = self._client
        return self._call(
            "replace", lambda: client.replace(session, key, value, version), writes=True
        )

    def delete(self, session: int, key: str, version: int) -> None:
        """See `Coordination`."""
        self._call("delete", lambda: self._client.delete(session, key, version), writes=True)

    def changes_since(self, mark: int) -> Changes:
        """See `Coordination`."""
        return self._call("changes_since", lambda: self._client.changes_since(mark), writes=False)

    def close(self) -> None:
        """See `Coordination`."""
