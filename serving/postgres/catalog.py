# ruff: noqa: E501 - the tables and their rows are SQL
"""The catalog that clients of PostgreSQL ask for: `pg_catalog` and `information_schema`.

The tables are in an in-memory database of DuckDB, which reads no files; it has names and types only, no rows
of results.  Clients use forms that DuckDB does not have, such as `OPERATOR(pg_catalog.~)`: these are
rewritten before.
"""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import duckdb

from fsql.serving.postgres.values import (
    BOOL,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    NUMERIC,
    OID,
    TEXT,
    TYPES,
    pg_type,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.job.results.job_results import JobResults
    from fsql.serving.postgres.values import PgType

VERSION: Final = "15.0"
OWNER: Final = "fsql"
_PUBLIC, _CATALOG, _INFORMATION = 2200, 11, 13000
_FIRST_TABLE: Final = 16384

_SCHEMA: Final = """
CREATE SCHEMA pgc; CREATE SCHEMA ifs;
CREATE TABLE pgc.pg_namespace (oid BIGINT, nspname VARCHAR, nspowner BIGINT, nspacl VARCHAR[]);
CREATE TABLE pgc.pg_class (oid BIGINT, relname VARCHAR, relnamespace BIGINT, reltype BIGINT,
  reloftype BIGINT, relowner BIGINT, relam BIGINT, relfilenode BIGINT, reltablespace BIGINT, relpages INT,
  reltuples FLOAT, reltoastrelid BIGINT, relhasindex BOOLEAN, relisshared BOOLEAN, relpersistence VARCHAR,
  relkind VARCHAR, relnatts SMALLINT, relchecks SMALLINT, relhasrules BOOLEAN, relhastriggers BOOLEAN,
  relhassubclass BOOLEAN, relrowsecurity BOOLEAN, relforcerowsecurity BOOLEAN, relispopulated BOOLEAN,
  relreplident VARCHAR, relispartition BOOLEAN, relacl VARCHAR[], reloptions VARCHAR[],
  relpartbound VARCHAR, relhasoids BOOLEAN);
CREATE TABLE pgc.pg_attribute (attrelid BIGINT, attname VARCHAR, atttypid BIGINT, attstattarget INT,
  attlen SMALLINT, attnum SMALLINT, attndims INT, attcacheoff INT, atttypmod INT, attbyval BOOLEAN,
  attalign VARCHAR, attstorage VARCHAR, attcompression VARCHAR, attnotnull BOOLEAN, atthasdef BOOLEAN,
  atthasmissing BOOLEAN, attidentity VARCHAR, attgenerated VARCHAR, attisdropped BOOLEAN, attislocal BOOLEAN,
  attinhcount INT, attcollation BIGINT, attacl VARCHAR[], attoptions VARCHAR[], attfdwoptions VARCHAR[]);
CREATE TABLE pgc.pg_type (oid BIGINT, typname VARCHAR, typnamespace BIGINT, typowner BIGINT, typlen SMALLINT,
  typbyval BOOLEAN, typtype VARCHAR, typcategory VARCHAR, typispreferred BOOLEAN, typisdefined BOOLEAN,
  typdelim VARCHAR, typrelid BIGINT, typelem BIGINT, typarray BIGINT, typinput VARCHAR, typoutput VARCHAR,
  typreceive VARCHAR, typnotnull BOOLEAN, typbasetype BIGINT, typtypmod INT, typndims INT, typcollation BIGINT,
  typdefault VARCHAR);
CREATE TABLE pgc.pg_constraint (oid BIGINT, conname VARCHAR, connamespace BIGINT, contype VARCHAR,
  condeferrable BOOLEAN, condeferred BOOLEAN, convalidated BOOLEAN, conrelid BIGINT, contypid BIGINT,
  conindid BIGINT, conparentid BIGINT, confrelid BIGINT, confupdtype VARCHAR, confdeltype VARCHAR,
  confmatchtype VARCHAR, conislocal BOOLEAN, connoinherit BOOLEAN, conkey SMALLINT[], confkey SMALLINT[],
  conbin VARCHAR);
CREATE TABLE pgc.pg_index (indexrelid BIGINT, indrelid BIGINT, indnatts SMALLINT, indnkeyatts SMALLINT,
  indisunique BOOLEAN, indnullsnotdistinct BOOLEAN, indisprimary BOOLEAN, indisexclusion BOOLEAN,
  indimmediate BOOLEAN, indisclustered BOOLEAN, indisvalid BOOLEAN, indisready BOOLEAN, indislive BOOLEAN,
  indisreplident BOOLEAN, indkey SMALLINT[], indcollation BIGINT[], indclass BIGINT[], indoption SMALLINT[],
  indexprs VARCHAR, indpred VARCHAR);
CREATE TABLE pgc.pg_database (oid BIGINT, datname VARCHAR, datdba BIGINT, encoding INT, datlocprovider VARCHAR,
  datistemplate BOOLEAN, datallowconn BOOLEAN, datconnlimit INT, datcollate VARCHAR, datctype VARCHAR,
  daticulocale VARCHAR, dattablespace BIGINT, datacl VARCHAR[]);
CREATE TABLE pgc.pg_roles (oid BIGINT, rolname VARCHAR, rolsuper BOOLEAN, rolinherit BOOLEAN,
  rolcreaterole BOOLEAN, rolcreatedb BOOLEAN, rolcanlogin BOOLEAN, rolconnlimit INT, rolvaliduntil TIMESTAMP,
  rolreplication BOOLEAN, rolbypassrls BOOLEAN);
CREATE TABLE pgc.pg_auth_members (roleid BIGINT, member BIGINT, grantor BIGINT, admin_option BOOLEAN);
CREATE VIEW pgc.pg_user AS SELECT rolname AS usename, oid AS usesysid, rolsuper AS usesuper FROM pgc.pg_roles;
CREATE TABLE pgc.pg_settings (name VARCHAR, setting VARCHAR, unit VARCHAR, category VARCHAR, vartype VARCHAR,
  boot_val VARCHAR, reset_val VARCHAR);
CREATE TABLE pgc.pg_am (oid BIGINT, amname VARCHAR, amhandler VARCHAR, amtype VARCHAR);
CREATE TABLE pgc.pg_collation (oid BIGINT, collname VARCHAR, collnamespace BIGINT, collprovider VARCHAR);
CREATE TABLE pgc.pg_range (rngtypid BIGINT, rngsubtype BIGINT);
CREATE TABLE pgc.pg_enum (oid BIGINT, enumtypid BIGINT, enumsortorder FLOAT, enumlabel VARCHAR);
CREATE TABLE pgc.pg_description (objoid BIGINT, classoid BIGINT, objsubid INT, description VARCHAR);
CREATE TABLE pgc.pg_shdescription (objoid BIGINT, classoid BIGINT, description VARCHAR);
CREATE TABLE pgc.pg_attrdef (oid BIGINT, adrelid BIGINT, adnum SMALLINT, adbin VARCHAR);
CREATE TABLE pgc.pg_proc (oid BIGINT, proname VARCHAR, pronamespace BIGINT, proowner BIGINT, prolang BIGINT,
  prokind VARCHAR, prorettype BIGINT, proargtypes BIGINT[], pronargs SMALLINT, proretset BOOLEAN,
  prosrc VARCHAR, proisagg BOOLEAN);
CREATE TABLE pgc.pg_trigger (oid BIGINT, tgrelid BIGINT, tgname VARCHAR, tgfoid BIGINT, tgtype SMALLINT,
  tgenabled VARCHAR, tgisinternal BOOLEAN, tgconstraint BIGINT, tgparentid BIGINT, tgdeferrable BOOLEAN,
  tginitdeferred BOOLEAN);
CREATE TABLE pgc.pg_inherits (inhrelid BIGINT, inhparent BIGINT, inhseqno INT, inhdetachpending BOOLEAN);
CREATE TABLE pgc.pg_policy (oid BIGINT, polname VARCHAR, polrelid BIGINT, polcmd VARCHAR, polpermissive BOOLEAN,
  polroles BIGINT[], polqual VARCHAR, polwithcheck VARCHAR);
CREATE TABLE pgc.pg_statistic_ext (oid BIGINT, stxrelid BIGINT, stxname VARCHAR, stxnamespace BIGINT,
  stxkind VARCHAR[], stxkeys SMALLINT[], stxstattarget INT);
CREATE TABLE pgc.pg_publication (oid BIGINT, pubname VARCHAR, puballtables BOOLEAN);
CREATE TABLE pgc.pg_publication_rel (oid BIGINT, prpubid BIGINT, prrelid BIGINT, prqual VARCHAR,
  prattrs SMALLINT[]);
CREATE TABLE pgc.pg_publication_namespace (oid BIGINT, pnpubid BIGINT, pnnspid BIGINT);
CREATE TABLE pgc.pg_foreign_table (ftrelid BIGINT, ftserver BIGINT, ftoptions VARCHAR[]);
CREATE TABLE pgc.pg_foreign_server (oid BIGINT, srvname VARCHAR, srvowner BIGINT, srvfdw BIGINT);
CREATE TABLE pgc.pg_partitioned_table (partrelid BIGINT, partstrat VARCHAR, partnatts SMALLINT);
CREATE TABLE pgc.pg_rewrite (oid BIGINT, rulename VARCHAR, ev_class BIGINT, ev_type VARCHAR, ev_enabled VARCHAR,
  is_instead BOOLEAN);
CREATE TABLE pgc.pg_depend (classid BIGINT, objid BIGINT, objsubid INT, refclassid BIGINT, refobjid BIGINT,
  refobjsubid INT, deptype VARCHAR);
CREATE TABLE pgc.pg_extension (oid BIGINT, extname VARCHAR, extowner BIGINT, extnamespace BIGINT,
  extversion VARCHAR);
CREATE TABLE pgc.pg_tablespace (oid BIGINT, spcname VARCHAR, spcowner BIGINT);
CREATE TABLE pgc.pg_language (oid BIGINT, lanname VARCHAR);
CREATE TABLE pgc.pg_operator (oid BIGINT, oprname VARCHAR, oprnamespace BIGINT);
CREATE TABLE pgc.pg_opclass (oid BIGINT, opcname VARCHAR, opcmethod BIGINT, opcnamespace BIGINT, opcdefault BOOLEAN,
  opcintype BIGINT);
CREATE TABLE pgc.pg_aggregate (aggfnoid BIGINT);
CREATE TABLE pgc.pg_sequence (seqrelid BIGINT, seqtypid BIGINT, seqstart BIGINT, seqincrement BIGINT,
  seqmax BIGINT, seqmin BIGINT, seqcache BIGINT, seqcycle BOOLEAN);
CREATE TABLE pgc.pg_locks (locktype VARCHAR, pid INT);
CREATE TABLE pgc.pg_stat_activity (datid BIGINT, datname VARCHAR, pid INT, usename VARCHAR, state VARCHAR,
  query VARCHAR);
CREATE TABLE pgc.pg_matviews (schemaname VARCHAR, matviewname VARCHAR, matviewowner VARCHAR,
  definition VARCHAR);
CREATE TABLE pgc.pg_views (schemaname VARCHAR, viewname VARCHAR, viewowner VARCHAR, definition VARCHAR);
CREATE TABLE pgc.pg_timezone_names (name VARCHAR, abbrev VARCHAR, is_dst BOOLEAN);
CREATE VIEW pgc.pg_tables AS SELECT n.nspname AS schemaname, c.relname AS tablename, 'fsql' AS tableowner,
  NULL::VARCHAR AS tablespace, c.relhasindex AS hasindexes, false AS hasrules, false AS hastriggers,
  false AS rowsecurity FROM pgc.pg_class c JOIN pgc.pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind = 'r';
CREATE VIEW pgc.pg_indexes AS SELECT 'public' AS schemaname, t.relname AS tablename, c.relname AS indexname,
  NULL::VARCHAR AS tablespace, 'PRIMARY KEY' AS indexdef FROM pgc.pg_index i
  JOIN pgc.pg_class c ON c.oid = i.indexrelid JOIN pgc.pg_class t ON t.oid = i.indrelid;

CREATE MACRO pgc.pg_table_is_visible(x) AS true;
CREATE MACRO pgc.pg_type_is_visible(x) AS true;
CREATE MACRO pgc.pg_collation_is_visible(x) AS true;
CREATE MACRO pgc.pg_opclass_is_visible(x) AS true;
CREATE MACRO pgc.pg_operator_is_visible(x) AS true;
CREATE TYPE pgc.regclass AS VARCHAR;
CREATE TYPE pgc.regtype AS VARCHAR;
CREATE MACRO pgc.pg_function_is_visible(x) AS true;
CREATE MACRO pgc.pg_get_userbyid(x) AS 'fsql';
CREATE MACRO pgc.pg_get_expr(x, y) AS NULL::VARCHAR, (x, y, z) AS NULL::VARCHAR;
CREATE MACRO pgc.pg_get_statisticsobjdef_columns(x) AS NULL::VARCHAR;
CREATE MACRO pgc.pg_relation_is_publishable(x) AS false;
CREATE MACRO pgc.pg_encoding_to_char(x) AS 'UTF8';
CREATE MACRO pgc.obj_description(x) AS NULL::VARCHAR, (x, y) AS NULL::VARCHAR;
CREATE MACRO pgc.col_description(x, y) AS NULL::VARCHAR;
CREATE MACRO pgc.shobj_description(x, y) AS NULL::VARCHAR;
CREATE MACRO pgc.pg_get_constraintdef(x) AS (SELECT 'PRIMARY KEY (' || (SELECT string_agg(a.attname, ', ' ORDER BY
  a.attnum) FROM pgc.pg_attribute a WHERE a.attrelid = k.conrelid AND list_contains(k.conkey, a.attnum)) || ')'
  FROM pgc.pg_constraint k WHERE k.oid = x), (x, y) AS (SELECT 'PRIMARY KEY (' || (SELECT string_agg(a.attname,
  ', ' ORDER BY a.attnum) FROM pgc.pg_attribute a WHERE a.attrelid = k.conrelid
  AND list_contains(k.conkey, a.attnum)) || ')' FROM pgc.pg_constraint k WHERE k.oid = x);
-- An argument is put in as it is, so no alias here may be one that a client uses.
CREATE MACRO pgc.index_definition(x) AS (SELECT 'CREATE UNIQUE INDEX ' || fsql_c.relname || ' ON ' ||
  fsql_t.relname || ' USING btree (' || (SELECT string_agg(fsql_a.attname, ', ' ORDER BY fsql_a.attnum)
  FROM pgc.pg_attribute fsql_a WHERE fsql_a.attrelid = fsql_i.indrelid
  AND list_contains(fsql_i.indkey, fsql_a.attnum)) || ')' FROM pgc.pg_index fsql_i
  JOIN pgc.pg_class fsql_c ON fsql_c.oid = fsql_i.indexrelid
  JOIN pgc.pg_class fsql_t ON fsql_t.oid = fsql_i.indrelid WHERE fsql_i.indexrelid = x);
CREATE MACRO pgc.pg_get_indexdef(x) AS pgc.index_definition(x), (x, y, z) AS CASE WHEN y = 0
  THEN pgc.index_definition(x) ELSE (SELECT fsql_a.attname FROM pgc.pg_index fsql_i
  JOIN pgc.pg_attribute fsql_a ON fsql_a.attrelid = fsql_i.indrelid AND fsql_a.attnum = fsql_i.indkey[y]
  WHERE fsql_i.indexrelid = x) END;
CREATE MACRO pgc.pg_get_viewdef(x) AS NULL::VARCHAR, (x, y) AS NULL::VARCHAR;
CREATE MACRO pgc.pg_get_triggerdef(x) AS NULL::VARCHAR, (x, y) AS NULL::VARCHAR;
CREATE MACRO pgc.pg_get_ruledef(x) AS NULL::VARCHAR, (x, y) AS NULL::VARCHAR;
CREATE MACRO pgc.pg_get_serial_sequence(x, y) AS NULL::VARCHAR;
CREATE MACRO pgc.pg_get_function_identity_arguments(x) AS NULL::VARCHAR;
CREATE MACRO pgc.pg_get_function_arguments(x) AS NULL::VARCHAR;
CREATE MACRO pgc.pg_get_function_result(x) AS NULL::VARCHAR;
CREATE MACRO pgc.pg_get_partkeydef(x) AS NULL::VARCHAR;
CREATE MACRO pgc.pg_is_in_recovery() AS false;
CREATE MACRO pgc.pg_backend_pid() AS 1;
CREATE MACRO pgc.pg_postmaster_start_time() AS now();
CREATE MACRO pgc.pg_tablespace_location(x) AS '';
CREATE MACRO pgc.pg_relation_size(x) AS 0::BIGINT;
CREATE MACRO pgc.pg_table_size(x) AS 0::BIGINT;
CREATE MACRO pgc.pg_total_relation_size(x) AS 0::BIGINT;
CREATE MACRO pgc.pg_indexes_size(x) AS 0::BIGINT;
CREATE MACRO pgc.pg_database_size(x) AS 0::BIGINT;
CREATE MACRO pgc.pg_size_pretty(x) AS '0 bytes';
CREATE MACRO pgc.has_schema_privilege(x, y) AS true, (x, y, z) AS true;
CREATE MACRO pgc.has_table_privilege(x, y) AS y ILIKE '%select%', (x, y, z) AS z ILIKE '%select%';
CREATE MACRO pgc.has_column_privilege(x, y, z) AS z ILIKE '%select%', (x, y, z, u) AS u ILIKE '%select%';
CREATE MACRO pgc.has_any_column_privilege(x, y) AS y ILIKE '%select%', (x, y, z) AS z ILIKE '%select%';
CREATE MACRO pgc.has_database_privilege(x, y) AS y ILIKE '%connect%', (x, y, z) AS z ILIKE '%connect%';
CREATE MACRO pgc.has_function_privilege(x, y) AS true, (x, y, z) AS true;
CREATE MACRO pgc.pg_has_role(x, y) AS true, (x, y, z) AS true;
CREATE MACRO pgc.quote_ident(x) AS CASE WHEN regexp_matches(x, '^[a-z_][a-z0-9_]*$') THEN x
  ELSE '"' || replace(x, '"', '""') || '"' END;
CREATE MACRO pgc.regclass_oid(x) AS (SELECT max(c.oid) FROM pgc.pg_class c WHERE c.relname =
  trim(replace(replace(x::VARCHAR, 'public.', ''), 'pg_catalog.', ''), '"') OR c.oid = try_cast(x AS BIGINT));
CREATE MACRO pgc.regclass_text(x) AS (SELECT max(pgc.quote_ident(c.relname)) FROM pgc.pg_class c
  WHERE c.oid = try_cast(x AS BIGINT));
CREATE MACRO pgc.regtype_oid(x) AS (SELECT max(t.oid) FROM pgc.pg_type t WHERE t.typname =
  replace(x::VARCHAR, 'pg_catalog.', ''));
CREATE MACRO pgc.to_regtype(x) AS (SELECT max(t.oid) FROM pgc.pg_type t WHERE t.typname = x);
CREATE MACRO pgc.to_regclass(x) AS pgc.regclass_oid(x);
CREATE MACRO pgc.array_upper(a, d) AS nullif(len(a), 0);
CREATE MACRO pgc.array_lower(a, d) AS CASE WHEN len(a) > 0 THEN 1 END;
CREATE MACRO pgc.txid_current() AS 1;
CREATE MACRO pgc.set_config(x, y, z) AS y;
CREATE MACRO pgc.inet_server_addr() AS '127.0.0.1';
CREATE MACRO pgc.inet_server_port() AS 5433;
"""
_NAMES: Final = {
    16: "boolean", 17: "bytea", 18: '"char"', 19: "name", 20: "bigint", 21: "smallint", 23: "integer",
    25: "text", 26: "oid", 114: "json", 700: "real", 701: "double precision", 1043: "character varying",
    1082: "date", 1083: "time without time zone", 1114: "timestamp without time zone",
    1184: "timestamp with time zone", 1186: "interval", 1700: "numeric",
}  # fmt: skip
_CATEGORIES: Final = {
    **dict.fromkeys((20, 21, 23, 26, 700, 701, 1700), "N"),
    **dict.fromkeys((18, 19, 25, 1043), "S"),
    **dict.fromkeys((1082, 1083, 1114, 1184), "D"),
    16: "B",
    1186: "T",
}
_INFORMATION_SCHEMA: Final = """
CREATE TABLE ifs.schemata (catalog_name VARCHAR, schema_name VARCHAR, schema_owner VARCHAR);
CREATE TABLE ifs.tables (table_catalog VARCHAR, table_schema VARCHAR, table_name VARCHAR, table_type VARCHAR,
  is_insertable_into VARCHAR, is_typed VARCHAR, commit_action VARCHAR);
CREATE TABLE ifs.columns (table_catalog VARCHAR, table_schema VARCHAR, table_name VARCHAR, column_name VARCHAR,
  ordinal_position INT, column_default VARCHAR, is_nullable VARCHAR, data_type VARCHAR,
  character_maximum_length INT, character_octet_length INT, numeric_precision INT, numeric_precision_radix INT,
  numeric_scale INT, datetime_precision INT, interval_type VARCHAR, collation_name VARCHAR,
  domain_name VARCHAR, udt_catalog VARCHAR, udt_schema VARCHAR, udt_name VARCHAR, is_identity VARCHAR,
  identity_generation VARCHAR, is_generated VARCHAR, generation_expression VARCHAR, is_updatable VARCHAR);
CREATE TABLE ifs.table_constraints (constraint_catalog VARCHAR, constraint_schema VARCHAR,
  constraint_name VARCHAR, table_catalog VARCHAR, table_schema VARCHAR, table_name VARCHAR,
  constraint_type VARCHAR, is_deferrable VARCHAR, initially_deferred VARCHAR);
CREATE TABLE ifs.key_column_usage (constraint_catalog VARCHAR, constraint_schema VARCHAR,
  constraint_name VARCHAR, table_catalog VARCHAR, table_schema VARCHAR, table_name VARCHAR,
  column_name VARCHAR, ordinal_position INT, position_in_unique_constraint INT);
CREATE TABLE ifs.referential_constraints (constraint_catalog VARCHAR, constraint_schema VARCHAR,
  constraint_name VARCHAR, unique_constraint_schema VARCHAR, unique_constraint_name VARCHAR,
  update_rule VARCHAR, delete_rule VARCHAR);
CREATE TABLE ifs.constraint_column_usage (table_schema VARCHAR, table_name VARCHAR, column_name VARCHAR,
  constraint_schema VARCHAR, constraint_name VARCHAR);
CREATE TABLE ifs.views (table_catalog VARCHAR, table_schema VARCHAR, table_name VARCHAR,
  view_definition VARCHAR);
CREATE TABLE ifs.routines (routine_schema VARCHAR, routine_name VARCHAR, routine_type VARCHAR);
CREATE TABLE ifs.role_table_grants (grantor VARCHAR, grantee VARCHAR, table_schema VARCHAR, table_name VARCHAR,
  privilege_type VARCHAR);
CREATE VIEW ifs.table_privileges AS SELECT * FROM ifs.role_table_grants;
"""


class Rows(NamedTuple):
    """The result of a query of the catalog: names, types, and rows of Python values."""

    columns: list[tuple[str, PgType]]
    rows: list[tuple[Any, ...]]


class CatalogError(Exception):
    """A query of the catalog that cannot be answered."""


class Catalog:
    """The catalog of one job; it is made anew when its results change."""

    def __init__(self, results: JobResults, database: str, databases: Sequence[str]) -> None:
        self._results = results
        self._database = database
        self._databases = databases
        self._lock = threading.Lock()
        self._made_for: object = None
        self._connection: duckdb.DuckDBPyConnection | None = None

    def is_outdated(self, results: JobResults, databases: Sequence[str]) -> bool:
        """Return whether the job was begun anew, or there are other jobs."""
        return self._results is not results or list(self._databases) != list(databases)

    def query(self, text: str, settings: dict[str, str]) -> Rows:
        """Return the result of a query.

        Raises:
            CatalogError: if it cannot be answered.
        """
        with self._lock:
            connection = self._current()
            try:
                cursor = connection.execute(_rewritten(text, self._database, settings))
                names = [(each[0], _type_of(each[1])) for each in cursor.description or ()]
                return Rows(names, cursor.fetchmany(100_000))
            except duckdb.Error as error:
                raise CatalogError(str(error).splitlines()[0]) from None

    def _current(self) -> duckdb.DuckDBPyConnection:
        self._results.refresh()
        with self._results.at_rest():
            schemas = self._results.tables()
            keys = [self._results.key_of(each.table) for each in schemas]
        state = ([(each.table, each.declaration) for each in schemas], keys)
        if self._connection is None or state != self._made_for:
            if self._connection is not None:
                self._connection.close()
            self._connection = self._make(schemas, keys)
            self._made_for = state
        return self._connection

    def _make(self, schemas: Sequence[Any], keys: Sequence[Any]) -> duckdb.DuckDBPyConnection:
        made = duckdb.connect(":memory:", config={"threads": 1, "memory_limit": "256MB"})
        made.execute(_SCHEMA)
        made.execute(_INFORMATION_SCHEMA)
        cases = " ".join(f"WHEN {oid} THEN '{name}'" for oid, name in _NAMES.items())
        arrays = " ".join(
            f"WHEN {TYPES[oid].array} THEN '{name}[]'" for oid, name in _NAMES.items()
        )
        made.execute(
            f"CREATE MACRO pgc.format_type(x, y) AS CASE x {cases} {arrays} ELSE '???' END"
        )
        owner = 10
        for number, schema in (
            (_CATALOG, "pg_catalog"), (_PUBLIC, "public"), (_INFORMATION, "information_schema")
        ):  # fmt: skip
            made.execute(
                "INSERT INTO pgc.pg_namespace VALUES (?, ?, ?, NULL)", [number, schema, owner]
            )
            made.execute(
                "INSERT INTO ifs.schemata VALUES (?, ?, ?)", [self._database, schema, OWNER]
            )
        for number, name in enumerate(self._databases, 5):
            made.execute(
                "INSERT INTO pgc.pg_database VALUES (?, ?, 10, 6, 'c', false, true, -1, 'C', 'C', NULL, 1663,"
                " NULL)",
                [number, name],
            )
        made.execute(
            "INSERT INTO pgc.pg_roles VALUES (10, 'fsql', false, true, false, false, true, -1, NULL, false, false)"
        )
        made.execute("INSERT INTO pgc.pg_am VALUES (2, 'heap', 'heap_tableam_handler', 't')")
        made.execute("INSERT INTO pgc.pg_tablespace VALUES (1663, 'pg_default', 10)")
        made.execute("INSERT INTO pgc.pg_timezone_names VALUES ('UTC', 'UTC', false)")
        for each in TYPES.values():
            category = "A" if each.element else _CATEGORIES.get(each.oid, "U")
            made.execute(
                "INSERT INTO pgc.pg_type VALUES (?, ?, 11, 10, ?, ?, 'b', ?, false, true, ',', 0, ?, ?, ?, ?, ?,"
                " false, 0, -1, 0, 0, NULL)",
                [
                    each.oid, each.name, each.length, each.length > 0, category, each.element, each.array,
                    "array_in" if each.element else f"{each.name}in", f"{each.name}out", f"{each.name}recv",
                ],
            )  # fmt: skip
        for name in ("pg_class", "pg_namespace", "pg_type", "pg_database", "pg_attribute"):
            _add_class(made, {"pg_class": 1259, "pg_namespace": 2615, "pg_type": 1247,
                              "pg_database": 1262, "pg_attribute": 1249}[name], name, 11, 0)  # fmt: skip
        for number, (schema, key) in enumerate(zip(schemas, keys, strict=True)):
            self._add_table(made, _FIRST_TABLE + 2 * number, schema, key)
        made.execute("SET search_path = 'pgc,ifs'")
        made.execute("SET enable_external_access = false")
        made.execute("SET lock_configuration = true")
        return made

    def _add_table(self, made: Any, oid: int, schema: Any, key: Any) -> None:  # noqa: ANN401
        _add_class(made, oid, schema.table, _PUBLIC, len(schema.columns), has_index=key is not None)
        made.execute(
            "INSERT INTO ifs.tables VALUES (?, 'public', ?, 'BASE TABLE', 'NO', 'NO', NULL)",
            [self._database, schema.table],
        )
        for at, column in enumerate(schema.columns):
            kind = pg_type(column.type)
            is_key = key is not None and at in key
            required = is_key or not column.nullable
            made.execute(
                "INSERT INTO pgc.pg_attribute VALUES (?, ?, ?, -1, ?, ?, ?, -1, -1, false, 'i', 'p', '', ?, false,"
                " false, '', '', false, true, 0, 0, NULL, NULL, NULL)",
                [
                    oid,
                    column.name,
                    kind.oid,
                    kind.length,
                    at + 1,
                    int(bool(kind.element)),
                    required,
                ],
            )
            made.execute(
                "INSERT INTO ifs.columns VALUES (?, 'public', ?, ?, ?, NULL, ?, ?, NULL, NULL, NULL, NULL, NULL,"
                " NULL, NULL, NULL, NULL, ?, 'pg_catalog', ?, 'NO', NULL, 'NEVER', NULL, 'NO')",
                [
                    self._database, schema.table, column.name, at + 1, "NO" if required else "YES",
                    "ARRAY" if kind.element else _NAMES[kind.oid], self._database, kind.name,
                ],
            )  # fmt: skip
        if key is not None:
            name, columns = f"{schema.table}_pkey", [at + 1 for at in key]
            made.execute(
                "INSERT INTO pgc.pg_constraint VALUES (?, ?, 2200, 'p', false, false, true, ?, 0, ?, 0, 0, ' ', ' ',"
                " ' ', true, true, ?, NULL, NULL)",
                [oid + 1, name, oid, oid + 1, columns],
            )
            _add_class(made, oid + 1, name, _PUBLIC, len(columns), kind="i")
            made.execute(
                "INSERT INTO pgc.pg_index VALUES (?, ?, ?, ?, true, false, true, false, true, false, true, true, true,"
                " false, ?, ?, ?, ?, NULL, NULL)",
                [
                    oid + 1, oid, len(columns), len(columns), columns, [0] * len(columns), [0] * len(columns),
                    [0] * len(columns),
                ],
            )  # fmt: skip
            made.execute(
                "INSERT INTO ifs.table_constraints VALUES (?, 'public', ?, ?, 'public', ?, 'PRIMARY KEY', 'NO',"
                " 'NO')",
                [self._database, name, self._database, schema.table],
            )
            for at, column_number in enumerate(key, 1):
                made.execute(
                    "INSERT INTO ifs.key_column_usage VALUES (?, 'public', ?, ?, 'public', ?, ?, ?, NULL)",
                    [self._database, name, self._database, schema.table,
                     schema.columns[column_number].name, at],
                )  # fmt: skip


def _add_class(
    made: Any,  # noqa: ANN401
    oid: int,
    name: str,
    namespace: int,
    columns: int,
    *,
    kind: str = "r",
    has_index: bool = False,
) -> None:
    made.execute(
        "INSERT INTO pgc.pg_class VALUES (?, ?, ?, 0, 0, 10, 2, 0, 0, 0, -1, 0, ?, false, 'p', ?, ?, 0, false,"
        " false, false, false, false, true, 'd', false, NULL, NULL, NULL, false)",
        [oid, name, namespace, has_index, kind, columns],
    )


_OPERATORS: Final = re.compile(r"OPERATOR\s*\(\s*pg_catalog\s*\.\s*([^)\s]+)\s*\)", re.IGNORECASE)
_PATH: Final = r"(?:[\w\"]+(?:\.[\w\"]+)*)"
_PIECES: Final = re.compile(r"('(?:[^']|'')*')")
_REWRITES: Final[tuple[tuple[re.Pattern[str], str], ...]] = tuple(
    (re.compile(pattern, re.IGNORECASE), replacement)
    for pattern, replacement in (
        (r"COLLATE\s+(?:pg_catalog\.)?\"?default\"?", ""),
        (r"COLLATE\s+(?:pg_catalog\.)?\"?C\"?", ""),
        (
            r"::\s*(?:pg_catalog\.)?(?:regclass|regtype|regproc|oid|name|\"char\"|cstring)\s*::",
            "::",
        ),
        (r"\bpg_catalog\s*\.\s*(\"?)(\w+)", r"\1\2"),
        (r"\binformation_schema\s*\.\s*", "ifs."),
        (r"::\s*(?:oid|xid|regrole|regnamespace|int8)(\[\])?(?![\w])", r"::BIGINT\1"),
        (
            r"::\s*(?:name|cstring|regproc|\"char\"|citext|information_schema\.\w+)(\[\])?(?![\w])",
            r"::VARCHAR\1",
        ),
        (r"AS\s+(?:oid|xid|regclass|regproc)\s*\)", "AS BIGINT)"),
        (r"AS\s+(?:name|cstring)\s*\)", "AS VARCHAR)"),
        (r"\bcurrent_database\s*\(\s*\)", "fsql_database"),
        (r"\bcurrent_catalog\b", "fsql_database"),
        (r"\bcurrent_schema\b(?:\s*\(\s*\))?", "'public'"),
        (r"\bcurrent_schemas\s*\(\s*\w+\s*\)", "['pg_catalog', 'public']"),
        (r"\b(?:current_user|session_user|current_role)\b", "'fsql'"),
        (r"(?<![.\w])user\b(?!\s*[.=])", "'fsql'"),
        (r"\bjson_build_object\s*\(", "json_object("),
        (r"\bversion\s*\(\s*\)", "fsql_version"),
        (r"\bgenerate_subscripts\s*\(\s*([^,()]+),\s*1\s*\)", r"unnest(range(1, len(\1) + 1))"),
    )
)


def _rewritten(text: str, database: str, settings: dict[str, str]) -> str:
    """Return a query of the catalog in the forms that the database has."""
    text = _OPERATORS.sub(r" \1 ", text)
    text = re.sub(r"(?<!\w)E('(?:[^']|'')*')", r"\1", text)
    text = re.sub(
        r"('(?:[^']|'')*')\s*::\s*(?:pg_catalog\.)?regclass(?:\s*::\s*(?:pg_catalog\.)?oid)?",
        r"pgc.regclass_oid(\1)",
        text,
        flags=re.IGNORECASE,
    )
    text = re.sub(
        r"'(?:pg_catalog\.)?(\w+)'\s*::\s*(?:pg_catalog\.)?regproc",
        r"'\1'",
        text,
        flags=re.IGNORECASE,
    )
    text = re.sub(
        r"('(?:[^']|'')*')\s*::\s*(?:pg_catalog\.)?regtype(?:\s*::\s*(?:pg_catalog\.)?oid)?",
        r"pgc.regtype_oid(\1)",
        text,
        flags=re.IGNORECASE,
    )
    text = re.sub(
        rf"({_PATH})\s*::\s*(?:pg_catalog\.)?regclass\b(?!\s*::\s*oid)", r"pgc.regclass_text(\1)", text,
        flags=re.IGNORECASE,
    )  # fmt: skip
    text = re.sub(
        rf"({_PATH})\s*::\s*(?:pg_catalog\.)?regtype\b", r"pgc.format_type(\1, NULL)", text,
        flags=re.IGNORECASE,
    )  # fmt: skip
    text = re.sub(
        r"current_setting\s*\(\s*'([^']*)'[^)]*\)",
        lambda match: "'" + settings.get(match[1].lower(), "").replace("'", "''") + "'",
        text,
        flags=re.IGNORECASE,
    )
    pieces = _PIECES.split(text)
    for at in range(0, len(pieces), 2):
        for pattern, replacement in _REWRITES:
            pieces[at] = pattern.sub(replacement, pieces[at])
        quoted = "'" + database.replace("'", "''") + "'"
        pieces[at] = pieces[at].replace("fsql_database", quoted)
        pieces[at] = pieces[at].replace("fsql_version", f"'PostgreSQL {VERSION} (fsql)'")
    return "".join(pieces)


_DUCK: Final = {
    "BOOLEAN": BOOL,
    "TINYINT": INT2,
    "SMALLINT": INT2,
    "INTEGER": INT4,
    "BIGINT": INT8,
    "UINTEGER": OID,
    "HUGEINT": NUMERIC,
    "FLOAT": FLOAT8,
    "DOUBLE": FLOAT8,
    "VARCHAR": TEXT,
    "SMALLINT[]": TYPES[INT2.array],
    "INTEGER[]": TYPES[INT4.array],
    "BIGINT[]": TYPES[INT8.array],
    "VARCHAR[]": TYPES[TEXT.array],
}


def _type_of(kind: object) -> PgType:
    return _DUCK.get(str(kind), TEXT)
