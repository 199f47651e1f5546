"""The events of a table as an inflow of lines.

A server gives the rows of a snapshot once, so the lines become what the table was when they are in the front
log.  The journal records after each piece of the log how far the table was read.  The server keeps what comes
after that, and is told only of what is durable in the log.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Final

import msgspec

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.connectors import paths
from fsql.connectors.live.front_log import segments
from fsql.connectors.live.piece_journal import Piece, PieceJournal
from fsql.connectors.postgres.change_stream import Capture, ChangeStream, Place, Range

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fsql.connectors.live.front_log import LogWriter

_PASS_SECONDS: Final = 10.0
"""How often it is recorded that changes of other tables were passed over."""


class CapturePiece(Piece, frozen=True):
    """Events in the log, and how far the table is read after them; see `Place`."""

    ranges: tuple[tuple[int, tuple[str, ...] | None], ...]
    copied: bool
    end: int
    changes: int
    relation: int

    @property
    def place(self) -> Place:
        """Return how far the table is read after the piece."""
        ranges = tuple(Range(*each) for each in self.ranges)
        return Place(ranges, self.copied, self.end, self.changes, self.relation)


class CaptureInflow:
    """The events of a table; see `ResumableInflow`."""

    def __init__(self, capture: Capture, on_notice: Callable[[str], None]) -> None:
        """Connect to the server.

        Raises:
            FsqlError: E531, if the table cannot be captured.
        """
        self._capture = capture
        self._stream = ChangeStream(capture, on_notice)
        self._journal: PieceJournal[CapturePiece] | None = None
        self._log: LogWriter | None = None
        self._log_end = 0
        """The length that the log has when everything that was read is in it."""
        self._rest = b""
        self._torn: CapturePiece | None = None
        """A piece that the log has the beginning of, until all of it has come again; its events so far."""
        self._again = b""
        self._pass_at = 0.0
        self._unconfirmed: deque[tuple[int, int]] = deque()
        """Positions of the server, each with the length of a log that has everything before it."""

    def open_journal(self, directory: Path) -> int:
        """Open the journal next to a front log; see `ResumableInflow`.

        Raises:
            FsqlError: E532, if it cannot be read.
        """
        self._stream.keep_slot()
        self._journal = PieceJournal(directory, "captured", CapturePiece)
        return self._journal.end

    def resume(self, log: LogWriter) -> None:
        """Continue at the end of the journal and its log, and record all further reads.

        Raises:
            FsqlError: E531, if a new job finds a slot of that name; E535, if the disk or the server fails;
                E536, if changes that are due are lost.
        """
        assert self._journal is not None
        self._log = log
        self._log_end = log.length
        known = [piece for piece in self._journal.pieces if piece.is_in(log.length)]
        if not known:
            if self._stream.slot_exists():
                raise self._slot_exists_error()
            self._rewrite([self._piece(log.length, b"", Place())])
        else:
            last = known[-1]
            torn = last if last.stop > log.length else None
            before = known[-2].place if len(known) > 1 else Place()
            place = last.place
            if torn is not None and not before.copied:
                place, torn = self._place_in_copy(log, before, torn), None
            self._stream.resume(place if torn is None else before)
            start = self._piece(
                log.length if torn is None else torn.start, b"", place if torn is None else before
            )
            self._torn = torn
            self._rewrite([start] if torn is None else [start, torn])
        log.before_flush.append(self._journal.sync)

    def read(self, bytes_max: int, seconds: float) -> bytes | None:
        """Return the events that come within `seconds`, None if none do, b"" at the end.

        Raises:
            FsqlError: E535, if the server refuses; E536, if changes are lost.
        """
        if self._torn is not None:
            self._read_again(self._torn, seconds)
            if not self._rest:
                return None
        if not self._rest:
            self._confirm()
            self._shorten_journal()
            before = self._stream.place
            self._rest = self._stream.read(bytes_max, seconds)
            if self._rest or self._stream.place != before:
                place = self._stream.place
                is_due = bool(self._rest) or place.copied != before.copied
                self._record(self._rest, place, is_due=is_due)
            if not self._rest:
                return b"" if self._stream.ended else None
        data, self._rest = self._rest[:bytes_max], self._rest[bytes_max:]
        return data

    def close(self) -> None:
        """Leave the server, and close the journal."""
        self._stream.close()
        if self._journal is not None:
            self._journal.close()

    def _piece(self, start: int, data: bytes, place: Place) -> CapturePiece:
        ranges = tuple((each.position, each.last) for each in place.ranges)
        return CapturePiece(
            start, len(data), ranges, place.copied, place.end, place.changes, place.relation
        )

    def _record(self, data: bytes, place: Place, *, is_due: bool) -> None:
        """Record events, and how far the table is read after them.

        A place without events is recorded if that is due: where the table cannot be read again from the one
        before, such as at the end of the copy.  Others come with the events after them.
        """
        if self._journal is not None and is_due:
            self._journal.write(self._piece(self._log_end, data, place))
            if not data:
                self._journal.sync()
        self._log_end += len(data)
        if place.copied and place.changes == 0:
            self._unconfirmed.append((self._log_end, place.end))

    def _confirm(self) -> None:
        """Tell the server what it need not send again: what is durable here."""
        if self._log is None:
            self._stream.confirm(self._stream.place.end)
            self._unconfirmed.clear()
            return
        durable = self._log.length - self._log.unflushed
        position = 0
        while self._unconfirmed and self._unconfirmed[0][0] <= durable:
            position = self._unconfirmed.popleft()[1]
        passed = self._stream.passed
        now = time.monotonic()
        if passed is not None and durable == self._log_end and now >= self._pass_at:
            # Other tables are written, and this one is not: the server may forget their changes.
            self._pass_at = now + _PASS_SECONDS
            self._stream.pass_to(passed)
            self._record(b"", self._stream.place, is_due=True)
            position = passed
        if position:
            self._stream.confirm(position)

    def _shorten_journal(self) -> None:
        """Forget how the log was made, once all of it is durable."""
        if self._journal is not None and self._log is not None and self._journal.is_long:
            self._log.flush()
            assert self._log.length == self._log_end, "what was read is written before more is read"
            self._rewrite([self._piece(self._log_end, b"", self._stream.place)])

    def _rewrite(self, pieces: list[CapturePiece]) -> None:
        assert self._journal is not None
        assert self._log is not None
        try:
            self._journal.rewrite(pieces)
        except OSError as error:
            raise paths.io_error("writing", str(self._log.directory), error) from None

    # What the log has a part of.

    def _place_in_copy(self, log: LogWriter, before: Place, torn: CapturePiece) -> Place:
        """Return how far the table was copied by the last row of the log: its snapshot is gone.

        Raises:
            FsqlError: E535, if the log cannot be read.
        """
        if log.length <= torn.start:
            return before
        try:
            event = msgspec.json.decode(_last_line(log.directory, log.length), type=_CopiedEvent)
        except OSError as error:
            raise paths.io_error("reading", str(log.directory), error) from None
        ranges = torn.place.ranges
        return msgspec.structs.replace(
            torn, ranges=(*ranges[:-1], ranges[-1]._replace(last=event.key)), copied=False
        ).place

    def _read_again(self, torn: CapturePiece, seconds: float) -> None:
        """Read on in a piece of which the log has only the beginning; when all of it is there, take the rest.

        Raises:
            FsqlError: E535 or E536, if its events do not come again.
        """
        assert self._log is not None
        self._again += self._stream.read(torn.size - len(self._again), seconds)
        if len(self._again) > torn.size or (self._stream.ended and len(self._again) < torn.size):
            message = (
                f"changes of table {self._capture.table.name} that were read do not come again"
            )
            helps = ("start the job again, with an empty state directory and another slot",)
            raise FsqlError([Diagnostic("E536", message, helps=helps)])
        if len(self._again) == torn.size:
            self._rest = self._again[self._log.length - torn.start :]
            self._log_end = torn.stop
            self._torn, self._again = None, b""

    def _slot_exists_error(self) -> FsqlError:
        slot = self._capture.slot
        message = f"there is a replication slot '{slot}' already, and this job has not created it"
        helps = (
            "name another slot: two jobs cannot share one",
            f"or drop it, if its job is gone: SELECT pg_drop_replication_slot('{slot}')",
        )
        return FsqlError([Diagnostic("E531", message, helps=helps)])


class _CopiedEvent(msgspec.Struct):
    key: tuple[str, ...]


def _last_line(directory: Path, length: int) -> bytes:
    """Return the last line of a log.

    Raises:
        OSError: if it cannot be read.
    """
    data = b""
    for segment in reversed([each for each in segments(directory) if each.start < length]):
        data = segment.path.read_bytes()[: length - segment.start]
        if data:
            break
    return data[data.rfind(b"\n", 0, len(data) - 1) + 1 :]
