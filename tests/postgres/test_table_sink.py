"""Tables as sinks, against a real server: the rules of sinks, kills, types, and what the server refuses."""

from __future__ import annotations

import json
from contextlib import closing, suppress
from random import Random
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from fsql.compiler.logical import Changes, SinkTable
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BIGINT, STRING
from fsql.connectors.postgres.client import Database, TableName
from fsql.connectors.postgres.progress import Progress
from fsql.connectors.postgres.table_sink import TableSink
from fsql.connectors.postgres.table_writer import Statements
from fsql.runtime.batch import START, Root
from fsql.runtime.sink import SinkLostError
from fsql.tests.conformance import sinks

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.tests.postgres.server import PostgresServer

COLUMNS = (Column("n", BIGINT), Column("s", STRING))


class TableSubject:
    """A table that rows are appended to."""

    durable = True

    def __init__(self, url: str) -> None:
        self.url = url
        with psycopg.connect(url) as connection:
            connection.execute("CREATE TABLE rows (n bigint, s text)")

    def restarted(self) -> TableSink:
        table = SinkTable("rows", COLUMNS, (), Changes.APPEND, None)
        database = Database(self.url, {})
        return TableSink(database, TableName("", "rows"), table, create=False, keeps=True)

    def stored(self) -> bytes:
        with psycopg.connect(self.url) as connection:
            rows = connection.execute("SELECT n, s FROM rows ORDER BY ctid").fetchall()
        return b"".join(
            json.dumps({"n": n, "s": s}, separators=(",", ":")).encode() + b"\n" for n, s in rows
        )


@pytest.mark.parametrize(
    "check", [*sinks.CHECKS, *sinks.DURABLE_CHECKS], ids=lambda each: each.__name__
)
def test_rules(url: str, check: Callable[[sinks.Subject], None]) -> None:
    check(TableSubject(url))


class KilledError(Exception):
    """The process has ended."""


STEPS = ("copy", "record", "commit", "committed")


@pytest.mark.parametrize("seed", range(3))
def test_rows_come_once_although_the_process_is_killed(
    url: str, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """It is killed at random before or after each statement, and after the commit."""
    random = Random(seed)
    execute, record = Statements.execute, Progress.record

    def die(connection: psycopg.Connection[Any], chance: float = 0.15) -> None:
        if random.random() < chance:
            with suppress(psycopg.Error):
                connection.close()
            raise KilledError

    def execute_or_die(self: Statements, connection: Any, pieces: Any) -> None:
        die(connection)
        execute(self, connection, pieces)
        die(connection)

    def record_or_die(self: Progress, position: Root) -> None:
        record(self, position)
        die(self._connection)
        if random.random() < 0.15:  # after the commit, which is not acknowledged
            self._connection.execute("COMMIT")
            die(self._connection, 1.0)

    monkeypatch.setattr(Statements, "execute", execute_or_die)
    monkeypatch.setattr(Progress, "record", record_or_die)
    subject = TableSubject(url)
    for epoch in range(1, 200):
        sink = subject.restarted()
        with suppress(SinkLostError), closing(sink):
            sinks.run_to_end(sink, epoch, seed=random.randrange(1000))
            break
    assert subject.stored() == sinks.expected()
    assert epoch > 1


def test_a_process_of_an_older_epoch_writes_nothing_more(url: str) -> None:
    subject = TableSubject(url)
    older, newer = subject.restarted(), subject.restarted()
    older.open(sinks.opening(1))
    sinks.deliver_and_wait(older, sinks.bundle(0, 6))
    assert newer.open(sinks.opening(2)).position == Root(2, 0)
    with pytest.raises(SinkLostError):
        sinks.deliver_and_wait(older, sinks.bundle(6, 9))
    sinks.deliver_and_wait(newer, sinks.bundle(6, 12))
    older.close()
    newer.close()
    assert subject.stored() == sinks.expected(0, 12)


def test_an_older_epoch_that_connects_again_is_fenced_by_its_number(url: str) -> None:
    """It is not its session alone that ends: its transactions find no row of their epoch."""
    subject = TableSubject(url)
    older, newer = subject.restarted(), subject.restarted()
    older.open(sinks.opening(1))
    assert older._writer is not None
    newer.open(sinks.opening(2))
    older._writer._connection.close()
    connection = older._database.connect("again")
    older._writer._connection = connection
    older._writer._record.__self__._connection = connection  # type: ignore[attr-defined]
    with pytest.raises(SinkLostError, match="a later epoch than 1 has begun"):
        sinks.deliver_and_wait(older, sinks.bundle(0, 6))
    newer.close()
    older.close()
    assert subject.stored() == b""


def test_an_open_transaction_of_an_older_epoch_does_not_block(url: str) -> None:
    subject = TableSubject(url)
    older, newer = subject.restarted(), subject.restarted()
    older.open(sinks.opening(1))
    assert older._writer is not None
    connection = older._writer._connection
    connection.execute("BEGIN")
    older._writer._record(Root(5, 0))  # the process stops here, and holds the lock
    assert newer.open(sinks.opening(2)).position == START
    sinks.deliver_and_wait(newer, sinks.bundle(0, 6))
    newer.close()
    older.close()
    assert subject.stored() == sinks.expected(0, 6)


def test_jobs_have_positions_of_their_own(url: str) -> None:
    subject = TableSubject(url)
    first, second = subject.restarted(), subject.restarted()
    first.open(sinks.opening(1))
    second.open(sinks.opening(7)._replace(owner="another"))
    sinks.deliver_and_wait(second, sinks.bundle(0, 3))
    sinks.deliver_and_wait(first, sinks.bundle(0, 6))
    first.close()
    second.close()
    assert subject.stored() == sinks.expected(0, 3) + sinks.expected(0, 6)


def test_a_server_that_is_killed_and_comes_back_has_each_row_once(server: PostgresServer) -> None:
    subject = TableSubject(server.url)
    first = subject.restarted()
    first.open(sinks.opening(1))
    sinks.deliver_and_wait(first, sinks.bundle(0, 6))
    server.kill()
    with pytest.raises(SinkLostError):
        sinks.deliver_and_wait(first, sinks.bundle(6, 12))
    with pytest.raises(SinkLostError):
        first.open(sinks.opening(2))
    server.start()
    assert first.open(sinks.opening(3)).position == Root(2, 0)
    sinks.deliver_and_wait(first, sinks.bundle(6, 12))
    first.close()
    assert subject.stored() == sinks.expected(0, 12)


def test_a_server_that_is_frozen_is_said_to_be_missing(server: PostgresServer) -> None:
    subject = TableSubject(server.url)
    with closing(subject.restarted()) as sink:
        sink.open(sinks.opening(1))
        sinks.deliver_and_wait(sink, sinks.bundle(0, 6))
        server.freeze()
        sink.deliver(sinks.bundle(6, 12))
        while (reason := sink.missing_reason) is None:
            sink.wait(0.1)
        place = f"127.0.0.1:{server.port}/postgres"
        assert reason == f'the PostgreSQL database "{place}" does not answer'
        server.thaw()
        sinks.wait_for(sink, Root(4, 0))
    assert subject.stored() == sinks.expected(0, 12)
