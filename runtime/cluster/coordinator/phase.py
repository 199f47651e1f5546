"""The phases of a job's coordinator; their transitions are in `docs/internals/distribution.md`, section 3."""

from __future__ import annotations

import enum


class Phase(enum.Enum):
    """The phase of a coordinator."""

    WAITING = "waiting for the lease"
    GATHERING = "waiting for workers"
    OPENING = "reading the positions of outputs"
    RECORDING = "recording what is skipped"
    RESTORING = "loading state"
    RUNNING = "running"
    FINISHED = "finished"
