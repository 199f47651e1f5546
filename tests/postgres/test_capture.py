"""The events of a table while everything is killed: they make the table of the database."""

from __future__ import annotations

import json
import os
from itertools import repeat
from random import Random
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BIGINT, STRING
from fsql.connectors.postgres.captured_table import UNAVAILABLE
from fsql.connectors.postgres.change_stream import ChangeStream
from fsql.tests.postgres.captures import COLUMNS, LARGE, Capturing, stored, table_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


SLOTS = (
    "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots"
    " WHERE slot_name = 's' || current_database()"
)


@pytest.fixture(autouse=True)
def dropped_slots(url: str) -> Iterator[None]:
    yield
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(SLOTS)


def change_at_random(connection: psycopg.Connection[Any], random: Random, keys: list[Any]) -> None:
    """Carry out a transaction of a few changes, which may be rolled back."""
    with connection.transaction(force_rollback=random.random() < 0.1):
        for _ in range(random.randrange(1, 12)):
            key, other = random.choice(keys), random.choice(keys)
            text = f'{random.randrange(10**6)}\n\\\t"é'
            long = random.randbytes(3000).hex()  # is stored apart
            match random.randrange(8):
                case 0 | 1 | 2:
                    connection.execute(
                        "INSERT INTO t VALUES (%s, %s, %s) ON CONFLICT (k) DO UPDATE SET v = EXCLUDED.v",
                        [key, text, random.choice([long, None, "short"])],
                    )
                case 3 | 4:
                    connection.execute("UPDATE t SET v = %s WHERE k = %s", [text, key])
                case 5:
                    connection.execute("DELETE FROM t WHERE k = %s", [key])
                case 6:
                    connection.execute(
                        "UPDATE t SET k = %s, long = 'moved' WHERE k = %s"
                        " AND NOT EXISTS (SELECT FROM t WHERE k = %s)",
                        [other, key, other],
                    )
                case _:
                    connection.execute("UPDATE t SET long = %s WHERE k = %s", [long, key])


INTEGERS = list(range(-40, 60))
TEXTS = [f"{chr(65 + n % 26)}{'ä' * (n % 3)}{n} " for n in range(60)]


@pytest.mark.parametrize("seed", range(6))
def test_events_make_the_table_although_all_is_killed(  # noqa: C901 - a case for each way to end
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    for sync in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, sync, lambda _: None)
    monkeypatch.setattr("fsql.connectors.live.piece_journal.RECORDS_MIN", 5)
    random = Random(seed)
    by_text, full = seed % 2 == 1, seed % 3 == 0
    keys: list[Any] = TEXTS if by_text else INTEGERS
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            f"CREATE TABLE t (k {'text' if by_text else 'bigint'} PRIMARY KEY, v text, long text);"
            f"ALTER TABLE t REPLICA IDENTITY {'FULL' if full else 'DEFAULT'}"
        )
        for _ in range(10):
            change_at_random(connection, random, keys)
        columns = (Column("k", STRING if by_text else BIGINT), *COLUMNS[1:])
        job = Capturing(tmp_path, url, columns)
        seen: list[str] = []
        for _ in range(60):
            for _ in range(random.randrange(3)):
                change_at_random(connection, random, keys)
            if random.random() < 0.7:
                job.step(random.randrange(50, 5000))
            match random.randrange(8):
                case 0:  # a part of what was read can be seen
                    job.step(random.randrange(50, 20_000), random.random())
                    job.start()
                case 1:  # nothing of it
                    job.inflow.read(random.randrange(50, 20_000), 0.05)
                    job.start()
                case 2:  # the connections are lost
                    connection.execute(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                        " WHERE application_name LIKE 'fsql %' AND datname = current_database()"
                    )
                    job.inflow._stream._clock = lambda: float("inf")
                case _:
                    pass
            now = job.lines()
            assert now[: len(seen)] == seen, "a line that was seen has changed"
            seen = now
        job.start()
        last = None
        while not job.inflow._stream.place.copied:
            job.step()
        connection.execute("INSERT INTO t (k, v) VALUES (%s, 'the end')", [keys[-1] * 2])
        while last != "the end":
            job.step()
            seen = job.lines()
            last = table_of(seen).get(keys[-1] * 2, {}).get("v")
        job.close()
    assert table_of(seen) == stored(url)


