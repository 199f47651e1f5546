"""The port to coordination: small entries under keys, changed by compare-and-set, and sessions that end.

* A **session** lives while it is kept alive at least every `ttl_seconds`.  A session that has ended never
  lives again, and no client can write under it.  This fences a process that was stopped for too long.  Every
  client can write under a session or close it; the client that has opened it keeps it alive and creates its
  ephemeral entries.
* An **entry** has a version, which changes with each write while the entry exists.  An ephemeral entry is
  removed with the session that created it.
* Writes are atomic, durable, and in the same order for all clients.  A read may return an older state than
  the newest write; compare-and-set detects that.

There are no callbacks: changes are polled with `changes_since`.  Each driver must pass
`tests/unit/coordination/conformance.py`.
"""

from __future__ import annotations

from typing import Protocol

from fsql.compiler.records import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """A value under a key; `session` is None if the entry outlives the session that created it."""

    key: str
    value: bytes
    version: int
    session: int | None


@dataclass(frozen=True, slots=True)
class Changes:
    """Keys that were written or deleted since a mark, ascending, and the mark for the next call."""

    mark: int
    keys: tuple[str, ...]


class CoordinationError(Exception):
    """An operation failed."""


class SessionExpiredError(CoordinationError):
    """The session has ended; nothing was written."""


class EntryExistsError(CoordinationError):
    """The key exists already; nothing was written."""


class EntryChangedError(CoordinationError):
    """The entry has another version or does not exist; nothing was written."""


class CoordinationUnavailableError(CoordinationError):
    """No answer came; a write may or may not have happened."""


class CoordinationRefusedError(CoordinationError):
    """This client may not do that; trying again does not help."""

    def __init__(self, message: str, help: str | None = None) -> None:
        """Take what to do about it; without, credentials are missing."""
        super().__init__(message)
        self.help = help


class CoordinationDiskError(CoordinationUnavailableError):
    """The disk of coordination fails or is full."""


class DamagedCoordinationError(CoordinationError):
    """The stored data is damaged; trying again does not help."""


class Coordination(Protocol):
    """Every call may raise `CoordinationUnavailableError`; used from one thread at a time."""

    def open_session(self, ttl_seconds: float) -> int:
        """Return a new session."""

    def keep_alive(self, session: int) -> None:
        """Keep the session alive for its `ttl_seconds` from now on.

        Raises:
            SessionExpiredError: if it has ended.
        """

    def close_session(self, session: int) -> None:
        """End the session, if it has not ended, and its ephemeral entries with it."""

    def get(self, key: str) -> Entry | None:
        """Return the entry under a key, None if there is none."""

    def create(self, session: int, key: str, value: bytes, *, ephemeral: bool = False) -> Entry:
        """Create an entry.

        Raises:
            SessionExpiredError: if the session has ended.
            EntryExistsError: if there is one.
        """

    def replace(self, session: int, key: str, value: bytes, version: int) -> Entry:
        """Replace the value of the entry of that version; it stays ephemeral if it was.

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

    def changes_since(self, mark: int) -> Changes:
        """Return what has changed since `mark`, which is 0 or comes from an earlier answer."""

    def close(self) -> None:
        """Release what this client holds.

        The sessions that it has opened end now, or when they expire.
        """
