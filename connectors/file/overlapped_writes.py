"""Large pieces are written by a second thread, while the next one is encoded."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

OVERLAPPED_BYTES_MIN: Final = 1 << 18
"""Writing fewer bytes takes little longer than passing them to another thread."""


class OverlappedWrites:
    """The writes of one file, of which at most one is under way."""

    def __init__(self) -> None:
        self._executor: ThreadPoolExecutor | None = None
        self._pending: Future[None] | None = None

    def write(self, write: Callable[[], None], size: int) -> None:
        """Call `write` after the last one has returned; if it writes many bytes, do not wait for it.

        Raises:
            OSError: if the last or this write fails.
        """
        self.wait()
        if size < OVERLAPPED_BYTES_MIN:
            write()
            return
        if self._executor is None:
            self._executor = ThreadPoolExecutor(1, thread_name_prefix="fsql-writer")
        self._pending = self._executor.submit(write)

    def wait(self) -> None:
        """Wait until everything is written.

        Raises:
            OSError: if the last write fails.
        """
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.result()

    def close(self) -> None:
        """End the thread."""
        if self._executor is not None:
            self._executor.shutdown()
            self._executor = None
