# ruff: noqa: E501 - the queries are those of the tools
"""The protocol of PostgreSQL: psql, psycopg and SQLAlchemy, catalog queries of tools, and attacks.

Cannot catch: what other versions of these clients send.
"""

from __future__ import annotations

import datetime as dt
import os
import socket
import struct
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from sqlalchemy import MetaData, Table, create_engine, inspect, select

from fsql.serving.postgres.commands import Command, command_of, statements, with_parameters
from fsql.tests.serving.conftest import TOKEN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsql.tests.serving.conftest import Served

VALUES = """SELECT k, n, CAST(n AS SMALLINT) AS s, CAST(n AS INT) AS i, n / 8.0 AS d, CAST(0.1 AS FLOAT) AS f,
    CAST(-12345.678 AS DECIMAL(12, 4)) AS q, CAST(0.00012 AS DECIMAL(12, 6)) AS p, TRUE AS b,
    DATE '2026-01-02' AS day, TIME '03:04:05.25' AS t, TIMESTAMP '2026-01-02 03:04:05.5' AS at,
    ARRAY[1, 2] AS a, CAST(NULL AS STRING) AS nothing FROM best WHERE k = 'k7'"""
ROW = (
    "k7",
    7,
    7,
    7,
    0.875,
    0.1,
    Decimal("-12345.6780"),
    Decimal("0.000120"),
    True,
    dt.date(2026, 1, 2),
    dt.time(3, 4, 5, 250_000),
    dt.datetime(2026, 1, 2, 3, 4, 5, 500_000, tzinfo=dt.UTC),
    [1, 2],
    None,
)


@pytest.fixture
def connection(served: Served) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(**address(served), autocommit=True) as connection:
        yield connection


def address(served: Served) -> dict[str, Any]:
    return {
        "host": "127.0.0.1",
        "port": served.server.postgres_port,
        "dbname": "bids",
        "user": "anybody",
        "password": TOKEN,
    }


@pytest.mark.parametrize("binary", [False, True])
def test_values_of_all_types_arrive(connection: psycopg.Connection[Any], *, binary: bool) -> None:
    with connection.cursor(binary=binary) as cursor:
        [row] = cursor.execute(VALUES).fetchall()
    assert row[:5] == ROW[:5]
    assert row[5] == pytest.approx(0.1)
    assert row[6:] == ROW[6:]


def test_parameters_have_the_types_of_their_columns(connection: psycopg.Connection[Any]) -> None:
    rows = connection.execute(
        "SELECT k, n + %s AS m FROM best WHERE n < %s AND k <> %s AND k LIKE 'k%%' ORDER BY n",
        (0, 3, "k1"),
    ).fetchall()
    assert rows == [("k0", 0), ("k2", 2)]
    assert connection.execute("SELECT n FROM best WHERE k = %s", ("it's",)).fetchall() == []


def test_an_answer_has_its_position_and_waits_for_another(served: Served) -> None:
    with psycopg.connect(**address(served), autocommit=True) as connection:
        position = served.insert("fresh", 1)
        connection.execute(f"SET fsql.at_least = '{position}'")
        assert connection.execute("SELECT n FROM best WHERE k = 'fresh'").fetchall() == [(1,)]
        assert connection.pgconn.parameter_status(b"fsql.position") == position.encode()
        assert connection.execute("SHOW fsql.position").fetchall() == [(position,)]
        connection.execute("SET fsql.at_least = '999999.0'")
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState):
            connection.execute("SELECT 1 AS one")


@pytest.mark.parametrize(
    ("query", "state"),
    [
        ("DELETE FROM best", "25006"),
        ("insert into best values (1)", "25006"),
        ("CREATE TABLE x (a int)", "25006"),
        ("COPY best TO '/tmp/x'", "25006"),
        ("/* SELECT */ DROP TABLE best", "25006"),
        ("SELECT * FROM nowhere", "42P01"),
        ("SELECT * FROM '/etc/passwd'", "0A000"),
        ("SELECT 1 / (n - n) AS x FROM best", "22000"),
        ("SELECT n FROM best ORDER BY", "42601"),
        ("EXPLAIN SELECT 1", "42601"),
        ("SELECT * FROM pg_read_file('/etc/passwd')", "0A000"),
        ("SELECT * FROM read_csv('/etc/passwd'), pg_class", "0A000"),
        ("SELECT pg_class.oid FROM pg_class, '/etc/passwd'", "0A000"),
        ("SHOW nothing", "42704"),
        ("SELECT a.n FROM best a CROSS JOIN best b", "54000"),
    ],
)
def test_what_is_refused_has_a_state_and_the_connection_goes_on(
    connection: psycopg.Connection[Any], query: str, state: str
) -> None:
    with pytest.raises(psycopg.Error) as error:
        connection.execute(query)
    assert error.value.sqlstate == state
    assert connection.execute("SELECT 1 AS one").fetchall() == [(1,)]


