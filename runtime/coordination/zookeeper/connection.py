"""One connection to an ensemble: calls return an answer in time, or raise an error of the port."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from kazoo.client import KazooClient
from kazoo.exceptions import (
    AuthFailedError,
    BadVersionError,
    InvalidACLError,
    KazooException,
    NoAuthError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
)
from kazoo.exceptions import SessionExpiredError as KazooSessionExpiredError
from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.protocol.connection import ConnectionHandler
from kazoo.protocol.states import Callback, KazooState
from kazoo.retry import KazooRetry
from kazoo.security import CREATOR_ALL_ACL, OPEN_ACL_UNSAFE

from fsql.runtime.coordination.port import (
    CoordinationRefusedError,
    CoordinationUnavailableError,
    SessionExpiredError,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.runtime.coordination.zookeeper.address import Credentials, ZooKeeperAddress

ANSWER_SECONDS: Final = 2.0
"""How long a call waits for a connection, and then for an answer."""

READING_MS: Final = 10_000
"""The session timeout of a connection whose session owns no entries."""

_RECONNECT_SECONDS: Final = 0.05
_RECONNECT_SECONDS_MAX: Final = 0.5
_CONNECT_SECONDS: Final = 1.0
"""How long to wait for one server before another one is tried."""

_REFUSALS: Final = (NoAuthError, AuthFailedError, InvalidACLError)
_OUTCOMES: Final = (NoNodeError, NodeExistsError, BadVersionError, NotEmptyError)
"""Answers that the caller handles."""

_OTHER_CREDENTIALS: Final = (
    "the path belongs to other credentials than those given: use these, or name another path"
)

_LOGGER: Final = logging.getLogger("fsql.zookeeper")
_LOGGER.setLevel(logging.CRITICAL + 1)
"""Kazoo logs each reconnection, and requests with their credentials; errors are raised here instead."""


class Connection:
    """A connection that reconnects by itself, to any server of the ensemble.

    Args:
        address: the ensemble.
        credentials: for digest authentication; None for none.
        session_ms: the session timeout to ask for.
        on_request: whether only calls keep the session alive; otherwise it lives as long as the process.
        answer_seconds: how long a call may take.
    """

    def __init__(
        self,
        address: ZooKeeperAddress,
        credentials: Credentials | None,
        *,
        session_ms: int = READING_MS,
        on_request: bool = False,
        answer_seconds: float = ANSWER_SECONDS,
    ) -> None:
        self._address = address
        self._answer_seconds = answer_seconds
        handler = _Threads()
        self._client = KazooClient(
            hosts=",".join(address.servers),
            timeout=(session_ms + 0.5) / 1000,  # kazoo rounds down
            handler=handler,
            default_acl=OPEN_ACL_UNSAFE if credentials is None else CREATOR_ALL_ACL,
            auth_data=None
            if credentials is None
            else [("digest", f"{credentials.user}:{credentials.password}")],
            connection_retry=KazooRetry(
                max_tries=-1,
                delay=_RECONNECT_SECONDS,
                max_delay=_RECONNECT_SECONDS_MAX,
                sleep_func=handler.sleep_func,
            ),
            logger=_LOGGER,
        )
        self._network = _Network(self._client, on_request=on_request)
        self._client._connection = self._network  # noqa: SLF001 - kazoo has no way to choose it
        self._help = None if credentials is None else _OTHER_CREDENTIALS
        self._expired = False
        if on_request:
            self._client.add_listener(self._note_expiry)
        self._live = self._client.start_async()

    def call(self, method: str, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - untyped
        """Call an asynchronous method of the client, and return the answer.

        Raises:
            KazooException: `NoNodeError`, `NodeExistsError`, `BadVersionError` or `NotEmptyError`.
            SessionExpiredError: if the session has ended.
            CoordinationRefusedError: if this client may not do that.
            CoordinationUnavailableError: if no answer came.
        """
        self.await_connection()
        return self._answer(lambda: getattr(self._client, f"{method}_async")(*arguments, **options))

    def transact(self, *operations: tuple[Any, ...]) -> list[Any]:
        """Carry out several operations atomically, given as name and arguments of each.

        Return the result of each.  If one fails, none is carried out: its result is the error, and the
        results of the others are meaningless.

        Raises:
            SessionExpiredError: if the session has ended.
            CoordinationRefusedError: if this client may not do that.
            CoordinationUnavailableError: if no answer came.
        """
        self.await_connection()
        transaction = self._client.transaction()
        for name, *arguments in operations:
            getattr(transaction, name)(*arguments)
        results: list[Any] = self._answer(transaction.commit_async)
        for result in results:
            if isinstance(result, _REFUSALS):
                raise self._refusal(result) from None
        return results

    def await_connection(self) -> None:
        """Wait for a connection, so that no request is queued and sent much later.

        Raises:
            SessionExpiredError: if the session has ended.
            CoordinationRefusedError: if the credentials are refused.
            CoordinationUnavailableError: if there is no connection in time.
        """
        live = self._live.wait(self._answer_seconds)
        if self._expired:
            raise SessionExpiredError("the session has ended")
        if not live:
            raise CoordinationUnavailableError(f"no connection to {self._address}")

    def await_watches(self) -> None:
        """Wait until the watches have been called that were triggered before the last answer."""
        called = self._client.handler.event_object()
        self._client.handler.dispatch_callback(Callback("watch", called.set, ()))
        if not called.wait(self._answer_seconds):
            raise CoordinationUnavailableError("the watches are not called")

    def add_listener(self, on_state: Callable[[KazooState], None]) -> None:
        """Call a function when the connection is made or lost."""
        self._client.add_listener(on_state)

    @property
    def session_id(self) -> int:
        """Return the ID of the session, which entries record as their owner."""
        identity = self._client.client_id
        if identity is None:
            raise CoordinationUnavailableError(f"no connection to {self._address}")
        return int(identity[0])

    @property
    def granted_ms(self) -> int:
        """Return the session timeout that the ensemble has granted."""
        return self._network.granted_ms

    def close(self) -> None:
        """End the session, if the ensemble can be reached, and the connection."""
        with suppress(KazooException, OSError):
            self._client.stop()
            self._client.close()

    def _answer(self, request: Callable[[], Any]) -> Any:  # noqa: ANN401 - untyped
        try:
            return request().get(timeout=self._answer_seconds)
        except _OUTCOMES:
            raise
        except _REFUSALS as error:
            raise self._refusal(error) from None
        except KazooSessionExpiredError:
            if self._network.on_request:
                raise SessionExpiredError("the session has ended") from None
            raise self._unavailable_error("the session has ended") from None
        except (KazooException, self._client.handler.timeout_exception) as error:
            raise self._unavailable_error(type(error).__name__) from None

    def _note_expiry(self, state: KazooState) -> None:
        """Record that the session has ended: kazoo opens another one, which must not be used."""
        self._expired = self._expired or state == KazooState.LOST

    def _refusal(self, error: KazooException) -> CoordinationRefusedError:
        return CoordinationRefusedError(
            f"{self._address} refuses access ({type(error).__name__})", self._help
        )

    def _unavailable_error(self, reason: str) -> CoordinationUnavailableError:
        return CoordinationUnavailableError(f"{self._address} does not answer ({reason})")


class _Threads(SequentialThreadingHandler):  # type: ignore[misc] # kazoo has no types
    """Kazoo's threads, with a shorter timeout for connecting to a server that does not answer."""

    def create_connection(self, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - untyped
        options["timeout"] = min(options["timeout"], _CONNECT_SECONDS)
        return super().create_connection(*arguments, **options)


class _Network(ConnectionHandler):  # type: ignore[misc] # kazoo has no types
    """The network side of a connection.

    Kazoo would keep a session alive by pings for as long as the process exists, even if the thread that
    has to renew it is stuck.  With `on_request`, pings are sent only while an answer is awaited, to detect a
    server that hangs.
    """

    def __init__(self, client: KazooClient, *, on_request: bool) -> None:
        super().__init__(client, client._conn_retry.copy(), logger=_LOGGER)  # noqa: SLF001
        self.on_request = on_request
        self.granted_ms = 0

    def _invoke(self, timeout: float, request: Any, xid: int | None = None) -> Any:  # noqa: ANN401
        """Exchange a request and an answer while a connection is made."""
        return super()._invoke(min(timeout, _CONNECT_SECONDS), request, xid)

    def _connect(self, host: str, hostip: str, port: int) -> tuple[float, float]:
        read_timeout, connect_timeout = super()._connect(host, hostip, port)
        self.granted_ms = round(read_timeout * 1.5)  # it is 2/3 of the session timeout
        return read_timeout, connect_timeout

    def _send_ping(self, connect_timeout: float) -> None:
        if not self.on_request or self.client._pending:  # noqa: SLF001
            super()._send_ping(connect_timeout)
