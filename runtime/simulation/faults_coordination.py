"""Faults of coordination: servers that do not answer, answer late, or lose the quorum; expired sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.runtime.simulation.world import SECOND

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.runtime.simulation.faults import FaultInjector


def lose_coordination(injector: FaultInjector) -> None:
    """No process reaches coordination (F7)."""
    injector.record_fault("coordination away", "any")
    coordination = injector.cluster.coordination
    injector.set_for_a_while(5 * SECOND, coordination, "reachable", during=False, after=True)


def lose_replies(injector: FaultInjector) -> None:
    """Calls of coordination or their replies get lost (F7)."""
    injector.record_fault("coordination loses replies", "any")
    coordination = injector.cluster.coordination
    injector.set_for_a_while(5 * SECOND, coordination, "fault_rate", during=0.4, after=0.0)


def delay_writes(injector: FaultInjector) -> None:
    """Writes of coordination are not answered, and take effect later (F7)."""
    injector.record_fault("coordination writes late", "any")
    coordination = injector.cluster.coordination
    injector.set_for_a_while(5 * SECOND, coordination, "late_rate", during=0.4, after=0.0)


def lose_quorum(injector: FaultInjector) -> None:
    """Most servers of coordination fail: the others answer reads, but not writes (F7)."""
    injector.record_fault("coordination read-only", "any")
    coordination = injector.cluster.coordination
    injector.set_for_a_while(5 * SECOND, coordination, "read_only", during=True, after=False)


def restart_coordination(injector: FaultInjector) -> None:
    """The servers of coordination stop and start again; no session ends meanwhile (F7)."""
    coordination = injector.cluster.coordination
    injector.record_fault("coordination restarts", "any")
    coordination.reachable, coordination.ensemble.stopped = False, True

    def back() -> None:
        coordination.reachable = True
        coordination.ensemble.restart()

    injector.for_a_while(8 * SECOND, back)


def cut_off_leader(injector: FaultInjector) -> None:
    """A coordinator does not reach coordination for so long that its session ends (F7)."""
    process = injector.process(list(injector.cluster.coordinators))
    if process is None:
        return
    injector.record_fault("session expires", "any", process.name)
    away = injector.cluster.coordination.away
    away.add(process.name)
    injector.for_a_while(5 * SECOND, away.discard, process.name)


FAULTS_OF_COORDINATION: Final[dict[str, Callable[[FaultInjector], None]]] = {
    "coordination away": lose_coordination,
    "coordination loses replies": lose_replies,
    "coordination writes late": delay_writes,
    "coordination read-only": lose_quorum,
    "coordination restarts": restart_coordination,
    "session expires": cut_off_leader,
}
"""The faults by name."""
