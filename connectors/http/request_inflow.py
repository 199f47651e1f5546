"""The records of requests as an inflow of lines.

Requests come concurrently; their order becomes fixed when their lines are in the front log.  A request is
answered when readers of the log see its lines, which are durable then.  The journal records the idempotency
keys of requests with their lines, so that a request that comes again after a failure is known.
"""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import Future
from dataclasses import field
from typing import TYPE_CHECKING, Final

import xxhash

from fsql.compiler.records import dataclass
from fsql.connectors import paths
from fsql.connectors.http.request_server import NotTakenError, RequestServer, ReusedKeyError
from fsql.connectors.live.piece_journal import Piece, PieceJournal

if TYPE_CHECKING:
    import socket
    from pathlib import Path

    from fsql.connectors.http.request_server import Rules
    from fsql.connectors.live.front_log import LogWriter

KEYS_MAX: Final = 10_000
"""How many keys are known, the last that came."""
WAITING_BYTES_MAX: Final = 64 << 20
"""How many bytes may wait for the log until requests are refused."""
_ENDED: Final = "the job has ended"
_FULL: Final = "the job does not keep up"


@dataclass(slots=True, eq=False)
class _Held:
    """A request that is not answered, and the offset behind its lines once they are handed on."""

    lines: bytes
    key: str
    digest: int
    stop: int = 0
    answer: Future[None] = field(default_factory=Future)


class RequestPiece(Piece, frozen=True):
    """The lines of a request with a key, or of requests without one.

    Of a request whose last `missing` bytes are not in the log the rest is taken when it comes again.
    """

    key: str = ""
    digest: int = 0
    missing: int = 0


class RequestInflow:
    """The lines of the requests to a socket, in a run that keeps no state."""

    def __init__(self, listening: socket.socket, rules: Rules) -> None:
        """Read requests from a socket that listens."""
        self._changed = threading.Condition()
        """Guards what follows; notified when a request waits."""
        self._waiting: deque[_Held] = deque()
        self._waiting_bytes = 0
        self._handed: deque[_Held] = deque()
        self._unanswered: dict[str, _Held] = {}
        self._known: dict[str, RequestPiece] = {}
        """The requests with keys that were taken, the oldest first."""
        self._closed = False
        self._log_end = 0
        """The number of bytes when everything that was taken has been returned."""
        self._rest = b""
        self._server = RequestServer(listening, rules, self.offer)
        self._serves = False

    def offer(self, lines: bytes, key: str) -> Future[None]:
        """Take the lines of a request; return what is done when they are durable.

        Raises:
            NotTakenError: if they cannot be taken now.
            ReusedKeyError: if the key came with other lines before.
        """
        digest = xxhash.xxh3_64_intdigest(lines)
        with self._changed:
            known = (self._unanswered.get(key) or self._known.get(key)) if key else None
            if known is not None and known.digest != digest:
                raise ReusedKeyError
            if isinstance(known, _Held):
                return known.answer
            if known is not None and not known.missing:
                answer: Future[None] = Future()
                answer.set_result(None)
                return answer
            if self._closed:
                raise NotTakenError(_ENDED)
            if self._waiting and self._waiting_bytes + len(lines) > WAITING_BYTES_MAX:
                raise NotTakenError(_FULL)
            held = _Held(lines[-known.missing :] if known is not None else lines, key, digest)
            self._waiting.append(held)
            self._waiting_bytes += len(held.lines)
            if key:
                self._unanswered[key] = held
            self._changed.notify()
            return held.answer

    def read(self, bytes_max: int, seconds: float) -> bytes | None:
        """Return the lines that arrive; see `Inflow`."""
        if not self._serves:  # and not before: all keys are known now
            self._serves = True
            self._server.start()
        self._answer()
        if not self._rest:
            self._rest = b"".join(each.lines for each in self._take(bytes_max, seconds))
            if not self._rest:
                return None
        data, self._rest = self._rest[:bytes_max], self._rest[bytes_max:]
        return data

    def close(self) -> None:
        """Answer what is taken, refuse all else, and stop listening."""
        self._answer()
        with self._changed:
            self._closed = True
            left = [*self._handed, *self._waiting]
            self._handed.clear()
            self._waiting.clear()
        for held in left:
            held.answer.set_exception(NotTakenError(_ENDED))
        self._server.stop()

    @property
    def _durable(self) -> int:
        """Return how many bytes are where they survive what a request may expect: those that were read."""
        return self._log_end - len(self._rest)

    def _record(self, taken: list[_Held]) -> None:
        """Record requests that are handed on."""

    def _take(self, bytes_max: int, seconds: float) -> list[_Held]:
        """Return requests that wait, as many as fit or one; wait for the first."""
        taken: list[_Held] = []
        with self._changed:
            if not self._waiting:
                self._changed.wait(seconds)
            size = 0
            while self._waiting and (not taken or size + len(self._waiting[0].lines) <= bytes_max):
                held = self._waiting.popleft()
                taken.append(held)
                size += len(held.lines)
                held.stop = self._log_end + size
            self._waiting_bytes -= size
        if taken:
            self._record(taken)
            self._log_end += size
            self._handed += taken
        return taken

    def _answer(self) -> None:
        """Answer the requests whose lines are durable."""
        durable = self._durable
        done: list[_Held] = []
        with self._changed:
            while self._handed and self._handed[0].stop <= durable:
                held = self._handed.popleft()
                done.append(held)
                if held.key:
                    self._known.pop(held.key, None)
                    self._known[held.key] = RequestPiece(0, 0, held.key, held.digest)
                    del self._unanswered[held.key]
            while len(self._known) > KEYS_MAX:
                del self._known[next(iter(self._known))]
        for held in done:
            held.answer.set_result(None)