def test_a_transaction_that_has_failed_is_aborted(served: Served) -> None:
    with psycopg.connect(**address(served)) as connection:
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            connection.execute("DELETE FROM best")
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            connection.execute("SELECT 1 AS one")
        connection.rollback()
        assert connection.execute("SELECT 1 AS one").fetchall() == [(1,)]


def test_a_result_is_streamed(connection: psycopg.Connection[Any]) -> None:
    stream = connection.cursor().stream("SELECT k, n FROM best WHERE n < 50 AND n > 10")
    assert sorted(row[1] for row in stream) == list(range(11, 50))


def test_the_password_and_the_job_are_checked(served: Served) -> None:
    wrong = {"password": "b" * 24}
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(**{**address(served), **wrong})
    with pytest.raises(psycopg.OperationalError, match='did you mean "bids"'):
        psycopg.connect(**{**address(served), "dbname": "bidz"})
    with pytest.raises(psycopg.OperationalError, match="SSL"):
        psycopg.connect(**{**address(served), "sslmode": "require"})


def test_the_queries_of_psql_describe_results(connection: psycopg.Connection[Any]) -> None:
    """What psql sends was recorded with its flag -E; the OIDs in it are those of the first result."""
    queries = statements((Path(__file__).parent / "psql_queries.sql").read_text())
    found = [connection.execute(query.encode()).fetchall() for query in queries]
    assert found[0] == [("public", "best", "table", "fsql"), ("public", "other", "table", "fsql")]
    assert ("k", "text", None, True, None, "", "") in [row[:7] for rows in found for row in rows]


def test_sqlalchemy_reflects_results(served: Served) -> None:
    port = served.server.postgres_port
    engine = create_engine(f"postgresql+psycopg://x:{TOKEN}@127.0.0.1:{port}/bids")
    about = inspect(engine)
    assert about.get_table_names() == ["best", "other"]
    assert [column["name"] for column in about.get_columns("best")] == ["k", "n"]
    assert about.get_pk_constraint("best")["constrained_columns"] == ["k"]
    assert (about.get_foreign_keys("best"), about.get_view_names()) == ([], [])
    with engine.connect() as connection:
        best = Table("best", MetaData(), autoload_with=connection)
        query = select(best).where(best.c.k == "k9")
        assert [tuple(row) for row in connection.execute(query)] == [("k9", 9)]
    engine.dispose()


