"""The events and effects that all nodes have in common.

A node is a state machine, `step(event, now) -> effects`; `now` is in seconds of the host's monotonic clock.
The node needs a `TimerFired` no later than `next_timer()`.  A host carries out effects in order; some are
answered later, by an event.

The events and effects of workers are in `worker_events`, those of the coordinator in `coordinator_events`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from fsql.runtime.cluster.frames import Datagram, Frame


@dataclass(frozen=True, slots=True)
class Received:
    """Event: a frame or datagram has arrived from the node at the address `source`."""

    what: Frame | Datagram
    source: str


@dataclass(frozen=True, slots=True)
class Computed:
    """Event: the process has computed for so many seconds without waiting, so it may have been silent."""

    seconds: float


@dataclass(frozen=True, slots=True)
class TimerFired:
    """Event: time has passed, and the node has been given all frames that had arrived."""


@dataclass(frozen=True, slots=True)
class Transmit:
    """Effect: send to an address; the message may be lost."""

    address: str
    what: Frame | Datagram
