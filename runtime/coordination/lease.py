"""The lease: at any time at most one process holds it.

The lease is an ephemeral entry of the holder's session.  The holder knows a time until which it certainly
holds the lease: the time of its request, plus the lifetime of a session, less the possible drift of the
clocks.  A process that was stopped for longer finds that this time is past; if it still writes, it
finds that its session has ended.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from fsql.runtime.coordination.port import EntryExistsError, SessionExpiredError

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.runtime.coordination.port import Coordination

CLOCKS_DIFFER: Final = 0.005
"""How many seconds clocks may drift apart in a second: many times the drift of real clocks."""


class Lease:
    """One process's view of the lease.

    Args:
        coordination: the coordination that has the lease.
        key: the key of the entry.
        owner: the value of the entry: the holder of the lease.
        ttl_seconds: how long the lease is held without being renewed.
        clock: returns monotonic seconds.  It may differ from the clock of coordination, but must run at about
        the same rate.
    """

    def __init__(
        self,
        coordination: Coordination,
        key: str,
        owner: bytes,
        ttl_seconds: float,
        clock: Callable[[], float],
    ) -> None:
        self._coordination = coordination
        self._key = key
        self._owner = owner
        self._ttl_seconds = ttl_seconds
        self._sure_seconds = ttl_seconds * (1 - CLOCKS_DIFFER)
        self._clock = clock
        self._session: int | None = None
        self._has_entry = False
        self._held_until = -math.inf

    @property
    def held_until(self) -> float:
        """Return the time until which the lease is certainly held; a time long past if it is not."""
        return self._held_until

    @property
    def is_acquired(self) -> bool:
        """Return whether the lease was acquired and is not known to be lost; it may have run out."""
        return self._has_entry

    @property
    def session(self) -> int:
        """Return the session to write under.

        Raises:
            SessionExpiredError: if the lease is not held.
        """
        if self._session is None:
            raise SessionExpiredError("the lease is not held")
        return self._session

    def hold(self) -> bool:
        """Renew the lease, or try to acquire it if it is not held; return whether it is held now.

        A call that finds the lease lost does not acquire it again: others may have held it meanwhile, and the
        coordinator must learn of that.
        """
        return self.renew() if self._has_entry else self.acquire()

    def acquire(self) -> bool:
        """Try to acquire the lease; return whether it is held now.

        If no answer comes, the call can be repeated: a lease that was acquired unnoticed is recognized.
        """
        start = self._clock()
        try:
            if self._session is None:
                self._session = self._coordination.open_session(self._ttl_seconds)
            else:
                self._coordination.keep_alive(self._session)
            held = self._has_entry = self._create(self._session)
        except SessionExpiredError:
            self._lose()
            return False
        if held:
            self._held_until = start + self._sure_seconds
        return held

    def _create(self, session: int) -> bool:
        try:
            self._coordination.create(session, self._key, self._owner, ephemeral=True)
        except EntryExistsError:
            entry = self._coordination.get(self._key)
            return entry is not None and entry.session == session
        return True

    def renew(self) -> bool:
        """Extend the lease; return whether it is still held.

        If not, it is lost permanently; `acquire` can acquire it again, with another session.
        """
        if self._session is None or not self._has_entry:
            # A process that has tried without success to acquire the lease has a session, too.
            return False
        start = self._clock()
        try:
            self._coordination.keep_alive(self._session)
        except SessionExpiredError:
            self._lose()
            return False
        self._held_until = start + self._sure_seconds
        return True

    def release(self) -> None:
        """Release the lease, so that others can acquire it immediately."""
        session = self._session
        self._lose()
        if session is not None:
            self._coordination.close_session(session)

    def _lose(self) -> None:
        self._session = None
        self._has_entry = False
        self._held_until = -math.inf