CATALOG = {
    "pgjdbc getTables": """SELECT NULL AS TABLE_CAT, n.nspname AS TABLE_SCHEM, c.relname AS TABLE_NAME, CASE
        n.nspname ~ '^pg_' OR n.nspname = 'information_schema' WHEN true THEN CASE WHEN n.nspname = 'pg_catalog' OR
        n.nspname = 'information_schema' THEN CASE c.relkind WHEN 'r' THEN 'SYSTEM TABLE' ELSE NULL END ELSE NULL END
        WHEN false THEN CASE c.relkind WHEN 'r' THEN 'TABLE' WHEN 'v' THEN 'VIEW' ELSE NULL END ELSE NULL END
        AS TABLE_TYPE, d.description AS REMARKS FROM pg_catalog.pg_namespace n, pg_catalog.pg_class c LEFT JOIN
        pg_catalog.pg_description d ON (c.oid = d.objoid AND d.objsubid = 0 and d.classoid = 'pg_class'::regclass)
        WHERE c.relnamespace = n.oid AND c.relname LIKE 'best' AND (false OR ( c.relkind = 'r' AND n.nspname !~ '^pg_'
        AND n.nspname <> 'information_schema' )) ORDER BY TABLE_TYPE,TABLE_SCHEM,TABLE_NAME""",
    "pgjdbc getColumns": """SELECT * FROM (SELECT n.nspname,c.relname,a.attname,a.atttypid,a.attnotnull OR (t.typtype
        = 'd' AND t.typnotnull) AS attnotnull,a.atttypmod,a.attlen,t.typtypmod,row_number() OVER (PARTITION BY
        a.attrelid ORDER BY a.attnum) AS attnum, nullif(a.attidentity, '') as attidentity,nullif(a.attgenerated, '')
        as attgenerated,pg_catalog.pg_get_expr(def.adbin, def.adrelid) AS adsrc,dsc.description,t.typbasetype,t.typtype
        FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_class c ON (c.relnamespace = n.oid) JOIN
        pg_catalog.pg_attribute a ON (a.attrelid=c.oid) JOIN pg_catalog.pg_type t ON (a.atttypid = t.oid) LEFT JOIN
        pg_catalog.pg_attrdef def ON (a.attrelid=def.adrelid AND a.attnum = def.adnum) LEFT JOIN
        pg_catalog.pg_description dsc ON (c.oid=dsc.objoid AND a.attnum = dsc.objsubid) LEFT JOIN pg_catalog.pg_class
        dc ON (dc.oid=dsc.classoid AND dc.relname='pg_class') LEFT JOIN pg_catalog.pg_namespace dn ON
        (dc.relnamespace=dn.oid AND dn.nspname='pg_catalog') WHERE c.relkind in ('r','p','v','f','m') and a.attnum > 0
        AND NOT a.attisdropped AND c.relname LIKE 'best') c WHERE true ORDER BY nspname,c.relname,attnum""",
    "pgjdbc type info": """SELECT typinput='pg_catalog.array_in'::regproc as is_array, typtype, typname, pg_type.oid FROM
        pg_catalog.pg_type LEFT JOIN (select ns.oid as nspoid, ns.nspname, r.r from pg_namespace as ns join ( select
        s.r, (current_schemas(false))[s.r] as nspname from generate_series(1, array_upper(current_schemas(false), 1))
        as s(r) ) as r using ( nspname )) as sp ON sp.nspoid = typnamespace WHERE typname = 'int8'
        ORDER BY sp.r, pg_type.oid DESC""",
    "pgjdbc primary keys": """SELECT n.nspname AS s, ct.relname AS t, a.attname AS c, ci.relname AS p, i.indisprimary
        FROM pg_catalog.pg_class ct JOIN pg_catalog.pg_attribute a ON (ct.oid = a.attrelid) JOIN
        pg_catalog.pg_namespace n ON (ct.relnamespace = n.oid) JOIN pg_catalog.pg_index i ON (a.attrelid = i.indrelid)
        JOIN pg_catalog.pg_class ci ON (ci.oid = i.indexrelid) WHERE i.indisprimary AND ct.relname = 'best' AND
        a.attnum = ANY(i.indkey)""",
    "dbeaver databases": """SELECT db.oid,db.* FROM pg_catalog.pg_database db WHERE datallowconn AND NOT datistemplate
        OR db.datname ='bids' ORDER BY db.datname""",
    "dbeaver schemas": """SELECT n.oid,n.*,d.description FROM pg_catalog.pg_namespace n LEFT OUTER JOIN
        pg_catalog.pg_description d ON d.objoid=n.oid AND d.objsubid=0 AND d.classoid='pg_namespace'::regclass
        ORDER BY nspname""",
    "dbeaver types": """SELECT t.oid,t.*,c.relkind,format_type(nullif(t.typbasetype, 0), t.typtypmod) as base_type_name,
        d.description FROM pg_catalog.pg_type t LEFT OUTER JOIN pg_catalog.pg_type et ON et.oid=t.typelem LEFT OUTER JOIN
        pg_catalog.pg_class c ON c.oid=t.typrelid LEFT OUTER JOIN pg_catalog.pg_description d ON t.oid=d.objoid WHERE
        t.typname IS NOT NULL AND (c.relkind IS NULL OR c.relkind = 'c') AND (et.typcategory IS NULL OR et.typcategory
        <> 'C')""",
    "dbeaver tables": """SELECT c.oid,c.*,d.description,pg_catalog.pg_get_expr(c.relpartbound, c.oid) as partition_expr,
        pg_catalog.pg_get_partkeydef(c.oid) as partition_key FROM pg_catalog.pg_class c LEFT OUTER JOIN
        pg_catalog.pg_description d ON d.objoid=c.oid AND d.objsubid=0 AND d.classoid='pg_class'::regclass WHERE
        c.relnamespace=2200 AND c.relkind not in ('i','I','c')""",
    "dbeaver columns": """SELECT c.relname,a.*,pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) as def_value,
        dsc.description,dep.objid FROM pg_catalog.pg_attribute a INNER JOIN pg_catalog.pg_class c ON (a.attrelid=c.oid)
        LEFT OUTER JOIN pg_catalog.pg_attrdef ad ON (a.attrelid=ad.adrelid AND a.attnum = ad.adnum) LEFT OUTER JOIN
        pg_catalog.pg_description dsc ON (c.oid=dsc.objoid AND a.attnum = dsc.objsubid) LEFT OUTER JOIN
        pg_depend dep on dep.refobjid = a.attrelid AND dep.deptype = 'i' and dep.refobjsubid = a.attnum and
        dep.classid = dep.refclassid WHERE NOT a.attisdropped AND c.oid=16384 ORDER BY a.attnum""",
    "grafana tables": """select quote_ident(table_name) as "table" from information_schema.tables where
        quote_ident(table_schema) not in ('information_schema', 'pg_catalog') and
        table_type = 'BASE TABLE' order by table_name""",
    "grafana columns": """select quote_ident(column_name) as "column", data_type as "type" from
        information_schema.columns where quote_ident(table_name) = 'best'""",
    "grafana version": "SELECT current_setting('server_version_num')::int/100 as version",
    "grafana extensions": "SELECT extversion FROM pg_extension WHERE extname = 'timescaledb'",
    "metabase privileges": """select * from (with table_privileges as (select NULL as role, t.schemaname as schema,
        t.objectname as table, pg_catalog.has_any_column_privilege(current_user, '"' || t.schemaname || '"' || '.' ||
        '"' || t.objectname || '"', 'update') as update, pg_catalog.has_any_column_privilege(current_user, '"' ||
        t.schemaname || '"' || '.' || '"' || t.objectname || '"', 'select') as select from (select schemaname,
        tablename as objectname from pg_catalog.pg_tables union select schemaname, viewname as objectname from
        pg_catalog.pg_views union select schemaname, matviewname as objectname from pg_catalog.pg_matviews) t where
        t.schemaname !~ '^pg_' and t.schemaname <> 'information_schema') select t.* from table_privileges t) x""",
    "metabase columns": """SELECT c.column_name AS name, c.udt_name AS type, c.ordinal_position - 1 AS position,
        c.table_schema AS schema, c.table_name AS t, pk.column_name IS NOT NULL AS is_pk, c.is_nullable = 'NO' AS required
        FROM information_schema.columns AS c LEFT JOIN (SELECT tc.table_schema, tc.table_name, kc.column_name FROM
        information_schema.table_constraints AS tc INNER JOIN information_schema.key_column_usage AS kc ON
        tc.constraint_name = kc.constraint_name AND tc.table_schema = kc.table_schema WHERE tc.constraint_type =
        'PRIMARY KEY') AS pk ON c.table_schema = pk.table_schema AND c.table_name = pk.table_name AND c.column_name =
        pk.column_name WHERE c.table_schema !~ '^information_schema|catalog_history|pg_' ORDER BY 1""",
    "version": "select version(), current_schema(), current_database(), current_user",
}


