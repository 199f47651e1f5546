"""Measures for how long a process computes between two waits for input.

A long time is a sign of a long step only if the process has used the processor: a process that was stopped
has not.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from fsql.runtime.cluster.failure_detector import has_computed
from fsql.runtime.cluster.node import Computed

if TYPE_CHECKING:
    from collections.abc import Iterator

_LONG_SECONDS: Final = 1.0
"""Shorter times are never taken for a failure."""


class Stopwatch:
    """Measures from its creation on."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._processor_started = time.process_time()

    def events(self) -> Iterator[Computed]:
        """Yield an event for the nodes of the process if it has computed for long."""
        seconds = time.monotonic() - self._started
        processor_seconds = time.process_time() - self._processor_started
        if seconds >= _LONG_SECONDS and has_computed(seconds, processor_seconds):
            yield Computed(seconds)
