"""The final result of a query by DuckDB, to compare with the oracle's."""

from __future__ import annotations

import math
from collections import Counter
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

import duckdb

from fsql.compiler.sqltypes import Kind
from fsql.tests.property.duckdb_expressions import ExcludedError, sql_type
from fsql.tests.property.duckdb_sql import Translation
from fsql.tests.property.flow import computes_with_inexact, depending, inexact
from fsql.tests.reference.oracle import Oracle
from fsql.tests.reference.relations import END

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fsql.compiler import logical
    from fsql.compiler.expression import Value
    from fsql.tests.property.cases import Case
    from fsql.tests.reference.oracle import Inputs
    from fsql.tests.reference.relations import Row

    Bag = Counter[tuple[object, ...]]

NULLS_LIKE_POSTGRESQL = "SET default_null_order = 'nulls_last_on_asc_first_on_desc'"
"""NULLs are greater than all else, as in fsql."""


@cache
def _connection(settings: str) -> duckdb.DuckDBPyConnection:
    """Return the connection of this process for databases with these settings."""
    del settings
    return duckdb.connect(config={"threads": 1})


@contextmanager
def empty_database(settings: str = "") -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection to an empty database, which is dropped at the end.

    Connecting takes longer than most queries; so there is one connection for all databases with the same
    settings.
    """
    connection = _connection(settings)
    connection.execute("ATTACH ':memory:' AS made; USE made")
    try:
        if settings:
            connection.execute(settings)
        yield connection
    finally:
        connection.execute("USE memory; DETACH made")


def insert_rows(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    places: Sequence[str],
    rows: Sequence[Sequence[object]],
) -> None:
    """Insert rows with one statement, which takes as long as one that inserts one row.

    `places` are the expressions of the columns, each over one `?` and of the column's type.
    """
    if rows:
        values = ", ".join([f"({', '.join(places)})"] * len(rows))
        connection.execute(
            f"INSERT INTO {table} VALUES {values}", [value for row in rows for value in row]
        )


def final_results(job: logical.Job, inputs: Inputs, insert: int) -> tuple[Bag, Bag]:
    """Return the final rows of an INSERT by the oracle and by DuckDB, in a form that compares.

    Raises:
        ExcludedError: DuckDB means the query otherwise.
    """
    query = job.inserts[insert].query
    if computes_with_inexact(query):
        raise ExcludedError("something is computed from an inexact number")
    digits = depending(query, inexact)
    text = Translation().query(query)
    oracle = Oracle(job, inputs, literal=False)
    ours = [row.values for row in oracle.relations.relation(query, END)]
    with empty_database() as connection:
        for table in job.tables:
            load(connection, table, oracle.rows[table.ordinal])
        theirs = connection.execute(text).fetchall()
    return comparable(query, ours, digits), comparable(query, theirs, digits)


def compare_with_duckdb(case: Case, views: Mapping[str, str], query: str) -> int:
    """Check the rows of a case by the oracle against a query of DuckDB; return how many there are.

    `views` are the columns of the tables there, by the name of the table.
    """
    plan = case.job.inserts[0].query
    oracle = Oracle(case.job, case.inputs, literal=False)
    ours = [row.values for row in oracle.relations.relation(plan, END)]
    with empty_database(NULLS_LIKE_POSTGRESQL) as connection:
        for table in case.job.tables:
            load(connection, table, oracle.rows[table.ordinal])
            columns = f"{views[table.name]}, time, origin"
            connection.execute(
                f"CREATE VIEW {table.name} ({columns}) AS FROM input_{table.ordinal}"
            )
        theirs = connection.execute(query).fetchall()
    exact: frozenset[int] = frozenset()
    assert comparable(plan, ours, exact) == comparable(plan, theirs, exact), case
    return len(ours)


def load(connection: duckdb.DuckDBPyConnection, table: logical.Table, rows: Sequence[Row]) -> None:
    """Make the input of `table`: its columns, then time and origin of each row."""
    types = [*(sql_type(column.type) for column in table.columns), "BIGINT", "BIGINT"]
    names = [*(f"c{index}" for index in range(len(table.columns))), "time", "origin"]
    columns = ", ".join(f"{name} {type_}" for name, type_ in zip(names, types, strict=True))
    connection.execute(f"CREATE TABLE input_{table.ordinal} ({columns})")
    given = [
        [*(plain(value) for value in row.values[: len(table.columns)]), *row.root] for row in rows
    ]
    places = [f"CAST(? AS {type_})" for type_ in types]
    insert_rows(connection, f"input_{table.ordinal}", places, given)


def plain(value: Value) -> object:
    """Return a value as DuckDB's client takes it."""
    return [plain(item) for item in value] if isinstance(value, tuple) else value


def comparable(
    query: logical.Plan, rows: Sequence[Sequence[object]], approximate: frozenset[int]
) -> Bag:
    """Return rows as a bag: zeros without sign, numbers that are inexact to 9 digits."""
    doubles = {
        index
        for index, column in enumerate(query.schema)
        if (column.type.element or column.type).kind is Kind.DOUBLE
    }
    return Counter(
        tuple(
            rounded(value, 9 if index in approximate else 17) if index in doubles else listed(value)
            for index, value in enumerate(row)
        )
        for row in rows
    )


def listed(value: object) -> object:
    """Return a value with lists as tuples."""
    return tuple(listed(item) for item in value) if isinstance(value, list) else value


def rounded(value: object, digits: int) -> object:
    """Return a DOUBLE, or an array of them, as text with that many digits."""
    if isinstance(value, list | tuple):
        return tuple(rounded(item, digits) for item in value)
    if not isinstance(value, float):
        return value
    return "nan" if math.isnan(value) else f"{value + 0.0:.{digits}g}"
