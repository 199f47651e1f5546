# ruff: noqa: E501 - messages are whole
"""Tables that are read as they change."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING

import psycopg
import pytest

from fsql.tests.cli.commands import fsql, process
from fsql.tests.cluster.twin import wait_until
from fsql.tests.kafka.killed_runs import kill
from fsql.tests.postgres.test_written_tables import execute, options, said, script_of

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.tests.postgres.server import PostgresServer


def relation(text: str) -> list[dict[str, object]]:
    """Return the rows that changes add up to."""
    rows: list[dict[str, object]] = []
    for line in text.splitlines():
        change = json.loads(line)
        if change.pop("op") in {"-U", "-D"}:
            rows.remove(change)
        else:
            rows.append(change)
    return rows


def test_a_table_is_copied(tmp_path: Path, url: str) -> None:
    execute(
        url, "CREATE TABLE t (k int PRIMARY KEY, v text); INSERT INTO t VALUES (1, 'a'), (2, NULL)"
    )
    script = script_of(
        tmp_path,
        "CREATE TABLE t (k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED)"
        f" WITH ({options(url, 't')}, 'slot' = 's', 'ends' = 'latest');\nSELECT * FROM t;",
    )
    result = fsql("run", "-q", script)
    assert said(result.err) == ""
    assert relation(result.out) == [{"k": 1, "v": "a"}, {"k": 2, "v": None}]


PAIR = "CREATE TABLE {name} (k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ({options});\n"


def mirror(tmp_path: Path, url: str, slot: str, query: str = "SELECT * FROM t") -> Path:
    """Return a script that writes what `query` makes of a table to another table."""
    source = PAIR.format(name="t", options=f"{options(url, 't')}, 'slot' = '{slot}'")
    target = PAIR.format(name="w", options=f"{options(url, 'w')}, 'create' = 'true'")
    return script_of(tmp_path, f"{source}{target}INSERT INTO w {query};")


@pytest.mark.slow
def test_a_job_that_is_killed_keeps_two_tables_equal(
    tmp_path: Path, server: PostgresServer
) -> None:
    """The job is killed, and so is the server; the tables are equal in the end, and each row was written."""
    url = server.url
    execute(url, "CREATE TABLE t (k int PRIMARY KEY, v text)")
    execute(url, "INSERT INTO t SELECT n, 'old ' || n FROM generate_series(1, 2000) n")
    script = mirror(tmp_path, url, "mirrored")

    def change(number: int) -> None:
        execute(url, f"UPDATE t SET v = 'new {number}' WHERE k % 7 = {number % 7}")
        execute(url, f"DELETE FROM t WHERE k % 50 = {number % 50}")
        execute(url, f"INSERT INTO t VALUES ({10_000 + number}, 'added')")

    def is_equal() -> bool:
        found = execute(url, "SELECT to_regclass('w') IS NOT NULL")
        compared = (
            "SELECT count(*) FROM (TABLE t EXCEPT TABLE w) a"
            " FULL JOIN (TABLE w EXCEPT TABLE t) b USING (k)"
        )
        return found == [(True,)] and execute(url, compared) == [(0,)]

    flags = ("-q", "--state", str(tmp_path / "state"), "--workers", "2")
    for attempt in range(3):
        with process("run", *flags, str(script)) as run:
            change(3 * attempt)
            wait_until(is_equal, "equal tables")
            change(3 * attempt + 1)
            if attempt == 1:
                server.kill()
                server.start()
                change(100)
            if attempt < 2:
                kill(run)
            else:
                wait_until(is_equal, "equal tables")
                run.send_signal(signal.SIGINT)
        change(3 * attempt + 2)
    [(slot_at, now)] = execute(
        url,
        "SELECT confirmed_flush_lsn - '0/0', pg_current_wal_flush_lsn() - '0/0' FROM pg_replication_slots",
    )
    assert 0 < slot_at <= now


def test_a_table_that_is_appended_to_has_each_change_once(tmp_path: Path, url: str) -> None:
    execute(url, "CREATE TABLE t (k int PRIMARY KEY, v text); INSERT INTO t VALUES (1, 'a')")
    script = script_of(
        tmp_path,
        PAIR.format(
            name="t", options=f"{options(url, 't')}, 'slot' = 'appended', 'ends' = 'latest'"
        )
        + f"CREATE TABLE w (k INT, v STRING) WITH ({options(url, 'w')}, 'create' = 'true',"
        " 'changes' = 'retract');\nINSERT INTO w SELECT * FROM t;",
    )
    state = ("--state", tmp_path / "state")
    assert fsql("run", "-q", *state, script) == (0, "", "")
    rows = [(1, "a", "+I")]
    assert execute(url, "SELECT k, v, op FROM w ORDER BY ctid") == rows
    execute(url, "SELECT pg_drop_replication_slot('appended')")


@pytest.mark.parametrize(
    ("made", "declared", "error"),
    [
        (
            "SELECT 1",
            "k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED",
            (
                "the database \"{place}\" has no table t\nhelp: correct the option 'table', or create the table;"
                " fsql reads it only\n"
            ),
        ),
        (
            "CREATE TABLE t (k int PRIMARY KEY)",
            "k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED",
            (
                "table public.t of the database has no column 'v'\nnote: it has k\n"
                "help: declare the columns that it has\n"
            ),
        ),
        (
            "CREATE TABLE t (k int PRIMARY KEY, v text)",
            "k INT, v STRING",
            (
                "the changes of table public.t cannot be read: without a PRIMARY KEY in the script, changes need"
                " whole old rows\nhelp: declare PRIMARY KEY (k) NOT ENFORCED\n"
                'help: ALTER TABLE "public"."t" REPLICA IDENTITY FULL\n'
            ),
        ),
        (
            "CREATE TABLE t (k int PRIMARY KEY, v text NOT NULL UNIQUE)",
            "k INT, v STRING, PRIMARY KEY (v) NOT ENFORCED",
            (
                "the changes of table public.t cannot be read: changes do not have the old value of column 'v',"
                ' which deletions need\nhelp: ALTER TABLE "public"."t" REPLICA IDENTITY FULL\n'
            ),
        ),
        (
            "CREATE TABLE t (k int PRIMARY KEY, v text)",
            "k INT, v STRING, PRIMARY KEY (v) NOT ENFORCED",
            (
                "the changes of table public.t cannot be read: it has no unique index of the PRIMARY KEY (v) of"
                " the script\nhelp: declare the key that it has\n"
            ),
        ),
        (
            "CREATE TABLE t (k int PRIMARY KEY, v text); CREATE PUBLICATION none",
            "k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED",
            (
                "the changes of table public.t cannot be read: publication none does not have it\n"
                'help: ALTER PUBLICATION "none" ADD TABLE "public"."t"\n'
            ),
        ),
        (
            (
                "CREATE TABLE t (k int PRIMARY KEY, v text);"
                " CREATE PUBLICATION none FOR TABLE t WITH (publish = 'insert')"
            ),
            "k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED",
            (
                "the changes of table public.t cannot be read: publication none leaves out kinds of changes\n"
                "help: ALTER PUBLICATION \"none\" SET (publish = 'insert, update, delete, truncate')\n"
            ),
        ),
        (
            "CREATE TABLE t (k int PRIMARY KEY, v text GENERATED ALWAYS AS ('a' || k) STORED)",
            "k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED",
            (
                "the changes of table public.t cannot be read: column 'v' is computed, and changes do not have it"
                "\nhelp: leave the column out, and compute it in the query\n"
            ),
        ),
    ],
    ids=["table", "column", "no key", "identity", "index", "publication", "kinds", "computed"],
)
def test_what_cannot_be_captured(
    tmp_path: Path, url: str, made: str, declared: str, error: str
) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in made.split("; "):
            connection.execute(statement)
    more = ", 'slot' = 's', 'publication' = 'none'"
    script = script_of(
        tmp_path, f"CREATE TABLE t ({declared}) WITH ({options(url, 't', more)});\nSELECT * FROM t;"
    )
    result = fsql("run", "-q", script)
    place = url.partition("@")[2]
    assert said(result.err) == f"error[FSQL-E531]: {error.replace('{place}', place)}"
