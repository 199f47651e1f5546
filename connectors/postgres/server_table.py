"""What the catalog of a database says of a table, and what follows for those that read or write it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from fsql.compiler.diagnostics import Diagnostic, FsqlError
from fsql.compiler.diagnostics.near_names import near_name
from fsql.connectors.postgres.client import TableName, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import psycopg

    from fsql.compiler.schema import Schema


class ServerColumn(NamedTuple):
    """A column of a table in the database; `type` is the `typname` of its type, of a domain's base."""

    name: str
    type: str
    not_null: bool
    filled: bool
    """Whether the server fills it where a row does not give it: a default, an identity or an expression."""
    generated: bool
    """Whether nobody can write it."""
    computed: bool
    """Whether it is an expression over others, which the log of changes does not have."""


class ServerTable(NamedTuple):
    """A table of the database: its columns, and the columns of each of its unique indexes.

    `identity` says what the log has of old rows (`relreplident`), `kind` what it is (`relkind`).
    """

    oid: int
    name: TableName
    columns: dict[str, ServerColumn]
    unique: list[frozenset[str]]
    primary: tuple[str, ...]
    identity: str
    kind: str


_TABLE = """
    SELECT c.oid::bigint, n.nspname, c.relname, c.relreplident::text, c.relkind::text
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass(%s)
"""
_COLUMNS = """
    SELECT a.attname, coalesce(b.typname, t.typname), a.attnotnull OR t.typnotnull,
        a.atthasdef OR a.attidentity <> '' OR t.typdefault IS NOT NULL,
        a.attgenerated <> '' OR a.attidentity = 'a', a.attgenerated <> ''
    FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
        LEFT JOIN pg_type b ON t.typtype = 'd' AND b.oid = t.typbasetype
    WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_UNIQUE = """
    SELECT i.indisprimary, array_agg(a.attname::text ORDER BY k.place)
    FROM pg_index i CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS k (attnum, place)
        JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
    WHERE i.indrelid = %s AND i.indisunique AND i.indpred IS NULL AND i.indexprs IS NULL
        AND i.indimmediate AND i.indisvalid AND k.place <= i.indnkeyatts
    GROUP BY i.indexrelid, i.indisprimary ORDER BY i.indisprimary DESC, 2
"""


def find_table(connection: psycopg.Connection[Any], name: TableName) -> ServerTable | None:
    """Return what the database has under a name, None if there is nothing that the role can see.

    Raises:
        psycopg.Error: if the server refuses.
    """
    found = connection.execute(_TABLE, [name.sql]).fetchone()
    if found is None:
        return None
    oid, schema, table, identity, kind = found
    columns = [ServerColumn(*row) for row in connection.execute(_COLUMNS, [oid]).fetchall()]
    indexes = connection.execute(_UNIQUE, [oid]).fetchall()
    primary = next((tuple(names) for is_primary, names in indexes if is_primary), ())
    return ServerTable(
        oid=oid,
        name=TableName(schema, table),
        columns={each.name: each for each in columns},
        unique=[frozenset(names) for _, names in indexes],
        primary=primary,
        identity=identity,
        kind=kind,
    )


def missing_table_error(code: str, name: TableName, place: str, *helps: str) -> FsqlError:
    """Return the error, with this code, of a table that does not exist."""
    message = f'the database "{place}" has no table {name}'
    return FsqlError([Diagnostic(code, message, helps=helps)])


def check_names(code: str, table: ServerTable, names: Iterable[str]) -> None:
    """Check that a table has columns of these names.

    Raises:
        FsqlError: with this code, if it lacks one.
    """
    for name in names:
        if name not in table.columns:
            near = near_name(name, list(table.columns))
            near = near or next(
                (each for each in table.columns if each.lower() == name.lower()), None
            )
            message = f"table {table.name} of the database has no column '{name}'"
            has = f"it has {', '.join(table.columns)}"
            help_ = (
                "declare the columns that it has" if near is None else f"it has the column '{near}'"
            )
            raise FsqlError([Diagnostic(code, message, notes=(has,), helps=(help_,))])


def create_statement(
    name: TableName, columns: Schema, types: Sequence[str], key: Sequence[str]
) -> str:
    """Return the statement that creates a table."""
    parts = [
        f"{quoted(column.name)} {type_}{'' if column.nullable else ' NOT NULL'}"
        for column, type_ in zip(columns, types, strict=True)
    ]
    if key:
        parts.append(f"PRIMARY KEY ({', '.join(map(quoted, key))})")
    return f"CREATE TABLE {name.sql} ({', '.join(parts)})"
