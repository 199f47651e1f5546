# ruff: noqa: E501 - messages are whole
"""Runs that write tables of PostgreSQL: types, changes, tables that are created, and what is refused."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from fsql.tests.cli.commands import fsql

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.tests.postgres.server import PostgresServer


def execute(url: str, statement: str) -> list[Any]:
    with psycopg.connect(url) as connection:
        found = connection.execute(statement)
        return found.fetchall() if found.description else []


def script_of(tmp_path: Path, text: str, rows: list[dict[str, object]] | None = None) -> Path:
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows or []))
    script = tmp_path / "job.sql"
    script.write_text(text)
    return script


def said(text: str) -> str:
    """Return an error without the lines that show the script."""
    lines = (line.removeprefix("  = ") for line in text.splitlines(keepends=True))
    return "".join(line for line in lines if line.startswith(("error", "note", "help")))


def options(url: str, table: str, more: str = "") -> str:
    return f"'connector' = 'postgres', 'url' = '{url}', 'table' = '{table}'{more}"


KINDS = [
    ("BOOLEAN", "boolean", "TRUE", True),
    ("TINYINT", "smallint", "CAST(-128 AS TINYINT)", -128),
    ("SMALLINT", "smallint", "CAST(-32768 AS SMALLINT)", -32768),
    ("INT", "integer", "-2147483648", -2147483648),
    ("BIGINT", "bigint", "9223372036854775807", 9223372036854775807),
    ("UTINYINT", "smallint", "CAST(255 AS UTINYINT)", 255),
    ("USMALLINT", "integer", "CAST(65535 AS USMALLINT)", 65535),
    ("UINT", "bigint", "CAST(4294967295 AS UINT)", 4294967295),
    ("UBIGINT", "numeric(20,0)", "CAST('18446744073709551615' AS UBIGINT)", Decimal(2**64 - 1)),
    (
        "DECIMAL(10, 3)",
        "numeric(10,3)",
        "CAST('-1234567.890' AS DECIMAL(10, 3))",
        Decimal("-1234567.890"),
    ),
    ("FLOAT", "real", "CAST(0.1 AS FLOAT)", 0.1),
    ("DOUBLE", "double precision", "1e300 / 3", 1e300 / 3),
    ("STRING", "text", "'a\"b\\.,\n''ü'", "a\"b\\.,\n'ü"),
    ("BYTES", "bytea", "CAST('a\\' AS BYTES)", b"a\\"),
    ("DATE", "date", "DATE '0001-01-01'", date(1, 1, 1)),
    ("TIME", "time without time zone", "TIME '23:59:59.999999'", time(23, 59, 59, 999999)),
    (
        "TIMESTAMP(3)",
        "timestamp(3) without time zone",
        "TIMESTAMP '2026-03-29 01:30:00.123'",
        datetime(2026, 3, 29, 1, 30, 0, 123000),  # noqa: DTZ001 - a local time
    ),
    (
        "TIMESTAMP_LTZ(6)",
        "timestamp(6) with time zone",
        "TO_TIMESTAMP_LTZ(1700000000123, 3)",
        datetime.fromtimestamp(1700000000.123, UTC),
    ),
    ("INTERVAL DAY TO SECOND", "interval", "INTERVAL '-1' HOUR", timedelta(hours=-1)),
    ("ARRAY<STRING>", "text[]", "ARRAY['a\"', '\\b,', '', 'NULL']", ['a"', "\\b,", "", "NULL"]),
    ("ARRAY<INT>", "integer[]", "ARRAY[1, CAST(NULL AS INT), 3]", [1, None, 3]),
    ("ROW<a INT, b STRING>", "jsonb", "ROW(1, 'x')", {"a": 1, "b": "x"}),
    ("MAP<STRING, INT>", "jsonb", "MAP['k', 1]", {"k": 1}),
    ("ARRAY<ARRAY<INT>>", "jsonb", "ARRAY[ARRAY[1], ARRAY[2, 3]]", [[1], [2, 3]]),
    ("JSON", "jsonb", "'{\"a\": [1, null]}'", {"a": [1, None]}),
]


def test_every_type_is_created_and_written(tmp_path: Path, url: str) -> None:
    names = [f"c{index}" for index in range(len(KINDS))]
    columns = ", ".join(f"{name} {kind[0]}" for name, kind in zip(names, KINDS, strict=True))
    values = ", ".join(f"{kind[2]} AS {name}" for name, kind in zip(names, KINDS, strict=True))
    script = script_of(
        tmp_path,
        "CREATE TABLE t (n INT) WITH ('connector' = 'file', 'path' = 'rows.jsonl', 'time' = 'offset');\n"
        f"CREATE TABLE w (n INT, {columns}) WITH ({options(url, 'w', ', ' + CREATE)});\n"
        f"INSERT INTO w SELECT n, {values} FROM t WHERE n = 1;\n"
        f"INSERT INTO w (n) SELECT n FROM t WHERE n = 2;\n",
        [{"n": 1}, {"n": 2}],
    )
    assert fsql("run", "-q", script) == (0, "", "")
    declared = execute(
        url,
        "SELECT format_type(atttypid, atttypmod) FROM pg_attribute"
        " WHERE attrelid = 'w'::regclass AND attnum > 1 ORDER BY attnum",
    )
    assert [name for (name,) in declared] == [kind[1] for kind in KINDS]
    first, second = execute(url, "SELECT * FROM w ORDER BY n")
    found = [
        pytest.approx(each, rel=1e-7) if kind[0] == "FLOAT" else each
        for each, kind in zip(first[1:], KINDS, strict=True)
    ]
    assert found == [kind[3] for kind in KINDS]
    assert second == (2, *[None] * len(KINDS))


CREATE = "'create' = 'true'"
WORDS = (
    "CREATE TABLE t (word STRING, n BIGINT)"
    " WITH ('connector' = 'file', 'path' = 'rows.jsonl', 'time' = 'offset');\n"
)


def test_rows_replace_each_other_by_their_key(tmp_path: Path, url: str) -> None:
    script = script_of(
        tmp_path,
        f"{WORDS}CREATE TABLE w (word STRING, total BIGINT, PRIMARY KEY (word) NOT ENFORCED)"
        f" WITH ({options(url, 'w', ', ' + CREATE)});\n"
        "INSERT INTO w SELECT word, SUM(n) FROM t GROUP BY word HAVING SUM(n) < 10;",
        [{"word": w, "n": n} for w, n in [("a", 1), ("b", 2), ("a", 3), ("c", 20), ("b", 9)]],
    )
    assert fsql("run", "-q", script) == (0, "", "")
    assert execute(url, "SELECT * FROM w ORDER BY 1") == [("a", 4)]
    assert execute(url, "SELECT indisprimary FROM pg_index WHERE indrelid = 'w'::regclass") == [
        (True,)
    ]


def test_changes_without_a_key_are_rows_with_their_kind(tmp_path: Path, url: str) -> None:
    script = script_of(
        tmp_path,
        f"{WORDS}CREATE TABLE w (word STRING, total BIGINT)"
        f" WITH ({options(url, 'w', ', ' + CREATE)}, 'changes' = 'retract');\n"
        "INSERT INTO w SELECT word, SUM(n) FROM t GROUP BY word;",
        [{"word": w, "n": n} for w, n in [("a", 1), ("a", 3)]],
    )
    assert fsql("run", "-q", script) == (0, "", "")
    rows = [("a", 1, "+I"), ("a", 1, "-U"), ("a", 4, "+U")]
    assert execute(url, "SELECT word, total, op FROM w ORDER BY ctid") == rows


def test_the_columns_of_the_database_may_have_other_types(tmp_path: Path, url: str) -> None:
    execute(
        url,
        "CREATE TYPE mood AS ENUM ('ok', 'bad'); CREATE SCHEMA \"My.S\";"
        'CREATE TABLE "My.S"."W" (id uuid PRIMARY KEY, "Mood" mood, tags varchar[], n numeric, at date,'
        " doc json, added int DEFAULT 7, twice numeric GENERATED ALWAYS AS (n * 2) STORED)",
    )
    script = script_of(
        tmp_path,
        "CREATE TABLE t (id STRING, mood STRING, tags ARRAY<STRING>, n INT, doc ROW<a INT>)"
        " WITH ('connector' = 'file', 'path' = 'rows.jsonl', 'time' = 'offset');\n"
        'CREATE TABLE w (id STRING, "Mood" STRING, tags ARRAY<STRING>, n INT, at DATE, doc ROW<a INT>)'
        f" WITH ({options(url, chr(34) + 'My.S' + chr(34) + '.W')});\n"
        "INSERT INTO w SELECT id, mood, tags, n, DATE '2026-01-02', doc FROM t;",
        [
            {
                "id": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
                "mood": "ok",
                "tags": ["x"],
                "n": 4,
                "doc": {"a": 1},
            }
        ],
    )
    assert fsql("run", "-q", script) == (0, "", "")
    [row] = execute(url, 'SELECT * FROM "My.S"."W"')
    assert [str(row[0]), *row[1:]] == [
        "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
        *("ok", ["x"], Decimal(4), date(2026, 1, 2), {"a": 1}, 7, Decimal(8)),
    ]


@pytest.mark.parametrize(
    ("created", "declared", "values", "error"),
    [
        (
            "SELECT 1",
            "a INT",
            "SELECT 1 FROM t",
            (
                "E532]: the database \"{place}\" has no table w\nhelp: write 'create' = 'true'\n"
                'help: or create it: CREATE TABLE "w" ("a" integer)\n'
            ),
        ),
        (
            "CREATE TABLE w (b int, c int)",
            "a INT",
            "SELECT 1 FROM t",
            (
                "E532]: table public.w of the database has no column 'a'\nnote: it has b, c\n"
                "help: declare the columns that it has\n"
            ),
        ),
        (
            "CREATE TABLE w (a text, n bigint)",
            "a STRING, n BIGINT, PRIMARY KEY (a) NOT ENFORCED",
            "SELECT word, COUNT(*) FROM t GROUP BY word",
            (
                'E532]: table w of the database cannot be written: it has no unique index of the key ("a"),'
                ' by which rows are replaced\nhelp: ALTER TABLE "public"."w" ADD PRIMARY KEY ("a")\n'
            ),
        ),
        (
            "CREATE TABLE w (a int)",
            "a DOUBLE",
            "SELECT 1e0 FROM t",
            (
                "E532]: table w of the database cannot be written: column 'a' is int4, and gets DOUBLE\n"
                "help: cast the value in the query, or let the column be:"
                ' ALTER TABLE "public"."w" ALTER "a" TYPE double precision\n'
            ),
        ),
        (
            "CREATE TABLE w (a int, b int NOT NULL)",
            "a INT",
            "SELECT 1 FROM t",
            (
                "E532]: table w of the database cannot be written: column 'b' is NOT NULL, and rows do not have"
                " it\nhelp: declare the column, or give it a default in the database\n"
            ),
        ),
        (
            "CREATE TABLE w (a int CHECK (a > 3))",
            "a INT",
            "SELECT 1 FROM t",
            (
                'E535]: writing table w of "{place}" failed: new row for relation "w" violates check constraint'
                ' "w_a_check"\nnote: Failing row contains (1).\n'
                "help: leave out such rows, with WHERE, or change the constraint\n"
            ),
        ),
        (
            "CREATE TABLE w (a int UNIQUE); INSERT INTO w VALUES (1)",
            "a INT",
            "SELECT 1 FROM t",
            (
                'E535]: writing table w of "{place}" failed: duplicate key value violates unique constraint'
                ' "w_a_key"\nnote: Key (a)=(1) already exists.\nhelp: the rows are not unique: declare PRIMARY'
                " KEY (…) NOT ENFORCED, so that rows of a key replace each other, or drop the constraint\n"
            ),
        ),
        (
            "CREATE TABLE w (a smallint)",
            "a INT",
            "SELECT 99999 FROM t",
            (
                'E535]: writing table w of "{place}" failed: value "99999" is out of range for type smallint\n'
                "help: a value does not fit its column: give the column of the database another type, or cast"
                " the value\n"
            ),
        ),
    ],
    ids=["no table", "no column", "no key", "type", "not null", "check", "unique", "range"],
)
def test_what_the_database_refuses(
    tmp_path: Path, url: str, created: str, declared: str, values: str, error: str
) -> None:
    execute(url, created)
    script = script_of(
        tmp_path,
        f"{WORDS}CREATE TABLE w ({declared}) WITH ({options(url, 'w')});\nINSERT INTO w {values};",
        [{"word": "a", "n": 1}],
    )
    place = url.partition("@")[2]
    result = fsql("run", "-q", script)
    assert result.out == ""
    assert said(result.err) == f"error[FSQL-{error.replace('{place}', place)}"
    assert result.code != 0


def test_rights_that_are_missing_are_named(
    tmp_path: Path, url: str, shared_server: PostgresServer
) -> None:
    database = url.rpartition("/")[2]
    role = f"writer_{database}"
    execute(url, f"CREATE TABLE w (a int); CREATE ROLE {role} LOGIN")
    script = script_of(
        tmp_path,
        f"{WORDS}CREATE TABLE w (a BIGINT) WITH ({options(shared_server.url_of(database, role), 'w')});\n"
        "INSERT INTO w SELECT n FROM t;",
        [{"word": "a", "n": 1}],
    )
    assert said(fsql("run", "-q", script).err) == (
        f"error[FSQL-E532]: table w of the database cannot be written: role '{role}' has no right INSERT\n"
        f'help: let its owner: GRANT INSERT ON "public"."w" TO "{role}"\n'
    )
    execute(url, f"GRANT INSERT ON w TO {role}")
    assert fsql("run", "-q", script) == (0, "", "")
    result = fsql("run", "-q", "--state", tmp_path / "state", script)
    create = (
        'CREATE TABLE "public"."fsql_progress" (job text NOT NULL, output text NOT NULL, epoch bigint NOT'
        " NULL, time bigint NOT NULL, origin bigint NOT NULL, written timestamptz NOT NULL, PRIMARY KEY"
        " (job, output))"
    )
    grant = 'GRANT SELECT, INSERT, UPDATE ON "public"."fsql_progress" TO'
    assert said(result.err).startswith(
        "error[FSQL-E532]: creating the table of positions, public.fsql_progress, failed: permission denied"
        f" for schema public\nhelp: let its owner create it: {create}; {grant} …\n"
    )
    execute(url, f"{create}; {grant} {role}")
    assert fsql("run", "-q", "--state", tmp_path / "state2", script) == (0, "", "")
    assert execute(url, "SELECT a FROM w") == [(1,), (1,)]


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    script = script_of(
        tmp_path,
        f"{WORDS}CREATE TABLE w (a BIGINT) WITH ({options('postgresql://127.0.0.1:1/db', 'w')});\n"
        "INSERT INTO w SELECT n FROM t;",
    )
    result = fsql("run", "-q", script)
    assert said(result.err).startswith(
        'error[FSQL-E532]: the PostgreSQL database "127.0.0.1:1/db" cannot be used: connection failed:'
    )
    assert said(result.err).endswith(
        "help: check the option 'url', and that a server is running there\n"
    )
