"""Finds the coordinator of a job in coordination, for a worker."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from fsql.runtime.coordination.port import CoordinationUnavailableError
from fsql.runtime.hosts.job_state import LEADER, translate_persistent_errors

if TYPE_CHECKING:
    from fsql.runtime.coordination.port import Coordination

SEARCHING_SECONDS: Final = 0.1
"""The interval of polling while there is no coordinator."""

WATCHING_SECONDS: Final = 1.0
"""The interval of polling for another coordinator."""


class LeaderFinder:
    """Polls, in a thread, for the address of the coordinator."""

    def __init__(self, coordination: Coordination) -> None:
        self._coordination = coordination
        self._closed = threading.Event()
        self._found: str | None = None
        self._taken: str | None = None
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="fsql-leader", daemon=True)
        self._thread.start()

    def take(self) -> str | None:
        """Return the address of the coordinator if it has changed since the last call, else None.

        Raises:
            FsqlError: E615 or E643, if coordination cannot be used.
        """
        if self._failure is not None:
            raise self._failure
        if self._found == self._taken:
            return None
        self._taken = self._found
        return self._taken

    def close(self) -> None:
        """End the thread."""
        self._closed.set()
        self._thread.join()
        self._coordination.close()

    def _run(self) -> None:
        while not self._closed.wait(SEARCHING_SECONDS if self._found is None else WATCHING_SECONDS):
            try:
                with translate_persistent_errors():
                    self._query()
            except BaseException as error:  # noqa: BLE001 - the worker raises it
                self._failure = error
                return

    def _query(self) -> None:
        try:
            entry = self._coordination.get(LEADER)
        except CoordinationUnavailableError:
            return
        if entry is not None:
            self._found = entry.value.decode(errors="replace")
