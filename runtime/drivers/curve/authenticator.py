"""The authenticator: a thread that decides which nodes may connect (ZAP, ZeroMQ RFC 27).

ZeroMQ asks it at each handshake.  It accepts the keys of the list and the node's own; the fingerprint becomes
the User-Id of all messages of the connection.  A refused connection is reported, and so is one whose
handshake fails earlier: the peer does not use CURVE, or has another key of this node.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final

import zmq
from zmq.utils.monitor import parse_monitor_message

from fsql.compiler.diagnostics import FsqlError
from fsql.runtime.drivers.curve.keys import AUTHORIZED, fingerprint_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.runtime.drivers.curve.keys import NodeKeys

ZAP_DOMAIN: Final = b"fsql"
_ZAP_ADDRESS: Final = "inproc://zeromq.zap.01"
_REQUEST_PARTS: Final = 7
_FAILURES: Final = zmq.Event.HANDSHAKE_FAILED_PROTOCOL | zmq.Event.HANDSHAKE_FAILED_NO_DETAIL
"""Failures before a key is known; a peer without CURVE leads to one or the other."""
_FAILED: Final = "connection refused: handshake failed: no CURVE, or another key of this node"
_ENDED: Final = "connection ended in its handshake: the peer was stopped, or does not use CURVE"
_REPEAT_SECONDS: Final = 30.0
_REPORTS_MAX: Final = 1_000


class Reports:
    """Reports each problem at most once in 30 s; any thread may call it."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._reported: dict[str, float] = {}

    def report(self, problem: str) -> None:
        """Report a problem, unless it was reported in the last 30 s."""
        now = time.monotonic()
        if now - self._reported.pop(problem, now - _REPEAT_SECONDS) >= _REPEAT_SECONDS:
            self._warn(problem)
            self._reported[problem] = now
        else:
            self._reported[problem] = now
        if len(self._reported) > _REPORTS_MAX:
            self._reported.pop(next(iter(self._reported)))


class Authenticator:
    """Decides for one ZeroMQ context which nodes may connect."""

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        listener: zmq.Socket[bytes],
        keys: NodeKeys,
        reports: Reports,
    ) -> None:
        """Start; to be called before `listener` listens."""
        self._keys = keys
        self._reports = reports
        self._requests = context.socket(zmq.REP)
        self._requests.bind(_ZAP_ADDRESS)
        self._failures = listener.get_monitor_socket(_FAILURES)
        self._end = context.socket(zmq.PAIR)
        self._end.bind("inproc://end")
        self._ended = context.socket(zmq.PAIR)
        self._ended.connect("inproc://end")
        self._thread = threading.Thread(target=self._run, name="authenticator", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread; its sockets belong to the context."""
        self._end.send(b"")
        self._thread.join()

    def _run(self) -> None:
        poller = zmq.Poller()
        for socket in (self._requests, self._failures, self._ended):
            poller.register(socket, zmq.POLLIN)
        while True:
            ready = dict(poller.poll())
            if self._ended in ready:
                return
            if self._requests in ready:
                self._answer(self._requests.recv_multipart())
            if self._failures in ready:
                failure = parse_monitor_message(self._failures.recv_multipart())["event"]
                # A peer that is stopped during the handshake does not have a wrong key.
                is_refusal = failure == zmq.Event.HANDSHAKE_FAILED_PROTOCOL
                self._reports.report(_FAILED if is_refusal else _ENDED)

    def _answer(self, request: list[bytes]) -> None:
        """Answer a request of ZeroMQ; one that cannot be understood is refused."""
        version, number = (*request, b"", b"")[:2]
        fingerprint = ""
        if len(request) == _REQUEST_PARTS and request[5] == b"CURVE":
            fingerprint = self._check(request[6], request[3].decode(errors="replace"))
        # 300: the peer tries again later, and connects when its key has been added to the list.
        status = (b"200", b"OK") if fingerprint else (b"300", b"not authorized")
        self._requests.send_multipart([version, number, *status, fingerprint.encode(), b""])

    def _check(self, public: bytes, host: str) -> str:
        """Return the fingerprint of a public key that may connect, otherwise an empty text."""
        fingerprint = fingerprint_of(public)
        try:
            known = self._keys.public_of(fingerprint)
        except FsqlError as error:
            self._reports.report(f"{error.diagnostics[0].message}; connections are refused")
            return ""
        if known == public:
            return fingerprint
        listed = self._keys.directory / AUTHORIZED
        self._reports.report(
            f"connection from {host} refused: its key {fingerprint} is not in {listed}"
        )
        return ""
