"""Coordination in memory, for tests and simulation, with faults that can be set.

All nodes share an `Ensemble`; each node has its own `MemoryCoordination`, with its own `Faults`.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final

from fsql.compiler.records import dataclass
from fsql.runtime.coordination.port import (
    Changes,
    CoordinationUnavailableError,
    Entry,
    EntryChangedError,
    EntryExistsError,
    SessionExpiredError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_STATES_KEPT: Final = 64
"""By how many writes a read can be stale."""


@dataclass(slots=True)
class Faults:
    """The faults of one node; the defaults are no faults."""

    unavailable: bool = False
    """No call reaches the ensemble."""
    read_only: bool = False
    """Nothing can be written, and no session kept alive: most servers do not answer."""
    replies_lost: int = 0
    """The number of further writes that are carried out, but whose answers are lost."""
    stale_writes: int = 0
    """Reads do not return this many of the newest writes."""


@dataclass(slots=True)
class _Session:
    ttl: float
    ends: float


@dataclass(slots=True)
class _State:
    """The entries after a write, and the version at which each key last changed."""

    entries: Mapping[str, Entry]
    changed: Mapping[str, int]


@dataclass(slots=True)
class Ensemble:
    """The entries and sessions that all nodes share; `clock` is in seconds."""

    clock: Callable[[], float]
    sessions: dict[int, _Session] = field(default_factory=dict)
    states: list[_State] = field(default_factory=lambda: [_State({}, {})])
    stopped: bool = False
    """While it is stopped, no session expires."""
    _sessions_made: int = 0
    _version: int = 0

    def expire(self, session: int) -> None:
        """End a session, as if it had expired."""
        self.sessions.pop(session, None)
        held = [entry.key for entry in self.states[-1].entries.values() if entry.session == session]
        for key in sorted(held):
            self.write(key, None, None)

    def expire_by_time(self) -> None:
        """End the sessions that have expired."""
        if self.stopped:
            return
        now = self.clock()
        for session in [number for number, each in self.sessions.items() if each.ends <= now]:
            self.expire(session)

    def restart(self) -> None:
        """Start again after a stop, as servers do: the timeout of every session restarts."""
        if self.stopped:
            self.stopped = False
            for session in self.sessions.values():
                session.ends = self.clock() + session.ttl

    def open_session(self, ttl_seconds: float) -> int:
        """Return a new session."""
        self._sessions_made += 1
        self.sessions[self._sessions_made] = _Session(ttl_seconds, self.clock() + ttl_seconds)
        return self._sessions_made

    def write(self, key: str, value: bytes | None, session: int | None) -> Entry:
        """Write an entry, or with None delete it."""
        self._version += 1
        before = self.states[-1]
        entry = Entry(key, value or b"", self._version, session)
        entries = {name: each for name, each in before.entries.items() if name != key}
        if value is not None:
            entries[key] = entry
        self.states.append(_State(entries, {**before.changed, key: self._version}))
        del self.states[:-_STATES_KEPT]
        return entry


class MemoryCoordination:
    """One node's client; `faults` may be set at any time."""

    def __init__(self, ensemble: Ensemble) -> None:
        self._ensemble = ensemble
        self.faults = Faults()

    def open_session(self, ttl_seconds: float) -> int:
        """Return a new session."""
        self._reach_for_write()
        session = self._ensemble.open_session(ttl_seconds)
        self._reply()
        return session

    def keep_alive(self, session: int) -> None:
        """Keep the session alive for its `ttl_seconds` from now on."""
        self._reach_for_write(session)
        living = self._ensemble.sessions[session]
        living.ends = self._ensemble.clock() + living.ttl
        self._reply()

    def close_session(self, session: int) -> None:
        """End the session, if it has not ended."""
        self._reach_for_write()
        self._ensemble.expire(session)
        self._reply()

    def get(self, key: str) -> Entry | None:
        """Return the entry under a key, None if there is none."""
        self._reach()
        return self._read_state().entries.get(key)

    def create(self, session: int, key: str, value: bytes, *, ephemeral: bool = False) -> Entry:
        """Create an entry."""
        self._reach_for_write(session)
        if key in self._ensemble.states[-1].entries:
            raise EntryExistsError(f'there is an entry "{key}"')
        entry = self._ensemble.write(key, value, session if ephemeral else None)
        self._reply()
        return entry

    def replace(self, session: int, key: str, value: bytes, version: int) -> Entry:
        """Replace the value of the entry of that version."""
        self._reach_for_write(session)
        before = self._entry_of_version(key, version)
        entry = self._ensemble.write(key, value, before.session)
        self._reply()
        return entry

    def delete(self, session: int, key: str, version: int) -> None:
        """Delete the entry of that version."""
        self._reach_for_write(session)
        self._entry_of_version(key, version)
        self._ensemble.write(key, None, None)
        self._reply()

    def changes_since(self, mark: int) -> Changes:
        """Return what has changed since `mark`."""
        self._reach()
        newer = {key: when for key, when in self._read_state().changed.items() if when > mark}
        return Changes(max([mark, *newer.values()]), tuple(sorted(newer)))

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def _reach(self, session: int | None = None) -> None:
        """Reach the ensemble, under a live session, if one is given."""
        if self.faults.unavailable:
            raise CoordinationUnavailableError("coordination does not answer")
        self._ensemble.expire_by_time()
        if session is not None and session not in self._ensemble.sessions:
            raise SessionExpiredError(f"session {session} has ended")

    def _reach_for_write(self, session: int | None = None) -> None:
        """Reach the ensemble, unless it is read-only; see `_reach`."""
        if self.faults.read_only:
            raise CoordinationUnavailableError("coordination cannot write")
        self._reach(session)

    def _reply(self) -> None:
        if self.faults.replies_lost:
            self.faults.replies_lost -= 1
            raise CoordinationUnavailableError("no answer came")

    def _read_state(self) -> _State:
        states = self._ensemble.states
        return states[max(0, len(states) - 1 - self.faults.stale_writes)]

    def _entry_of_version(self, key: str, version: int) -> Entry:
        entry = self._ensemble.states[-1].entries.get(key)
        if entry is None or entry.version != version:
            found = "there is none" if entry is None else f"it is {entry.version}"
            raise EntryChangedError(f'entry "{key}" is not of version {version}: {found}')
        return entry
