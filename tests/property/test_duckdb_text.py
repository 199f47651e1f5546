"""DuckDB runs the script's own text, and its last view has the rows that the job leaves.

Catches what the parser or the binder reads wrongly: precedence, names, scopes, types of literals, what
belongs to WHERE, HAVING or ON, the columns of windows, coercions; and any later part that changes the
final rows.  Cannot catch anything about late rows (where there are any, the case is passed over), order or
changes, nor what is outside of the plain SQL that both have: ARRAY_AGG, running aggregates, functions that
differ (`duckdb_text` says which).

FSQL_SEEDS=1000:2000 runs other seeds than those of the suite.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.binder.script import bind
from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.logical import Join, operators
from fsql.compiler.parser import parse_script
from fsql.compiler.text.source import SourceText
from fsql.connectors.declared import DECLARED
from fsql.runtime.ports import DeadLetter
from fsql.tests.property.by_duckdb import comparable, empty_database, insert_rows
from fsql.tests.property.duckdb_text import SETTINGS, duckdb_text, duckdb_type, plain_column
from fsql.tests.property.flow import computes_with_inexact, depending, inexact
from fsql.tests.property.inputs import random_splits
from fsql.tests.property.mixed_scripts import random_mixed_script
from fsql.tests.property.scripts import random_script
from fsql.tests.property.sql_expressions import LETTERS
from fsql.tests.reference.oracle import Oracle
from fsql.tests.reference.relations import END
from fsql.tests.seeds import chosen_seeds

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.compiler.logical import Plan
    from fsql.tests.property.inputs import Splits
    from fsql.tests.property.script_writer import ScriptWriter

PLACES = {"T": "make_timestamp(?)", "Y": "DATE '1970-01-01' + CAST(? AS INTEGER)"}
"""How DuckDB is given values of the kinds that are numbers in fsql."""
MAKERS: dict[str, Callable[..., ScriptWriter]] = {
    "text": random_script,
    "mixed": random_mixed_script,
}
ORDERED = ("STRING_AGG", "MAX_BY")
"""DuckDB places NULL, and rows of which none is before the other, in another order."""


def compare(kind: str, seed: int) -> str:
    """Compare one script; return how it went."""
    random = Random(f"{kind} {seed}")
    writer = MAKERS[kind](random, plain=True)
    script = "\n".join(writer.statements)
    if any(name in script for name in ORDERED):
        return "ordered"
    tables = {
        table.name: random_splits(random, writer.physical[table.name], int(table.rows), late=0.0)
        for table in writer.tables
    }
    try:
        job = bind(parse_script(SourceText(f"{kind} {seed}", script)), DECLARED).job
    except FsqlError:
        return "refused"
    insert = job.inserts[0]
    if computes_with_inexact(insert.query):
        return "inexact"
    inputs = {table.ordinal: tables[table.name] for table in job.tables}
    oracle = Oracle(job, inputs, literal=False)
    result = oracle.result()
    if result.error is not None or any(result.late) or joins_in_time_twice(insert.query):
        return "failed or late"
    ours = [row.values for row in oracle.relations.relation(insert.query, END)]
    theirs = by_duckdb(writer, tables)
    digits = depending(insert.query, inexact)
    bags = [comparable(insert.query, rows, digits) for rows in (ours, theirs)]
    assert bags[0] == bags[1], (
        f"{kind} {seed}\n{script}\nonly here: {bags[0] - bags[1]}\nonly by DuckDB: {bags[1] - bags[0]}"
    )
    return "rows" if ours else "no rows"


def joins_in_time_twice(plan: Plan) -> bool:
    """Say whether a join with a time range reads one, whose rows may then be too late for it."""
    ranged = [node for node in operators(plan) if isinstance(node, Join) and node.time_range]
    return any(below in ranged for node in ranged for below in operators(node) if below is not node)


def by_duckdb(writer: ScriptWriter, tables: dict[str, Splits]) -> list[tuple[object, ...]]:
    """Return the rows of what the script's first INSERT reads."""
    with empty_database(SETTINGS) as connection:
        for table in writer.tables:
            types = [duckdb_type(LETTERS[column.letter]) for column in table.columns]
            columns = [f"{c.name} {type_}" for c, type_ in zip(table.columns, types, strict=True)]
            connection.execute(f"CREATE TABLE {table.name} ({', '.join(columns)})")
            places = [
                PLACES.get(column.letter, f"CAST(? AS {type_})")
                for column, type_ in zip(table.columns, types, strict=True)
            ]
            rows = [
                [list(value) if isinstance(value, tuple) else value for value in row]
                for split in tables[table.name]
                for row in split
                if not isinstance(row, DeadLetter)
            ]
            insert_rows(connection, table.name, places, rows)
        for statement in writer.statements:
            if statement.startswith("CREATE VIEW"):
                connection.execute(duckdb_text(statement))
        last = writer.relations[-1]
        items = [plain_column(column.name, LETTERS[column.letter]) for column in last.columns]
        connection.execute(f"SELECT {', '.join(items)} FROM {last.name}")
        return connection.fetchall()


@pytest.mark.slow
@pytest.mark.parametrize("kind", MAKERS)
def test_the_text_means_what_duckdb_says(kind: str) -> None:
    chosen = chosen_seeds(60)
    went = Counter(compare(kind, seed) for seed in chosen)
    print(went)  # noqa: T201 - shown by -rP and on failure
    assert went["rows"] > 0.5 * len(chosen), went
