"""Grouping sets have the rows that DuckDB says, and the same bytes on every way.

Catches sets that are expanded wrongly, a NULL that is taken for a key of another set, values of GROUPING, and
expressions over keys that are NULL in some sets.  Input is never empty: there DuckDB has a row for the set
without a key, where a stream has none.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Final

from fsql.compiler.binder.script import bind
from fsql.compiler.parser import parse_script
from fsql.compiler.text.source import SourceText
from fsql.compiler.verify.logical import verify_logical
from fsql.connectors.declared import DECLARED
from fsql.runtime.ports import DeadLetter
from fsql.tests.property.by_duckdb import comparable, empty_database, insert_rows
from fsql.tests.property.cases import Case
from fsql.tests.property.check import check
from fsql.tests.reference.oracle import Oracle
from fsql.tests.reference.relations import END

if TYPE_CHECKING:
    from fsql.compiler.expression import Value

SEEDS: Final = 15
COLUMNS: Final = "k BIGINT, v BIGINT, n BIGINT NOT NULL"
KEYS: Final = "k", "v", "n", "k + n"
ITEMS: Final = (
    *("COUNT(*)", "SUM(n)", "MAX(k)", "COUNT(DISTINCT v)", "SUM(v) FILTER (WHERE n > 0)"),
    *("CASE WHEN n IS NULL THEN -1 ELSE n END", "COALESCE(k, -1)", "GROUPING(n, k)", "GROUPING(v)"),
    *("n + 1", "k + n", "GROUPING(k) + SUM(n)"),
)
HAVING: Final = "", "", " HAVING n IS NULL", " HAVING GROUPING(k, v) < 2", " HAVING COUNT(*) > 1"


def _group_by(random: Random) -> str:
    """Return a GROUP BY in which the keys of `ITEMS` occur."""

    def of(count: int) -> str:
        return ", ".join(random.sample(KEYS, count))

    def one_set() -> str:
        return f"({of(random.choice((0, 1, 2, 2)))})"

    def element() -> str:
        match random.randrange(4):
            case 0:
                return f"ROLLUP ({of(2)}, {random.choice(KEYS)})"
            case 1:
                return f"CUBE (({of(2)}), {random.choice(KEYS)})"
            case 2:
                return f"GROUPING SETS ({one_set()}, {one_set()}, ROLLUP ({of(1)}))"
            case _:
                return random.choice(KEYS)

    elements = [f"GROUPING SETS ((k, v), (n, k + n), (v, n), {one_set()})"]
    elements += [element() for _ in range(random.randrange(2))]
    random.shuffle(elements)
    return ", ".join(elements)


def _case(seed: int) -> tuple[str, Case]:
    random = Random(f"grouping sets {seed}")
    items = ["k", "v", "n", *random.sample(ITEMS, 4)]
    listed = ", ".join(f"{item} AS c{place}" for place, item in enumerate(items))
    query = f"SELECT {listed} FROM t GROUP BY {_group_by(random)}{random.choice(HAVING)}"
    script = (
        f"CREATE TABLE t ({COLUMNS}) WITH ('connector' = 'file', 'path' = 't.jsonl');\n{query};"
    )
    job = bind(parse_script(SourceText(f"sets {seed}", script)), DECLARED).job
    verify_logical(job)
    values = (0, 1, None)
    rows: list[tuple[Value, ...] | DeadLetter] = [
        (random.choice(values), random.choice(values), random.choice((0, 1)))
        for _ in range(random.choice((1, 4, 9)))
    ]
    return query, Case(f"sets {seed}", script, job, {0: [rows]})


def test_grouping_sets_have_the_rows_that_duckdb_says() -> None:
    kept: Counter[str] = Counter()
    for seed in range(SEEDS):
        query, case = _case(seed)
        plan = case.job.inserts[0].query
        relations = Oracle(case.job, case.inputs, literal=False).relations
        ours = [row.values for row in relations.relation(plan, END)]
        with empty_database() as connection:
            connection.execute(f"CREATE TABLE t ({COLUMNS})")
            rows = [row for row in case.inputs[0][0] if not isinstance(row, DeadLetter)]
            insert_rows(connection, "t", ["CAST(? AS BIGINT)"] * 3, rows)
            theirs = connection.execute(query).fetchall()
        bags = [comparable(plan, rows, frozenset()) for rows in (ours, theirs)]
        assert bags[0] == bags[1], (
            f"seed {seed}: {query}\n{case.inputs}\n"
            f"only here: {bags[0] - bags[1]}\nonly by DuckDB: {bags[1] - bags[0]}"
        )
        kept["rows" if ours else "no rows"] += 1
    assert kept["rows"] > 0.7 * SEEDS, kept


def test_all_ways_release_the_same() -> None:
    for seed in range(4):
        check(_case(seed)[1], schedules=1)
