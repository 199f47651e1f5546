"""Measures for how long a process computes between two waits for input.

A long time is a sign of a long step only if the process has used a processor, or has waited for one: a
process that was stopped has not.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Final

from fsql.runtime.cluster.failure_detector import has_computed
from fsql.runtime.cluster.node import Computed
from fsql.runtime.drivers.processes.process_role import runnable_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator

_LONG_SECONDS: Final = 1.0
"""Shorter times are never taken for a failure."""


class Stopwatch:
    """Measures from its creation on."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._busy_before = _busy_seconds()

    def events(self) -> Iterator[Computed]:
        """Yield an event for the nodes of the process if it has computed for long."""
        seconds = time.monotonic() - self._started
        if seconds >= _LONG_SECONDS and has_computed(seconds, _busy_seconds() - self._busy_before):
            yield Computed(seconds)


def _busy_seconds() -> float:
    # Finer than `busy_seconds` of the own process, which counts in hundredths of a second.
    return time.process_time() + runnable_seconds(os.getpid())