def carried(job: Capturing, lines: int) -> list[str]:
    """Carry events to the log until it has so many."""
    while len(job.lines()) < lines:
        job.step()
    return job.lines()


def copied(job: Capturing) -> Capturing:
    while not job.inflow._stream.place.copied:
        job.step()
    return job


@pytest.fixture
def connection(url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE t (k bigint PRIMARY KEY, v text, long text)")
        yield connection


def test_events_of_each_kind(tmp_path: Path, url: str, connection: psycopg.Connection[Any]) -> None:
    connection.execute("INSERT INTO t VALUES (1, 'a', repeat('x', 10)), (2, NULL, NULL)")
    connection.execute("ALTER TABLE t ALTER long SET STORAGE EXTERNAL")
    job = copied(Capturing(tmp_path, url))
    with connection.transaction():
        connection.execute("UPDATE t SET long = repeat('y', 3000) WHERE k = 1")
        connection.execute("UPDATE t SET v = 'b' WHERE k = 1")
        connection.execute("UPDATE t SET k = 3 WHERE k = 2")
        connection.execute("DELETE FROM t WHERE k = 3")
    connection.execute("TRUNCATE t")
    lines = carried(job, 7)
    job.close()
    long, kept = "y" * 3000, json.dumps(UNAVAILABLE)
    assert lines == [
        '{"op":"r","key":["1"],"before":null,"after":{"k":1,"v":"a","long":"xxxxxxxxxx"}}',
        '{"op":"r","key":["2"],"before":null,"after":{"k":2,"v":null,"long":null}}',
        f'{{"op":"u","before":null,"after":{{"k":1,"v":"a","long":"{long}"}}}}',
        f'{{"op":"u","before":null,"after":{{"k":1,"v":"b","long":{kept}}}}}',
        '{"op":"u","before":{"k":2},"after":{"k":3,"v":null,"long":null}}',
        '{"op":"d","before":{"k":3},"after":null}',
        '{"op":"t"}',
    ]


def test_a_job_does_not_wait_for_torn_events_before_it_reads(
    tmp_path: Path, url: str, connection: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server may be gone: a job that starts can be stopped meanwhile."""
    job = copied(Capturing(tmp_path, url))
    connection.execute("INSERT INTO t VALUES (1, 'a', 'b'), (2, 'c', 'd')")
    while not job.step(share=0.7):
        pass
    read = ChangeStream.read
    answers: Iterator[bool] = iter([False, False])

    def read_late(self: ChangeStream, bytes_max: int, seconds: float) -> bytes:
        return read(self, bytes_max, seconds) if next(answers) else b""

    monkeypatch.setattr(ChangeStream, "read", read_late)
    job.start()
    assert job.inflow.read(LARGE, 0.0) is None
    assert job.inflow.read(LARGE, 0.0) is None
    answers = repeat(object=True)
    rows = table_of(carried(job, 2))
    job.close()
    assert rows == {1: {"k": 1, "v": "a", "long": "b"}, 2: {"k": 2, "v": "c", "long": "d"}}


def test_a_read_ends_although_only_other_tables_change(
    tmp_path: Path, url: str, connection: psycopg.Connection[Any]
) -> None:
    """A publication may have several tables; their changes count as bytes that were read."""
    connection.execute("CREATE TABLE other (n int, s text)")
    connection.execute("CREATE PUBLICATION p FOR TABLE t, other")
    job = copied(Capturing(tmp_path, url))
    connection.execute("INSERT INTO other SELECT n, repeat('x', 50) FROM generate_series(1, 100) n")
    connection.execute("INSERT INTO t VALUES (1)")
    reads = 0
    while not (job.inflow.read(500, 10.0) or b""):
        reads += 1
    job.close()
    assert reads >= 100 * 50 // 500


def test_a_new_job_may_begin_with_the_first_change(
    tmp_path: Path, url: str, connection: psycopg.Connection[Any]
) -> None:
    connection.execute("INSERT INTO t VALUES (1)")
    job = copied(Capturing(tmp_path, url, from_latest=True))
    connection.execute("INSERT INTO t VALUES (2)")
    assert table_of(carried(job, 1)) == {2: {"k": 2, "v": None, "long": None}}
    job.close()


def test_a_column_that_is_dropped_stops_the_job(
    tmp_path: Path, url: str, connection: psycopg.Connection[Any]
) -> None:
    job = copied(Capturing(tmp_path, url))
    connection.execute("ALTER TABLE t ADD added int DEFAULT 3")
    connection.execute("INSERT INTO t VALUES (1)")
    carried(job, 1)
    connection.execute("ALTER TABLE t DROP v; INSERT INTO t VALUES (2)")
    with pytest.raises(
        FsqlError, match=r"E535: column 'v' of table public\.t was dropped or renamed"
    ):
        carried(job, 2)
    job.close()


@pytest.mark.parametrize(
    ("done", "reason"),
    [
        (
            "SELECT pg_drop_replication_slot('s' || current_database())",
            "the slot does not exist any more",
        ),
        (
            "SELECT pg_replication_slot_advance('s' || current_database(), pg_current_wal_flush_lsn())",
            "the slot was read by others",
        ),
        (
            "DROP TABLE t; CREATE TABLE t (k bigint PRIMARY KEY, v text, long text)",
            "is another one",
        ),
    ],
    ids=["dropped", "advanced", "table"],
)
def test_changes_that_are_lost_are_an_error(
    tmp_path: Path, url: str, connection: psycopg.Connection[Any], done: str, reason: str
) -> None:
    connection.execute("INSERT INTO t VALUES (1)")
    job = copied(Capturing(tmp_path, url))
    job.close()
    connection.execute("INSERT INTO t VALUES (2)")
    while connection.execute("SELECT bool_or(active) FROM pg_replication_slots").fetchone() != (
        False,
    ):
        pass
    for statement in done.split("; "):
        connection.execute(statement)
    if "DROP TABLE" in done:
        connection.execute("ALTER PUBLICATION p ADD TABLE t")
    job.start()
    with pytest.raises(FsqlError, match=f"E536: .*{reason}"):
        carried(job, 2)
    job.close()


def test_a_slot_of_another_job_is_not_used(
    tmp_path: Path, url: str, connection: psycopg.Connection[Any]
) -> None:
    del connection
    copied(Capturing(tmp_path / "one", url)).close()
    with pytest.raises(FsqlError, match=r"E531: there is a replication slot 's.*' already"):
        Capturing(tmp_path / "other", url)


def test_the_server_may_forget_what_is_durable(
    tmp_path: Path, url: str, connection: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also what was written to other tables."""
    monkeypatch.setattr("fsql.connectors.postgres.change_stream._STATUS_SECONDS", 0.0)
    monkeypatch.setattr("fsql.connectors.postgres.capture_inflow._PASS_SECONDS", 0.0)
    job = copied(Capturing(tmp_path, url))
    connection.execute("CREATE TABLE other (n int); INSERT INTO t VALUES (1)")
    carried(job, 1)
    for statement in ("SELECT 1", "INSERT INTO other SELECT generate_series(1, 1000)"):
        connection.execute(statement)
        end = connection.execute("SELECT pg_current_wal_flush_lsn()").fetchone()
        assert end is not None
        due = (
            "SELECT confirmed_flush_lsn >= %s FROM pg_replication_slots"
            " WHERE slot_name = 's' || current_database()"
        )
        while connection.execute(due, end).fetchone() != (True,):
            job.step()
    job.start()
    connection.execute("INSERT INTO t VALUES (2)")
    assert table_of(carried(job, 2)).keys() == {1, 2}
    job.close()
