"""One thread that does work in the background, one item after the other."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.runtime.hosts.ports import Work


class BackgroundThread:
    """A `Background` on a thread; it calls `wake` for each event, so that the loop of the node handles it."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._work: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._events: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="fsql-background", daemon=True)
        self._thread.start()

    def submit(self, work: Work) -> None:
        """Submit work; raise the exception of earlier work, if there was one, so that no bug stays hidden."""
        if self._failure is not None:
            raise self._failure
        self._work.put(work)

    def hand_over(self, step: Callable[[Any], None]) -> None:
        """Step a node with all pending events; raise the exception of the work, if there was one."""
        while not self._events.empty():
            step(self._events.get())
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """Finish all submitted work, and end."""
        self._work.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            try:
                for event in work:
                    if event is not None:
                        self._events.put(event)
                        self._wake()
            except BaseException as error:  # noqa: BLE001 - the loop raises it
                self._failure = error
                self._wake()