def test_the_index_of_a_key_has_a_definition(connection: psycopg.Connection[Any]) -> None:
    rows = connection.execute(
        "SELECT c.relname, pg_catalog.pg_get_indexdef(i.indexrelid, 0, true), pg_get_indexdef(i.indexrelid)"
        " FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid ORDER BY 1"
    ).fetchall()
    definition = "CREATE UNIQUE INDEX best_pkey ON best USING btree (k)"
    assert ("best_pkey", definition, definition) in rows


@pytest.mark.parametrize("query", CATALOG.values(), ids=CATALOG.keys())
def test_catalog_queries_of_tools_are_answered(
    connection: psycopg.Connection[Any], query: str
) -> None:
    rows = connection.execute(query).fetchall()
    assert rows or "pg_extension" in query


# --- Attacks ---


def raw(served: Served) -> socket.socket:
    return socket.create_connection(("127.0.0.1", served.server.postgres_port), timeout=30)


def message(kind: bytes, content: bytes) -> bytes:
    return kind + struct.pack("!i", len(content) + 4) + content


STARTUP = struct.pack("!ii", 21, 196608) + b"user\0anyone\0\0"


@pytest.mark.parametrize(
    "octets",
    [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        struct.pack("!i", 2**31 - 1),
        struct.pack("!i", 4),
        struct.pack("!ii", 8, 99),
        STARTUP + message(b"Q", b"SELECT 1\0"),
        STARTUP + b"p" + struct.pack("!i", 2**31 - 1),
        STARTUP + message(b"p", b"SCRAM-SHA-256\0" + struct.pack("!i", -5)),
        STARTUP + message(b"p", b"SCRAM-SHA-256\0" + struct.pack("!i", 3) + b"n,,"),
        STARTUP + message(b"p", b"MD5\0" + struct.pack("!i", 3) + b"\xff\xff\xff"),
        os.urandom(500),
    ],
)
def test_what_is_no_login_ends_the_connection_only(served: Served, octets: bytes) -> None:
    with raw(served) as attacker:
        attacker.sendall(octets)
        attacker.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: attacker.recv(65536), b""))
    assert b"C" not in answer[:1]
    with psycopg.connect(**address(served)) as connection:
        assert connection.execute("SELECT n FROM best WHERE k = 'k3'").fetchall() == [(3,)]


