"""Keeps the lease of a coordinator whose loop is in a long step.

Nobody else needs the lease of a process that computes: without this, a release of more rows than can be
written in the time of a lease would be lost and begun again, for ever.  A process that is stopped keeps
nothing, as its threads are stopped too.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class LeaseKeeper:
    """A thread that calls `keep` at least every `seconds`, until it is closed."""

    def __init__(self, keep: Callable[[], None], seconds: float) -> None:
        self._keep = keep
        self._seconds = seconds
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="fsql-lease", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._closed.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closed.wait(self._seconds):
            try:
                self._keep()
            except BaseException:  # noqa: BLE001 - that of earlier work, which the loop raises, too
                return
