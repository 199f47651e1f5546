"""One thread that does one thing after the other, behind the back of the loop that steps a node."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Background:
    """Does what is submitted, in order; `wake` is called after each, so that the loop looks at answers."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="fsql-background", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[], None]) -> None:
        """Have something done.  What it raised before is raised here: a bug must not be silent."""
        if self._failure is not None:
            raise self._failure
        self._work.put(work)

    def check(self) -> None:
        """Raise what the work has raised, if it has."""
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """Finish what was submitted, and end."""
        self._work.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            try:
                work()
            except BaseException as error:  # noqa: BLE001 - the loop raises it
                self._failure = error
            self._wake()
