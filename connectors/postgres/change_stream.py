"""The rows of a table and then its changes, as events, from a replication slot.

The table is copied in a snapshot of the database whose place in the log is known; then come the changes that
were committed after that place, transaction by transaction, in the order of their commits.

A copy that is interrupted goes on after the last key that it has, in a snapshot of its own: a **range** of
keys has the rows of one snapshot.  A change that was committed before the snapshot of the range of its key is
in the copy already, and passed over.  So the events make the table of the database, whatever interrupts them.

The server is never waited for longer than `read` is allowed to take.
"""

from __future__ import annotations

import os
import secrets
import struct
import time
from bisect import bisect_left
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.records import dataclass
from fsql.connectors.postgres.captured_table import CapturedTable, Declared
from fsql.connectors.postgres.client import (
    SET_PARAMETERS,
    Database,
    failed_error,
    is_passing,
    not_opened_error,
    psycopg_module,
    quoted,
    reason_of,
)
from fsql.connectors.postgres.copy_stream import Command, CopyStream, row_of_copy
from fsql.connectors.postgres.pgoutput import (
    Begin,
    Change,
    Commit,
    Relation,
    Truncate,
    read_message,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    import psycopg

    from fsql.connectors.postgres.captured_table import Key

_STATUS_SECONDS: Final = 10.0
"""How often the server is told how far the changes are read, at least; it gives up after a minute."""
_ENDING_SECONDS: Final = 0.2
"""The same, while the end of the input is waited for."""
_RETRY_SECONDS: Final = 1.0
_BATCH_BYTES: Final = 1 << 18
_KEEPALIVE: Final = struct.Struct("!qqb").unpack_from
_STATUS: Final = struct.Struct("!cqqqqb").pack
_DATA_AT: Final = 25
_TRUNCATION: Final = b'{"op":"t"}\n'


class Range(NamedTuple):
    """Keys whose rows are from the snapshot at `position`, up to `last`; None if there is no end."""

    position: int
    last: tuple[str, ...] | None


class Place(NamedTuple):
    """How far a table has been read.

    All transactions that end at or before `end` are read, and the first `changes` changes of the one after
    them.  `relation` is the number of the table, 0 before it is known.
    """

    ranges: tuple[Range, ...] = ()
    copied: bool = False
    end: int = 0
    changes: int = 0
    relation: int = 0


@dataclass(frozen=True, slots=True)
class Capture:
    """What is captured, and how.

    `lasting` says whether the slot stays when the session ends, so that another one can continue.
    """

    database: Database
    table: Declared
    slot: str
    publication: str
    from_latest: bool
    ends: bool
    lasting: bool = False


class ChangeStream:
    """The events of a table; `place` is how far they were read."""

    def __init__(
        self,
        capture: Capture,
        on_notice: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Connect, and check that the table can be captured.

        Raises:
            FsqlError: E531, if not.
        """
        self._capture = capture
        self._on_notice = on_notice
        self._clock = clock
        self._client = psycopg_module()
        self.place = Place()
        self.ended = False
        """Whether the input ends, and everything up to its end was read."""
        self._session: _Session | None = None
        self._missing = False
        self._retry_at = 0.0
        try:
            self._session = session = _Session(capture, "E531", on_notice)
            self._until = session.log_end() if capture.ends else None
        except self._client.Error as error:
            self.close()
            raise not_opened_error("E531", capture.database, error) from None
        except BaseException:
            self.close()
            raise

    def keep_slot(self) -> None:
        """Use a slot that stays when the session ends."""
        self._capture = replace(self._capture, lasting=True)
        if self._session is not None:
            self._session.capture = self._capture

    def slot_exists(self) -> bool:
        """Return whether the server has the slot.

        Raises:
            FsqlError: E531, if it does not say so.
        """
        assert self._session is not None
        try:
            return self._session.slot() is not None
        except self._client.Error as error:
            raise not_opened_error("E531", self._capture.database, error) from None

    def resume(self, place: Place) -> None:
        """Continue at a place; for the next `read`."""
        self.place = place
        if self._session is not None:
            self._session.reset()

    def read(self, bytes_max: int, seconds: float) -> bytes:
        """Return the events that come within `seconds`, whole lines, nothing if none do.

        They are about `bytes_max` bytes long at most, but at least one event.

        Raises:
            FsqlError: E535, if the server refuses; E536, if changes are lost.
        """
        if self._session is None:
            wait = self._retry_at - self._clock()
            if wait > 0:
                time.sleep(min(wait, seconds))
                return b""
        try:
            if self._session is None:
                self._session = _Session(self._capture, "E535", self._on_notice)
            data, self.place = self._session.read(self.place, min(bytes_max, _BATCH_BYTES), seconds)
            if self._missing:
                self._missing = False
                self._on_notice(f'the PostgreSQL database "{self._place}" answers again')
        except self._client.Error as error:
            self._on_error(error)
            return b""
        if self._until is not None and not data and self._session.is_at(self.place, self._until):
            self.ended = True
        return data

    def pass_to(self, position: int) -> None:
        """Continue at a position, `passed`, before which there are no further changes."""
        self.place = self.place._replace(end=position)

    def confirm(self, position: int) -> None:
        """Tell the server that everything before a position need not be sent again."""
        if self._session is not None:
            self._session.confirmed = max(position, self._session.confirmed)

    @property
    def passed(self) -> int | None:
        """Return a position before which there are no further changes of the table, None if there is none."""
        return None if self._session is None else self._session.passed(self.place)

    def close(self) -> None:
        """Leave the server."""
        if self._session is not None:
            self._session.close()
            self._session = None

    @property
    def _place(self) -> str:
        return self._capture.database.place

    def _on_error(self, error: psycopg.Error) -> None:
        """Leave a server that may come back.

        Raises:
            FsqlError: E535, if it has refused, or a slot is gone that ends with the session.
        """
        self.close()
        what = f'reading table {self._capture.table.name} of "{self._place}"'
        if not is_passing(error) or not self._capture.lasting:
            raise failed_error("E535", what, error)
        if not self._missing:
            self._missing = True
            self._on_notice(f"{what} is tried again: {reason_of(error)}")
        self._retry_at = self._clock() + _RETRY_SECONDS


class _Session:
    """The connections of one attempt: one for statements, and one for replication."""

    def __init__(self, capture: Capture, code: str, on_notice: Callable[[str], None]) -> None:
        self.capture = capture
        self._on_notice = on_notice
        self.confirmed = 0
        name = f"fsql {capture.slot}"
        self._statements = capture.database.connect(name)
        self._replication: psycopg.Connection[Any] | None = None
        try:
            self._table = CapturedTable(self._statements, capture.database, capture.table, code)
            self._publish(code)
            self._replication = capture.database.connect(name, replication="database")
            Command(self._replication, SET_PARAMETERS).answer(60.0)
        except BaseException:
            self.close()
            raise
        self.reset()

    def reset(self) -> None:
        """Begin at another place."""
        self._command: Command | None = None
        self._temporary = ""
        self._made = False
        self._copy: CopyStream | None = None
        self._stream: CopyStream | None = None
        self._commit: int | None = None
        self._index = 0
        self._passed = 0
        self._status_at = 0.0
        self._bounds: list[Key] | None = None

    def close(self) -> None:
        """Close the connections."""
        for each in (self._replication, self._statements):
            if each is not None:
                with suppress(psycopg_module().Error):
                    each.close()

    def log_end(self) -> int:
        """Return the position after everything that is committed."""
        found = self._statements.execute(
            "SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()"
            " ELSE pg_current_wal_flush_lsn() END - '0/0'"
        ).fetchone()
        assert found is not None
        return int(found[0])

    def slot(self) -> tuple[str, int, str] | None:
        """Return database, position and status (`wal_status`) of the slot, None if there is none."""
        return self._statements.execute(
            "SELECT coalesce(database, ''), coalesce(confirmed_flush_lsn - '0/0', 0)::bigint,"
            " coalesce(wal_status, '') FROM pg_replication_slots WHERE slot_name = %s",
            [self.capture.slot],
        ).fetchone()

    def _publish(self, code: str) -> None:
        """Check that there is a publication of the table; create it if there is none.

        Raises:
            FsqlError: with this code, if it cannot be used.
        """
        name, table = self.capture.publication, self._table.server
        root = " WITH (publish_via_partition_root = true)" if table.kind == "p" else ""
        create = f"CREATE PUBLICATION {quoted(name)} FOR TABLE {table.name.sql}{root}"
        found = self._statements.execute(
            "SELECT p.pubinsert AND p.pubupdate AND p.pubdelete AND p.pubtruncate, p.pubviaroot,"
            " EXISTS (SELECT FROM pg_publication_tables t WHERE t.pubname = p.pubname"
            " AND t.schemaname = %s AND t.tablename = %s) FROM pg_publication p WHERE p.pubname = %s",
            [*table.name, name],
        ).fetchone()
        if found is None:
            try:
                self._statements.execute(create)
            except psycopg_module().errors.InsufficientPrivilege as error:
                helps = (f"let the owner of the table: {create}",)
                raise failed_error(
                    code, f"creating publication {name}", error, helps=helps
                ) from None
            return
        publishes_all, via_root, has_table = found
        if table.kind == "p" and not via_root and publishes_all:
            help_ = f"ALTER PUBLICATION {quoted(name)} SET (publish_via_partition_root = true)"
            raise self._refusal(
                code, f"publication {name} has the partitions and not the table", help_
            )
        if not has_table:
            help_ = f"ALTER PUBLICATION {quoted(name)} ADD TABLE {table.name.sql}"
            raise self._refusal(code, f"publication {name} does not have it", help_)
        if not publishes_all:
            change = "SET (publish = 'insert, update, delete, truncate')"
            help_ = f"ALTER PUBLICATION {quoted(name)} {change}"
            raise self._refusal(code, f"publication {name} leaves out kinds of changes", help_)

    def _refusal(self, code: str, reason: str, *helps: str) -> FsqlError:
        message = f"the changes of table {self._table.server.name} cannot be read: {reason}"
        return FsqlError([Diagnostic(code, message, helps=helps)])

    def read(self, place: Place, bytes_max: int, seconds: float) -> tuple[bytes, Place]:
        """Return events, and the place after them.

        Raises:
            FsqlError: E535 or E536.
            psycopg.Error: if the server refuses, or is gone.
        """
        place = self._of_this_table(place)
        if not self._made:
            self._make_slot(place, seconds)
        elif not place.copied:
            return self._read_copy(place, bytes_max, seconds)
        else:
            return self._read_changes(place, bytes_max, seconds)
        return b"", place

    def _of_this_table(self, place: Place) -> Place:
        number = self._table.server.oid
        if place.relation in {0, number}:
            return place if place.relation else place._replace(relation=number)
        message = (
            f"table {self.capture.table.name} of the database is another one than was read before"
        )
        helps = ("start the job again, with an empty state directory and another slot",)
        note = "it was dropped and created again; changes of the old one are complete"
        raise FsqlError([Diagnostic("E536", message, notes=(note,), helps=helps)])

    # The slot.

    def _make_slot(self, place: Place, seconds: float) -> None:
        """Create the slot if there is none yet.

        Raises:
            FsqlError: E536, if a slot that was used is gone, or was used by others.
            psycopg.Error: if the server refuses.
        """
        if not self.capture.lasting:
            self._made = True
            return
        assert self._replication is not None
        if self._command is None:
            found = self.slot()
            if found is not None:
                self._check_slot(found, place)
                self._made = True
                return
            if place.end or place.ranges:
                raise self._lost_error("the slot does not exist any more")
            create = f"CREATE_REPLICATION_SLOT {quoted(self.capture.slot)} LOGICAL pgoutput"
            self._command = Command(self._replication, f"{create} NOEXPORT_SNAPSHOT")
        if self._command.answer(seconds) is not None:
            self._command = None
            self._made = True

    def _check_slot(self, found: tuple[str, int, str], place: Place) -> None:
        database, position, status = found
        if database != self._statements.info.dbname:
            raise self._lost_error(f"the slot is one of database '{database}'")
        if status == "lost":
            raise self._lost_error("the server has removed the log that the slot needs")
        if place.end and position > place.end:
            raise self._lost_error("the slot was read by others")

    def _lost_error(self, reason: str) -> FsqlError:
        slot, table = self.capture.slot, self.capture.table.name
        message = f"changes of table {table} in slot '{slot}' are lost: {reason}"
        helps = (
            "start the job again, with an empty state directory and another slot",
            "let no two jobs use one slot, and let max_slot_wal_keep_size be large enough",
        )
        return FsqlError([Diagnostic("E536", message, helps=helps)])

    # The copy.

    def _read_copy(self, place: Place, bytes_max: int, seconds: float) -> tuple[bytes, Place]:
        if self.capture.from_latest and self.capture.lasting:
            found = self.slot()
            assert found is not None
            return b"", place._replace(copied=True, end=found[1])
        if self._copy is None:
            return b"", self._begin_copy(place, seconds)
        lines: list[bytes] = []
        size = 0
        last = place.ranges[-1].last
        while size < bytes_max:
            data = self._copy.read(0.0 if lines else seconds)
            if data is None:
                break
            line, last = self._table.copied_event(row_of_copy(data))
            lines.append(line)
            size += len(line)
        ranges = (*place.ranges[:-1], place.ranges[-1]._replace(last=last))
        if not lines and self._copy.ended:
            self._end_copy()
            ranges = (*ranges[:-1], ranges[-1]._replace(last=None))
            return b"", place._replace(ranges=ranges, copied=True, end=ranges[0].position)
        return b"".join(lines), place._replace(ranges=ranges)

    def _begin_copy(self, place: Place, seconds: float) -> Place:
        """Begin to copy the rows after the last key, in a new snapshot."""
        assert self._replication is not None
        if self._command is None:
            self._temporary = f"fsql_{os.getpid()}_{secrets.token_hex(8)}"
            create = f"CREATE_REPLICATION_SLOT {self._temporary} TEMPORARY LOGICAL pgoutput EXPORT_SNAPSHOT"
            self._command = Command(self._replication, create)
        answer = self._command.answer(seconds)
        if answer is None:
            return place
        self._command = None
        position, snapshot = _number(answer[1]), answer[2]
        if self.capture.from_latest:
            return place._replace(copied=True, end=position)
        ranges = tuple(each for each in place.ranges if each.last is not None)
        if ranges and not self.capture.table.key:
            raise self._no_key_error()
        self._statements.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        self._statements.execute(f"SET TRANSACTION SNAPSHOT '{snapshot}'")
        after = ranges[-1].last if ranges else None
        self._copy = CopyStream(self._statements, self._table.copy_statement(after))
        return place._replace(ranges=(*ranges, Range(position, None)))

    def _no_key_error(self) -> FsqlError:
        message = (
            f"the first copy of table {self.capture.table.name} was interrupted, and cannot go on"
        )
        note = "without a PRIMARY KEY it is not known which of its rows were copied"
        helps = (
            "start the job again, with an empty state directory and another slot",
            "or declare a PRIMARY KEY (…) NOT ENFORCED: then it goes on where it was",
        )
        return FsqlError([Diagnostic("E536", message, notes=(note,), helps=helps)])

    def _end_copy(self) -> None:
        self._copy = None
        self._statements.execute("COMMIT")
        if self.capture.lasting:
            assert self._replication is not None
            Command(self._replication, f"DROP_REPLICATION_SLOT {self._temporary}").answer(60.0)

    # Changes.

    def _read_changes(self, place: Place, bytes_max: int, seconds: float) -> tuple[bytes, Place]:
        if self._stream is None:
            self._stream = self._begin_stream(place)
        lines: list[bytes] = []
        size = 0
        wait = seconds
        while size < bytes_max:
            self._report()
            data = self._stream.read(wait)
            if data is None:
                if self._stream.ended:
                    message = "the server has ended the stream"
                    raise psycopg_module().OperationalError(message)
                break
            wait = 0.0
            if data[:1] == b"k":
                end, _, is_due = _KEEPALIVE(data, 1)
                self._passed = max(self._passed, end)
                self._status_at = 0.0 if is_due else self._status_at
                continue
            line, place = self._on_message(data[_DATA_AT:], place)
            lines.append(line)
            size += max(len(line), len(data))  # nothing may come but changes of other tables
        return b"".join(lines), place

    def _begin_stream(self, place: Place) -> CopyStream:
        assert self._replication is not None
        slot = quoted(self.capture.slot) if self.capture.lasting else self._temporary
        name = quoted(self.capture.publication).replace("'", "''")
        return CopyStream(
            self._replication,
            f"START_REPLICATION SLOT {slot} LOGICAL {_text(place.end)}"
            f" (proto_version '1', publication_names '{name}')",
        )

    def _report(self) -> None:
        """Tell the server from time to time that the session lives, and what need not be sent again."""
        now = time.monotonic()
        ends = self.capture.ends
        if self._stream is None or not self._stream.flowing or now < self._status_at:
            return
        self._status_at = now + (_ENDING_SECONDS if ends else _STATUS_SECONDS)
        confirmed = self.confirmed
        since_2000 = int((time.time() - 946_684_800) * 1_000_000)
        self._stream.send(_STATUS(b"r", confirmed, confirmed, confirmed, since_2000, 1))

    def _on_message(self, data: bytes, place: Place) -> tuple[bytes, Place]:
        message = read_message(data)
        match message:
            case Begin(commit):
                self._commit, self._index = commit, 0
            case Commit(end):
                self._commit = None
                if end > place.end:
                    return b"", place._replace(end=end, changes=0)
            case Relation(relation=number) if number == place.relation:
                self._table.on_relation(message)
            case Change(relation=number) if number == place.relation:
                return self._next_change(place, lambda: self._event(message, place))
            case Truncate(relations) if place.relation in relations:
                return self._next_change(place, lambda: self._truncation(place))
            case _:
                pass
        return b"", place

    def _next_change(self, place: Place, line_of: Callable[[], bytes]) -> tuple[bytes, Place]:
        """Return the line of a change and the place after it; nothing for one that was read before."""
        assert self._commit is not None
        self._index += 1
        if self._commit < place.end or self._index <= place.changes:
            return b"", place
        return line_of(), place._replace(changes=self._index)

    def _event(self, change: Change, place: Place) -> bytes:
        if len(place.ranges) <= 1:
            first = place.ranges[0].position if place.ranges else 0
            is_new = self._commit is not None and self._commit >= first
            return (
                self._table.event(change, with_old=True, with_new=change.new is not None)
                if is_new
                else b""
            )
        old, new = self._table.keys_of(change)
        with_old = old is not None and self._is_new(old, place)
        with_new = new is not None and self._is_new(new, place)
        if not with_old and not with_new:
            return b""
        return self._table.event(change, with_old=with_old, with_new=with_new)

    def _is_new(self, key: Key, place: Place) -> bool:
        """Return whether the copy of a key does not have the changes of the transaction."""
        assert self._commit is not None
        if self._bounds is None:
            lasts = [each.last for each in place.ranges[:-1]]
            self._bounds = [self._table.order_of(last) for last in lasts if last is not None]
        return self._commit >= place.ranges[bisect_left(self._bounds, key)].position

    def _truncation(self, place: Place) -> bytes:
        assert self._commit is not None
        is_new = any(self._commit >= each.position for each in place.ranges) or not place.ranges
        return _TRUNCATION if is_new else b""

    def passed(self, place: Place) -> int | None:
        """Return a position before which everything was read, None if it is in no message."""
        is_between = self._commit is None and place.copied and place.changes == 0
        return self._passed if is_between and self._passed > place.end else None

    def is_at(self, place: Place, position: int) -> bool:
        """Return whether everything before a position was read."""
        return place.copied and max(place.end, self.passed(place) or 0) >= position


def _number(position: str) -> int:
    """Return a position that is written as two hexadecimal numbers."""
    high, low = position.split("/")
    return (int(high, 16) << 32) + int(low, 16)


def _text(position: int) -> str:
    return f"{position >> 32:X}/{position & 0xFFFFFFFF:X}"
