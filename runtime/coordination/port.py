"""The port to coordination: small entries under keys, changed by compare-and-set, and sessions that end.

* A **session** lives while somebody says so at least every `ttl_seconds`.  Once it has ended it never lives
  again, and nobody writes under it: that is what fences a process that was away for too long.  Every client
  can write under a session or close it; the one that has opened it keeps it alive and makes its ephemeral
  entries.
* An **entry** has a version, which differs with each write as long as the entry is there.  An ephemeral
  entry goes with the session that made it.
* Writes are atomic, durable, and in one order for everybody.  A read may be older than the newest write;
  compare-and-set finds out.

Nobody is called back: whoever wants to know asks `changed_since`.  `tests/unit/coordination/conformance.py`
is what a driver must pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Entry:
    """A value under a key; `session` is None where it outlives the session that made it."""

    key: str
    value: bytes
    version: int
    session: int | None


@dataclass(frozen=True, slots=True)
class Changes:
    """Keys that were written or deleted since a mark, ascending, and the mark to ask with next time."""

    mark: int
    keys: tuple[str, ...]


class CoordinationError(Exception):
    """Coordination did not do what it was asked for."""


class SessionExpiredError(CoordinationError):
    """The session has ended; nothing was written."""


class EntryExistsError(CoordinationError):
    """There is an entry under the key already; nothing was written."""


class EntryChangedError(CoordinationError):
    """The entry has another version or is gone; nothing was written."""


class CoordinationUnavailableError(CoordinationError):
    """No answer came: a write may have happened or not."""


class CoordinationRefusedError(CoordinationError):
    """This client may not do that; trying again does not help."""


class CoordinationDiskError(CoordinationUnavailableError):
    """The disk of coordination fails or is full."""


class DamagedCoordinationError(CoordinationError):
    """What is stored is not what was written; trying again does not help."""


class Coordination(Protocol):
    """Every call may raise `CoordinationUnavailableError`; used from one thread at a time."""

    def open_session(self, ttl_seconds: float) -> int:
        """Return a new session."""

    def keep_alive(self, session: int) -> None:
        """Let the session live for its `ttl_seconds` from now on.

        Raises:
            SessionExpiredError: if it has ended.
        """

    def close_session(self, session: int) -> None:
        """End the session, if it has not ended, and its ephemeral entries with it."""

    def get(self, key: str) -> Entry | None:
        """Return the entry under a key, None if there is none."""

    def create(self, session: int, key: str, value: bytes, *, ephemeral: bool = False) -> Entry:
        """Make an entry.

        Raises:
            SessionExpiredError: if the session has ended.
            EntryExistsError: if there is one.
        """

    def replace(self, session: int, key: str, value: bytes, version: int) -> Entry:
        """Give the entry of that version another value; it stays ephemeral if it was.

        Raises:
            SessionExpiredError: if the session has ended.
            EntryChangedError: if there is none of that version.
        """

    def delete(self, session: int, key: str, version: int) -> None:
        """Delete the entry of that version.

        Raises:
            SessionExpiredError: if the session has ended.
            EntryChangedError: if there is none of that version.
        """

    def changed_since(self, mark: int) -> Changes:
        """Return what has changed since `mark`, which is 0 or of an earlier answer."""

    def close(self) -> None:
        """Release what this client holds.

        The sessions that it has opened end now, or when their time is over.
        """
