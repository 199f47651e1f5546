"""The lease: at any time at most one process holds it.

It is an ephemeral entry of the holder's session.  The holder knows until when it holds it at least: from
before it asked, for as long as a session lives, less what its clock may be slower.  Whoever was away for
longer finds that time in the past, and finds its session ended if it writes all the same.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from fsql.runtime.coordination.port import EntryExistsError, SessionExpiredError

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.runtime.coordination.port import Coordination

CLOCKS_DIFFER: Final = 0.005
"""By what part of a second clocks may differ in a second: many times what clocks of computers do."""


class Lease:
    """One process's view of the lease.

    Args:
        coordination: where it is.
        key: the entry's.
        owner: what others read there: who holds it.
        ttl_seconds: how long it is held without being renewed.
        clock: seconds that never go back.  It need not be that of coordination, only about as fast.
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
        """Return the time until which the lease is certainly held; long ago if it is not."""
        return self._held_until

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
        """Renew the lease, or where it is not held try to get it; say whether it is held now.

        One that turns out to be lost is not got again by the same call: others may have had it meanwhile,
        and who led under it must hear of that.
        """
        return self.renew() if self._has_entry else self.acquire()

    def acquire(self) -> bool:
        """Try to get the lease, and say whether it is held now.

        Where no answer comes it may be tried again: a lease that was got without knowing is recognized.
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
        """Hold the lease for longer; say whether it is still held.

        It is lost for good if not, and `acquire` may get it anew, with another session.
        """
        if self._session is None or not self._has_entry:
            # Who has tried in vain has a session too.
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
        """Let the lease go, for others to have it at once."""
        session = self._session
        self._lose()
        if session is not None:
            self._coordination.close_session(session)

    def _lose(self) -> None:
        self._session = None
        self._has_entry = False
        self._held_until = -math.inf
