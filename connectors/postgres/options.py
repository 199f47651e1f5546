"""The options of connector `postgres`."""

from __future__ import annotations

from typing import Final

from fsql.compiler.connectors import (
    CHANGE_OPTIONS,
    RECORD_OPTIONS,
    TIME_OPTIONS,
    Connector,
    Effect,
    InputEnd,
    Option,
    OptionKind,
)
from fsql.connectors.live.options import CLOCK_OPTIONS, LOG_OPTION

SLOT: Final = "slot"
PUBLICATION: Final = "publication"

CONNECTOR: Final = Connector(
    "postgres",
    "a table of PostgreSQL; needs `pip install 'fsql[postgres]'`",
    reads=True,
    writes=True,
    end=InputEnd(ends=True, key=SLOT),
    rows_are_messages=True,
    options=(
        Option(
            "url",
            OptionKind.TEXT,
            "the database, `postgresql://USER@HOST:PORT/DATABASE`, without a password",
            required=True,
            elsewhere=("uri", "database.url"),
            effect=Effect.PACE,
        ),
        Option(
            "table",
            OptionKind.TEXT,
            "name of the table, or `SCHEMA.TABLE`",
            required=True,
            elsewhere=("table-name", "table.name"),
        ),
        Option(
            "properties",
            OptionKind.TEXT,
            "file with properties of the connection, such as `password`; see below",
            effect=Effect.PACE,
        ),
        Option(
            SLOT,
            OptionKind.TEXT,
            "reads the changes of the table, by a replication slot of this name, and not just its rows",
            elsewhere=("slot.name",),
        ),
        Option(
            PUBLICATION,
            OptionKind.TEXT,
            "publication that has the table; by default it has the name of the slot, and is created",
            elsewhere=("publication.name", "debezium.publication.name"),
        ),
        Option(
            "start",
            OptionKind.CHOICE,
            "where a new job begins: with a copy of the table, or with the first change after its start",
            ("initial", "latest"),
            default="initial",
            elsewhere=("scan.startup.mode",),
        ),
        Option(
            "ends",
            OptionKind.CHOICE,
            "whether the input ends with what was committed when the job started",
            ("never", "latest"),
            default="never",
        ),
        Option(
            "create",
            OptionKind.CHOICE,
            "whether a table that is written is created if there is none",
            ("true", "false"),
            default="false",
            effect=Effect.PACE,
        ),
        *TIME_OPTIONS,
        *RECORD_OPTIONS,
        *CHANGE_OPTIONS,
        *CLOCK_OPTIONS,
        LOG_OPTION,
    ),
    live_with=SLOT,
    events="debezium-json",
    notes="""\
**From an empty machine to the first row.**  The database needs `wal_level = logical`, and the role of the job
some rights, which a superuser gives it in the database:

    ALTER ROLE fsql REPLICATION;
    GRANT SELECT ON orders TO fsql;
    CREATE PUBLICATION fsql_totals FOR TABLE orders;
    GRANT CREATE ON SCHEMA public TO fsql;

The last is for the tables that the job creates: `totals`, and that of its position.

    pip install 'fsql[postgres]'
    export PGPASSWORD=…
    fsql run --state state totals.sql

with `totals.sql`:

    CREATE TABLE orders (id BIGINT, customer STRING, amount DECIMAL(10, 2), PRIMARY KEY (id) NOT ENFORCED)
    WITH (
        'connector' = 'postgres', 'url' = 'postgresql://fsql@localhost/shop', 'table' = 'orders',
        'slot' = 'fsql_totals'
    );
    CREATE TABLE totals (customer STRING, total DECIMAL(38, 2), PRIMARY KEY (customer) NOT ENFORCED)
    WITH (
        'connector' = 'postgres', 'url' = 'postgresql://fsql@localhost/shop', 'table' = 'totals',
        'create' = 'true'
    );
    INSERT INTO totals SELECT customer, SUM(amount) FROM orders GROUP BY customer;

**Writing.**  Rows and position are written in the same transactions, so each row is there once, whatever is
killed: the job, the server, or the network between them.  The position is in the table `fsql_progress`, in
the schema of the table that is written.  It has a row for each output of each job, with the epoch of the
job: a process of an older epoch changes nothing, and its session is ended.  After a failover to a server that
lacks transactions that were acknowledged the job stops (`FSQL-E537`).  A run without `--state` keeps no
position.

Rows that are only added are copied (`COPY`).  In a table with a PRIMARY KEY a row replaces the one of its key
(`INSERT … ON CONFLICT`), and a deletion deletes it; the table of the database needs a unique index of these
columns.  A reader sees all changes of a position of the query at once.  With `'changes' = 'retract'` rows are
added with the kind of their change in the column `op`.  A value of a unique index other than that of the key
cannot go from one row to another within a transaction.

| type | column that is created | other columns that take it |
|---|---|---|
| BOOLEAN | `boolean` | texts |
| TINYINT, SMALLINT, UTINYINT | `smallint` | numbers, texts |
| INT, USMALLINT | `integer` | numbers, texts |
| BIGINT, UINT | `bigint` | numbers, texts |
| UBIGINT, DECIMAL(p, s) | `numeric` | `float4`, `float8`, texts |
| FLOAT, DOUBLE | `real`, `double precision` | `numeric`, texts |
| STRING | `text`; a JSON column `jsonb` | all but `bytea`: `uuid`, an `enum`, `json`, … |
| BYTES | `bytea` | |
| DATE, TIME | `date`, `time` | `timestamp`; `timetz`; texts |
| TIMESTAMP, TIMESTAMP_LTZ | `timestamp`, `timestamptz` | each other, `date`, texts |
| INTERVAL | `interval` | texts |
| ARRAY of these | an array | `json`, `jsonb`, texts |
| ROW, MAP, other ARRAY | `jsonb` | `json`, texts |

**Reading.**  The table is copied in one snapshot, without locks; then come the changes that were committed
after it, in the order of their commits, by logical replication (`pgoutput`).  The rows are those of format
`debezium-json`, with a long value that a change leaves out (TOAST) as it was.  A job that keeps state writes
what it reads to its state directory first, so a job that continues has the same rows.  A copy that is
interrupted goes on after the last key that it has; changes that it has already are passed over.  The rows of
a transaction are consecutive, each at a position of its own.

* The PRIMARY KEY of the script needs a unique index, and its columns must be in the replica identity, as
  those of the primary key are.  A table without a PRIMARY KEY, or with `'changes' =
  'retract'`, needs `REPLICA IDENTITY FULL`, and so does one with a WATERMARK whose column is not in the
  key; without a key the first copy cannot be interrupted.
* A **slot** belongs to one table of one job.  The server keeps its log until the job has it on its disk, and
  is told so every ten seconds: a job that is gone must not leave its slot, or the disk of the server fills
  up.  Drop it with `SELECT pg_drop_replication_slot('fsql_totals')`; `max_slot_wal_keep_size` bounds it.  A
  run without `--state` uses a slot that ends with it.
* How far a job is behind: `SELECT slot_name, pg_size_pretty(pg_current_wal_lsn() - confirmed_flush_lsn),
  wal_status FROM pg_replication_slots`.
* The **publication** is created if there is none, for which the role must own the table and have the right
  CREATE on the database; or let its owner `CREATE PUBLICATION fsql_totals FOR TABLE orders`.
* With `'ends' = 'latest'` the input ends with what was committed when the job started.
* Values become those of columns as JSON does: `numeric` to DECIMAL, `jsonb` to STRING, ROW or MAP, arrays to
  ARRAY, `bytea` to BYTES, any other type to STRING.  `NaN`, `infinity` and years before 1 are malformed rows.

| what happens | what follows |
|---|---|
| job or machine is killed | it continues with the same rows |
| server is killed, frozen, or not reached | the job waits, says so, and connects again |
| TRUNCATE | `FSQL-E528`, a malformed row: delete the rows instead, or start a new job |
| a column is added | it is ignored |
| the type of a column changes | values are read as before; one that does not fit is a malformed row |
| a column is dropped or renamed | `FSQL-E535`: start a new job |
| the table is dropped and created again | `FSQL-E536`: start a new job |
| slot dropped, lost, or read by others | `FSQL-E536`: start a new job |
| failover | the slot must be on the new server (`failover` slots of PostgreSQL 17), else `FSQL-E536` |
| constraint, type or right | `FSQL-E532` at the start, or `FSQL-E535` with what the server says |
| disk of the server is full | the job tries again until there is room |

A transaction of the database is not one position of the total order: a query over several rows of it may
release results in between.  Tables of one job have slots of their own, so the order between them is not that
of the database.

**Properties.**  A URL with a password is refused.  The file of `properties` has lines `NAME=VALUE`, with the
names of libpq, for example:

    password=secret
    sslmode=verify-full
    sslrootcert=ca.pem

The variables `PGPASSWORD` and `PGPASSFILE` of the environment and `~/.pgpass` work as well.  Several hosts in
the URL are tried in turn: `postgresql://fsql@one,two/shop?target_session_attrs=read-write`.

The connector is tested with PostgreSQL 18, while the job, its sessions and the server are killed.
""",
)
