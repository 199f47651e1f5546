"""What all nodes have in common: `step(event, now) -> effects`, and the frames that they exchange.

A node is a state machine; `now` is in seconds of the host's monotonic clock.  It needs a `TimerFired` by
`next_timer()`.  A host carries out effects in order; some are answered by an event, later.

The events and effects of workers are in `worker_events`, those of the coordinator in `coordinator_events`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fsql.runtime.cluster.frames import Datagram, Frame


@dataclass(frozen=True, slots=True)
class Received:
    """Event: a frame or datagram came; `source` is the address it came from."""

    what: Frame | Datagram
    source: str


@dataclass(frozen=True, slots=True)
class TimerFired:
    """Event: time has passed, and all received frames have been handed in."""


@dataclass(frozen=True, slots=True)
class Transmit:
    """Effect: send to an address; it may get lost."""

    address: str
    what: Frame | Datagram
