"""Queries with subqueries and LATERAL have the rows that DuckDB says, and the same bytes on every way.

Catches a subquery that is composed of the wrong joins: for no rows, for NULL on either side, for rows that
occur twice.  What the joins do is judged by `test_updating_joins`.

FSQL_SEEDS=1000:2000 runs other seeds than those of the suite.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import duckdb
import pytest

from fsql.tests.property.by_duckdb import comparable, empty_database, insert_rows
from fsql.tests.property.cases import case_of
from fsql.tests.property.check import check
from fsql.tests.property.snapshots import check_snapshots, roots_of
from fsql.tests.property.subqueries import TABLES, random_subquery_case
from fsql.tests.reference.oracle import Oracle
from fsql.tests.reference.relations import END
from fsql.tests.seeds import chosen_seeds

if TYPE_CHECKING:
    from fsql.tests.property.subqueries import SubqueryCase

MUST_BE_MET = (
    "rows",
    "no rows",
    "NOT IN",
    "NOT EXISTS",
    " IN (",
    " EXISTS",
    " ANY (",
    " ALL (",
    "ARRAY(",
    " UNION ",
    "UNNEST(",
    "COUNT(v)",
    " OR ",
    "LATERAL",
    "<> a.",
    " ON x.",
    " OVER (PARTITION BY k",
    "AS x FROM a WHERE",
)


def by_duckdb(case: SubqueryCase) -> list[tuple[object, ...]]:
    """Return the rows of the same text by DuckDB."""
    with empty_database() as connection:
        for table in TABLES:
            connection.execute(f"CREATE TABLE {table} (k BIGINT, v BIGINT, n BIGINT)")
            insert_rows(connection, table, ["CAST(? AS BIGINT)"] * 3, case.rows[table])
        return connection.execute(case.query).fetchall()


@pytest.mark.slow
def test_subqueries_have_the_rows_that_duckdb_says() -> None:
    met: Counter[str] = Counter()
    chosen = chosen_seeds(100)
    for seed in chosen:
        made = random_subquery_case(Random(f"subquery {seed}"), f"subquery {seed}")
        case = case_of("subquery", seed)
        query = case.job.inserts[0].query
        oracle = Oracle(case.job, case.inputs, literal=False)
        ours = [row.values for row in oracle.relations.relation(query, END)]
        try:
            theirs = by_duckdb(made)
        except duckdb.NotImplementedException:
            met["not by DuckDB"] += 1
            continue
        bags = [comparable(query, rows, frozenset()) for rows in (ours, theirs)]
        assert bags[0] == bags[1], (
            f"seed {seed}: {made.query}\n{made.rows}\n"
            f"only here: {bags[0] - bags[1]}\nonly by DuckDB: {bags[1] - bags[0]}"
        )
        met["rows" if ours else "no rows"] += 1
        met.update(name for name in MUST_BE_MET if name in made.query)
    assert min(met[name] for name in MUST_BE_MET) > 0.03 * len(chosen), met


@pytest.mark.slow
def test_all_ways_release_the_same() -> None:
    met: Counter[str] = Counter()
    for seed in chosen_seeds(8):
        case = case_of("subquery", seed)
        met.update(check(case, schedules=1))
        check_snapshots(case, case.expected, roots_of(case), Random(case.name), met)
    assert met["something released"], met
    assert met["runs from a snapshot"], met
