"""The ports of hosts: processes and simulation differ only in the implementations of these.

Other ports are `runtime/ports.py` for sources, `runtime/sink.py` for sinks,
`runtime/coordination/port.py`, and `runtime/state/directory.py` for disks.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.runtime.cluster.coordinator.events import (
        CoordinatorEffect,
        CoordinatorEvent,
        Finish,
        Progress,
    )
    from fsql.runtime.cluster.frames import Datagram, Frame
    from fsql.runtime.cluster.ticks.events import RecordStatistics, TickEnded
    from fsql.runtime.cluster.worker.events import WorkerEffect, WorkerEvent

_Result = TypeVar("_Result")

Clock: TypeAlias = Callable[[], float]
"""A monotonic clock, in seconds."""

Steps: TypeAlias = Generator[None, None, _Result]
"""Work in steps that ends with a result.  Between steps other processes may run, or this one may end."""

Work: TypeAlias = "Generator[WorkerEvent | CoordinatorEvent | None, None, None]"
"""Work in steps for a background executor; it yields events for the node, or None for a pause."""


class WorkerMachine(Protocol):
    """The node of a worker; see `runtime/cluster/node.py`."""

    def step(self, event: WorkerEvent, now: float) -> Iterable[WorkerEffect]:
        """Return the effects of an event."""

    def next_timer(self) -> float | None:
        """Return when to step with a `TimerFired` at the latest."""

    def readable(self, now: float) -> list[int]:
        """Return the numbers of the fronts that may read now, the one with the least promise first."""


class CoordinatorMachine(Protocol):
    """The node of a coordinator; see `runtime/cluster/node.py`."""

    def step(self, event: CoordinatorEvent, now: float) -> Iterable[CoordinatorEffect]:
        """Return the effects of an event."""

    def next_timer(self) -> float | None:
        """Return when to step with a `TimerFired` at the latest."""


class Transport(Protocol):
    """Sends to other nodes; anything may be lost."""

    @property
    def other_versions(self) -> Mapping[str, int]:
        """Return the wire formats of nodes that use another version, by address."""

    def send(self, address: str, what: Frame | Datagram) -> object:
        """Send to the node at an address."""

    def send_last(self, address: str, what: Datagram) -> None:
        """Send a datagram, which is sent even if this process exits immediately."""


class Background(Protocol):
    """An executor for long work: one piece after the other, concurrently with the steps of the node."""

    def submit(self, work: Work) -> None:
        """Queue `work` behind all earlier work; its events are passed to the host's `step`."""


class Monitor(Protocol):
    """Receives the progress of the job."""

    def report(self, effect: Progress | Finish | TickEnded) -> None:
        """Take a progress report, the end of a tick, or the end of the job."""


class StatisticsLog(Protocol):
    """Keeps the last statistics of workers for the optimizer."""

    def now(self) -> float:
        """Return the time of the wall clock, in seconds since 1970."""

    def write(self, statistics: RecordStatistics, ended: float) -> None:
        """Keep statistics of one worker, about the time until `ended`, in seconds since 1970.

        Raises:
            OSError: if they cannot be written.
        """


class FrontLog(Protocol):
    """The log of a front whose source cannot be read again; its rows can be read once they are durable."""

    def trim(self, byte: int) -> None:
        """Remove the part that a reader from `byte` on does not need.

        Raises:
            OSError: if it cannot be removed.
        """
