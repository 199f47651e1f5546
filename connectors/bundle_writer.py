"""Writes bundles of rows to a system that commits them in transactions, in a thread of its own.

The thread takes all bundles that wait, so a transaction has many of them under load.  A connector says in a
subclass how it stores them.
"""

from __future__ import annotations

import os
import select
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

from fsql.compiler.diagnostics import FsqlError
from fsql.runtime.sink import SinkLostError

if TYPE_CHECKING:
    from fsql.runtime.batch import Root

_CLOSE_SECONDS: Final = 10.0
_WAITS_AFTER_SECONDS: Final = 1.0


class Pending(Protocol):
    """A bundle that waits."""

    @property
    def ends(self) -> Root:
        """Return the position below which all rows are stored when it is."""

    @property
    def row_count(self) -> int:
        """Return the number of rows that are to be written."""


PendingT = TypeVar("PendingT", bound=Pending)


class BundleWriter(ABC, Generic[PendingT]):
    """Stores the bundles that it is handed, and returns their ends as acknowledgements."""

    def __init__(self, name: str, rows_max: int) -> None:
        """Take the name of the thread; a transaction begins no further bundle when it has `rows_max` rows."""
        self._rows_max = rows_max
        self._changed = threading.Condition()
        """Guards what follows; notified when there is something to write, or the writer is closed."""
        self._pending: deque[PendingT] = deque()
        self._acknowledged: list[Root] = []
        self._closing = False
        self._failure: SinkLostError | FsqlError | None = None
        self._busy_since: float | None = None
        self.descriptor, self._waker = os.pipe()
        """The descriptor that is readable when an acknowledgement has come."""
        os.set_blocking(self.descriptor, False)
        os.set_blocking(self._waker, False)
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    @abstractmethod
    def store(self, bundles: list[PendingT]) -> None:
        """Store bundles, and their last position, in the thread.

        Raises:
            Exception: one that `failure_of` knows.
        """

    def failure_of(self, error: Exception) -> SinkLostError | FsqlError:
        """Return the error of a sink whose bundles could not be stored."""
        return SinkLostError(f"{type(error).__name__}: {error}")

    @property
    def waits(self) -> bool:
        """Return whether a transaction takes so long that the other side may be missing."""
        since = self._busy_since
        return since is not None and time.monotonic() - since > _WAITS_AFTER_SECONDS

    @property
    def failure(self) -> SinkLostError | FsqlError | None:
        """Return why it has ended, None if it has not failed."""
        return self._failure

    @property
    def is_complete(self) -> bool:
        """Return whether everything that was handed over is written."""
        return self._failure is None and not self._pending

    def check(self) -> None:
        """Check that the writer has not failed.

        Raises:
            FsqlError: E535, if it has failed permanently.
            SinkLostError: if another epoch may succeed.
        """
        with self._changed:
            if self._failure is not None:
                raise self._failure

    def put(self, bundle: PendingT) -> None:
        """Hand over a bundle."""
        with self._changed:
            self._pending.append(bundle)
            self._changed.notify()

    def take_acknowledged(self) -> list[Root]:
        """Return the ends of the bundles that were written since the last call.

        Raises:
            FsqlError: E535, if it has failed permanently.
            SinkLostError: if another epoch may succeed.
        """
        with suppress(BlockingIOError):
            os.read(self.descriptor, 1 << 12)
        with self._changed:
            acknowledged, self._acknowledged = self._acknowledged, []
        if not acknowledged:
            self.check()
        return acknowledged

    def wait(self, seconds: float) -> None:
        """Wait up to `seconds` for an acknowledgement."""
        waiting = select.poll()
        waiting.register(self.descriptor, select.POLLIN)
        waiting.poll(seconds * 1000)

    def close(self) -> bool:
        """Write what waits, and end the thread; return whether it has ended.

        If the other side does not answer, it ends later, and keeps what it uses.
        """
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(_CLOSE_SECONDS)
        if self._thread.is_alive():
            return False
        os.close(self.descriptor)
        os.close(self._waker)
        return True

    def _run(self) -> None:
        try:
            while pending := self._take():
                self._busy_since = time.monotonic()
                self.store(pending)
                self._busy_since = None
                with self._changed:
                    self._acknowledged += [each.ends for each in pending]
                self._wake()
        except (FsqlError, SinkLostError) as error:
            self._fail(error)
        except Exception as error:  # noqa: BLE001 - rows would wait without an error
            self._fail(self.failure_of(error))

    def _take(self) -> list[PendingT]:
        """Return what waits, as soon as there is something; nothing once the writer is closed."""
        with self._changed:
            while not self._pending and not self._closing:
                self._changed.wait()
            taken: list[PendingT] = []
            count = 0
            while self._pending and count < self._rows_max:
                taken.append(self._pending.popleft())
                count += taken[-1].row_count
            return taken

    def _fail(self, error: SinkLostError | FsqlError) -> None:
        with self._changed:
            self._failure = error
        self._busy_since = None
        self._wake()

    def _wake(self) -> None:
        with suppress(BlockingIOError):
            os.write(self._waker, b".")