class LoggedRequestInflow(RequestInflow):
    """The same in a job that keeps state; see `ResumableInflow`: senders have what is not answered."""

    _journal: PieceJournal[RequestPiece]
    _log: LogWriter | None = None

    def open_journal(self, directory: Path) -> int:
        """Open the journal next to a front log; see `ResumableInflow`.

        Raises:
            FsqlError: E532, if it cannot be read.
        """
        self._journal = PieceJournal(directory, "requests", RequestPiece)
        return self._journal.end

    def resume(self, log: LogWriter) -> None:
        """Continue at the end of the journal and its log, and record all further requests.

        Raises:
            FsqlError: E535, if the disk fails.
        """
        self._log = log
        self._log_end = log.length
        with self._changed:
            for piece in self._journal.pieces:
                if piece.key and piece.is_in(log.length):
                    missing = piece.missing or max(piece.stop - log.length, 0)
                    self._known.pop(piece.key, None)
                    self._known[piece.key] = RequestPiece(0, 0, piece.key, piece.digest, missing)
        try:
            self._rewrite()
        except OSError as error:
            raise paths.io_error("writing", str(log.directory), error) from None
        log.before_flush.append(self._journal.sync)

    def close(self) -> None:
        """Close the journal too."""
        super().close()
        self._journal.close()

    @property
    def _durable(self) -> int:
        return 0 if self._log is None else self._log.length - self._log.unflushed

    def _take(self, bytes_max: int, seconds: float) -> list[_Held]:
        if self._log is not None and self._journal.is_long:
            self._log.flush()
            assert self._log.length == self._log_end, "what was read is written before more is read"
            self._answer()
            self._rewrite()
        return super()._take(bytes_max, seconds)

    def _record(self, taken: list[_Held]) -> None:
        for held in taken:
            size = len(held.lines)
            self._journal.write(RequestPiece(held.stop - size, size, held.key, held.digest))

    def _rewrite(self) -> None:
        """Keep the keys that are known, before which the log is complete."""
        end = self._log_end
        known = [
            RequestPiece(end, 0, each.key, each.digest, each.missing)
            for each in self._known.values()
        ]
        self._journal.rewrite([*known, RequestPiece(end, 0)])
