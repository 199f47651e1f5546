"""Measures how long the rounds of a process take: one round waits for input and processes it.

A long round is a sign of a long step only if the process has used a processor, or has waited for one: a
process that was stopped has not.  All of a round counts, because a step may be long anywhere in it: large
frames are decoded when they are received, state is stored beside it under the lock of the interpreter, and
heartbeats and timers come last.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from fsql.runtime.cluster.members.failure_detector import has_computed
from fsql.runtime.cluster.node import Computed

if TYPE_CHECKING:
    from collections.abc import Iterator

_LONG_SECONDS: Final = 1.0
"""Shorter times are never taken for a failure."""


class Stopwatch:
    """Measures from its creation on, in the process that creates it."""

    def __init__(self) -> None:
        self._waits: int | None = None
        with suppress(OSError):
            self._waits = os.open("/proc/self/schedstat", os.O_RDONLY | os.O_CLOEXEC)
        self._started = time.monotonic()
        self._busy_before = self._busy_seconds()

    def lap(self) -> Iterator[Computed]:
        """Begin the next round; yield an event for the nodes of the process if it has computed for long.

        Call it when input is received and not processed yet, so that a worker that has been given up during
        a long round says so in its next Hello.
        """
        now, busy = time.monotonic(), self._busy_seconds()
        seconds, busy_seconds = now - self._started, busy - self._busy_before
        self._started, self._busy_before = now, busy
        if seconds >= _LONG_SECONDS and has_computed(seconds, busy_seconds):
            yield Computed(seconds)

    def close(self) -> None:
        """Release what measuring needs."""
        if self._waits is not None:
            os.close(self._waits)
            self._waits = None

    def _busy_seconds(self) -> float:
        """Return for how long the process has used a processor, or its main thread has waited for one."""
        if self._waits is None:
            return time.process_time()
        return time.process_time() + int(os.pread(self._waits, 64, 0).split()[1]) / 1e9