def test_a_message_that_is_too_long_ends_the_connection(
    connection: psycopg.Connection[Any], served: Served
) -> None:
    with pytest.raises(psycopg.OperationalError):
        connection.execute("SELECT '" + "x" * (9 << 20) + "' AS x")
    with psycopg.connect(**address(served)) as other:
        assert other.execute("SELECT 1 AS one").fetchall() == [(1,)]


def test_many_connections_and_a_client_that_reads_nothing_stop_nobody(served: Served) -> None:
    idle = [raw(served) for _ in range(40)]
    slow = psycopg.connect(**address(served), autocommit=True)
    # More than the buffers of both sides hold.
    slow.pgconn.send_query(b"SELECT k, n, REPEAT('x', 200000) AS x FROM best WHERE n > 20")
    with psycopg.connect(**address(served), autocommit=True) as connection:
        position = served.insert("meanwhile", 5)
        connection.execute(f"SET fsql.at_least = '{position}'")
        assert connection.execute("SELECT n FROM best WHERE k = 'meanwhile'").fetchall() == [(5,)]
    slow.close()
    for each in idle:
        each.close()


# --- Statements ---


def test_statements_are_cut_at_semicolons_only() -> None:
    text = "SELECT ';' AS a; -- x;\nSELECT \";\" /* ; */ FROM t; $$;$$;;"
    assert statements(text) == [
        "SELECT ';' AS a",
        '-- x;\nSELECT ";" /* ; */ FROM t',
        "$$;$$",
    ]


@pytest.mark.parametrize(
    ("statement", "command"),
    [
        ("SELECT 1", Command.QUERY),
        ("-- c\n(SELECT 1)", Command.QUERY),
        ("SELECT 'pg_class'", Command.QUERY),
        ("SELECT * FROM pg_class", Command.CATALOG),
        ("select version()", Command.CATALOG),
        ("WITH a AS (SELECT 1) DELETE FROM a", Command.QUERY),
        ("update t set a = 1", Command.WRITE),
        ("", Command.EMPTY),
        ("frobnicate", Command.UNSUPPORTED),
    ],
)
def test_the_kind_of_a_statement(statement: str, command: Command) -> None:
    assert command_of(statement) is command


def test_parameters_are_not_replaced_in_texts() -> None:
    text = "SELECT '$1', $1, $2, $10 FROM \"$1\""
    assert with_parameters(text, ["1", "'$1'"]) == "SELECT '$1', 1, '$1', $10 FROM \"$1\""
