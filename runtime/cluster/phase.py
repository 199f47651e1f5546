"""The phases of a job's coordinator; `docs/internals/distribution.md`, section 3, has what leads where."""

from __future__ import annotations

import enum


class Phase(enum.Enum):
    """Where the coordinator stands."""

    WAITING = "waiting for the lease"
    GATHERING = "waiting for workers"
    OPENING = "asking outputs what they have"
    NOTING = "noting what is passed over"
    RESTORING = "loading state"
    RUNNING = "running"
    FINISHED = "finished"
