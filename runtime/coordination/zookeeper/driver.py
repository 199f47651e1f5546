"""Coordination by ZooKeeper.

Below the path of the address, `entries` has a node for each entry, and `sessions` has an ephemeral node for
each session.  A write is a transaction that also checks that the node of its session exists.  So a session
that has ended writes nothing, even if another client has closed it, and from any connection.

A session of the port is a session of ZooKeeper, on its own connection.  `keep_alive` is a write, which a
server that has lost its quorum cannot answer.  The session timeout is 3/2 of the `ttl_seconds`.  A server
reports the live sessions to its leader every half tick, and a session timeout is at least two ticks; so the
leader of the ensemble never ends a session within `ttl_seconds` of a `keep_alive`.

Reads go to one server, after a `sync` with the leader.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote

from kazoo.exceptions import (
    BadVersionError,
    KazooException,
    NodeExistsError,
    NoNodeError,
)

from fsql.runtime.coordination.port import (
    Changes,
    CoordinationRefusedError,
    CoordinationUnavailableError,
    DamagedCoordinationError,
    Entry,
    EntryChangedError,
    EntryExistsError,
    SessionExpiredError,
)
from fsql.runtime.coordination.zookeeper.changed_keys import ChangedKeys
from fsql.runtime.coordination.zookeeper.connection import ANSWER_SECONDS, Connection
from fsql.runtime.coordination.zookeeper.guard import check_guard

if TYPE_CHECKING:
    from fsql.runtime.coordination.zookeeper.address import Credentials, ZooKeeperAddress

VALUE_BYTES_MAX: Final = 512 * 1024
"""ZooKeeper refuses values of 1 MiB, and is designed for small ones."""

_SESSION_MS_PER_TTL: Final = 1500
"""Milliseconds of session timeout for each second of `ttl_seconds`; see above."""

_SESSION_BITS: Final = (1 << 64) - 1
_ATTEMPTS: Final = 16


class ZooKeeperCoordination:
    """A client of an ensemble; each thread has its own.

    It connects when it is first used.

    Args:
        address: the ensemble, and the path below which everything is kept.
        credentials: for digest authentication.  Only they have access to the nodes that are created.
        create: create the path if it does not exist.  Otherwise a missing path is damage.
        answer_seconds: how long a call waits for a connection, and then for an answer.
    """

    def __init__(
        self,
        address: ZooKeeperAddress,
        credentials: Credentials | None = None,
        *,
        create: bool,
        answer_seconds: float = ANSWER_SECONDS,
    ) -> None:
        self._address = address
        self._credentials = credentials
        self._create = create
        self._answer_seconds = answer_seconds
        self._entries = f"{address.path}/entries"
        self._sessions = f"{address.path}/sessions"
        self._connection = Connection(address, credentials, answer_seconds=answer_seconds)
        self._changed_keys = ChangedKeys(self._connection, self._entries, unquote)
        self._session_connections: dict[int, Connection] = {}
        self._prepared = False

    # --- Sessions ---

    def open_session(self, ttl_seconds: float) -> int:
        """Return a new session."""
        self._prepare()
        session_ms = math.ceil(ttl_seconds * _SESSION_MS_PER_TTL)
        connection = Connection(
            self._address,
            self._credentials,
            session_ms=session_ms,
            on_request=True,
            answer_seconds=self._answer_seconds,
        )
        try:
            connection.await_connection()
            session = connection.session_id
            connection.call("create", self._session_path(session), b"", ephemeral=True)
            _check_timeout(connection.granted_ms, session_ms)
        except (KazooException, SessionExpiredError) as error:
            connection.close()
            raise CoordinationUnavailableError(f"no session could be opened: {error}") from None
        except BaseException:
            connection.close()
            raise
        self._session_connections[session] = connection
        return session

    def keep_alive(self, session: int) -> None:
        """Keep the session alive for its `ttl_seconds` from now on; see `Coordination`."""
        self._run_in_session(session, self._connection_of(session))

    def close_session(self, session: int) -> None:
        """End the session, if it has not ended; any process may have opened it."""
        self._prepare()
        for _ in range(_ATTEMPTS):
            if self._end(session):
                break
        else:
            raise CoordinationUnavailableError(f"the entries of session {session} always change")
        self._drop_connection(session)

    def _end(self, session: int) -> bool:
        """Delete the node of a session and its entries; return False if one has changed meanwhile."""
        operations: list[tuple[Any, ...]] = [("delete", self._session_path(session))]
        for name in self._connection.call("get_children", self._entries):
            path = f"{self._entries}/{name}"
            status = self._connection.call("exists", path)
            if status is not None and status.ephemeralOwner == session:
                operations.append(("delete", path, status.version))
        first, *others = self._connection.transact(*operations)
        return isinstance(first, NoNodeError) or not any(
            isinstance(each, KazooException) for each in (first, *others)
        )

    def _drop_connection(self, session: int) -> None:
        connection = self._session_connections.pop(session, None)
        if connection is not None:
            connection.close()

    def _connection_of(self, session: int) -> Connection:
        if session not in self._session_connections:
            raise SessionExpiredError(f"session {session} has ended, or is another client's")
        return self._session_connections[session]

    # --- Entries ---

    def get(self, key: str) -> Entry | None:
        """Return the entry under a key, None if there is none."""
        self._prepare()
        self._connection.call("sync", self._entries)
        try:
            value, status = self._connection.call("get", self._path(key))
        except NoNodeError:
            return None
        return Entry(key, value, status.version, status.ephemeralOwner or None)

    def create(self, session: int, key: str, value: bytes, *, ephemeral: bool = False) -> Entry:
        """Create an entry; see `Coordination`."""
        _check_size(key, value)
        self._prepare()
        connection = self._connection_of(session) if ephemeral else self._connection
        arguments = (self._path(key), value, None, ephemeral)
        made = self._run_in_session(session, connection, ("create", *arguments))
        if isinstance(made, NodeExistsError):
            raise EntryExistsError(f'there is an entry "{key}"')
        self._check_made(made)
        return Entry(key, value, 0, session if ephemeral else None)

    def replace(self, session: int, key: str, value: bytes, version: int) -> Entry:
        """Replace the value of the entry of that version; see `Coordination`."""
        _check_size(key, value)
        self._prepare()
        status = self._run_in_session(
            session, self._connection, ("set_data", self._path(key), value, version)
        )
        self._check_version(status, key, version)
        return Entry(key, value, status.version, status.ephemeralOwner or None)

    def delete(self, session: int, key: str, version: int) -> None:
        """Delete the entry of that version; see `Coordination`."""
        self._prepare()
        deleted = self._run_in_session(
            session, self._connection, ("delete", self._path(key), version)
        )
        self._check_version(deleted, key, version)

    def changes_since(self, mark: int) -> Changes:
        """Return what has changed since `mark`; see `ChangedKeys`."""
        self._prepare()
        return self._changed_keys.since(mark)

    def close(self) -> None:
        """End the connections, and the sessions that were opened by this client."""
        for session in list(self._session_connections):
            self._drop_connection(session)
        self._connection.close()

    def remove(self) -> None:
        """Delete the path with everything below it."""
        self._connection.call("sync", self._address.path)
        for parent in (self._entries, self._sessions):
            self._remove_children(parent)
            self._remove_node(parent)
        self._remove_node(self._address.path)

    # --- Nodes ---

    def _run_in_session(
        self, session: int, connection: Connection, *operation: tuple[Any, ...]
    ) -> Any:  # noqa: ANN401 - what the operation returns
        """Carry out an operation in a live session, and return its result.

        Raises:
            SessionExpiredError: if the session has ended.
        """
        check = ("check", self._session_path(session), -1)
        results = connection.transact(check, *operation)
        if isinstance(results[0], NoNodeError):
            self._drop_connection(session)
            raise SessionExpiredError(f"session {session} has ended")
        return results[-1]

    def _prepare(self) -> None:
        """Create the path, or check that it exists; check that no other user can change it."""
        if self._prepared:
            return
        connection = self._connection
        connection.await_connection()
        if self._create:
            names = self._address.path.removeprefix("/").split("/")
            for depth in range(len(names)):
                self._make("/" + "/".join(names[: depth + 1]))
            # The entries last: whoever finds them finds everything.
            self._make(self._sessions)
            self._make(self._entries)
        elif connection.call("exists", self._entries) is None:
            raise self._missing_error()
        if self._credentials is not None:
            try:
                check_guard(connection, self._address, (self._entries, self._sessions))
            except NoNodeError:  # it has just been removed
                raise self._missing_error() from None
        self._prepared = True

    def _missing_error(self) -> DamagedCoordinationError:
        return DamagedCoordinationError(
            f"{self._address} does not exist, although a job began there"
        )

    def _make(self, path: str) -> None:
        if self._connection.call("exists", path) is None:
            with suppress(NodeExistsError):
                self._connection.call("create", path, b"")

    def _remove_children(self, parent: str) -> None:
        try:
            names = self._connection.call("get_children", parent)
        except NoNodeError:
            return
        for name in names:
            self._remove_node(f"{parent}/{name}")

    def _remove_node(self, path: str) -> None:
        with suppress(NoNodeError):
            self._connection.call("delete", path)

    def _path(self, key: str) -> str:
        # A part of a path may not be "." or "..".
        name = quote(key, safe="", errors="surrogatepass").replace(".", "%2E")
        return f"{self._entries}/{name}"

    def _session_path(self, session: int) -> str:
        return f"{self._sessions}/{session & _SESSION_BITS:016x}"

    def _check_version(self, result: object, key: str, version: int) -> None:
        if isinstance(result, (BadVersionError, NoNodeError)):
            found = "there is none" if isinstance(result, NoNodeError) else "it is another"
            raise EntryChangedError(f'entry "{key}" is not of version {version}: {found}')
        self._check_made(result)

    def _check_made(self, result: object) -> None:
        if isinstance(result, NoNodeError):
            raise DamagedCoordinationError(f"{self._entries} has been deleted")
        if isinstance(result, KazooException):
            raise CoordinationUnavailableError(f"a write has failed: {type(result).__name__}")


def _check_timeout(granted_ms: int, needed_ms: int) -> None:
    if granted_ms < needed_ms:
        raise CoordinationRefusedError(
            f"the ZooKeeper servers grant session timeouts of {granted_ms} ms at most,"
            f" and {needed_ms} ms are needed (maxSessionTimeout)",
            "let the servers grant longer sessions",
        )


def _check_size(key: str, value: bytes) -> None:
    if len(value) > VALUE_BYTES_MAX:
        raise CoordinationRefusedError(
            f'the value of "{key}" has {len(value)} bytes, and {VALUE_BYTES_MAX} are allowed'
        )
