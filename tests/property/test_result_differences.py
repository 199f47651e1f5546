"""The difference of two results as of a position, from the state that is kept, is that of the oracle.

Two queries over the same operators with state are drawn.  The engine runs the old one and takes a snapshot;
the difference is computed from its state, and the new query continues from there.  The difference has to be
exactly that of the results of the oracle as of the position, and the changes of the old query below it, the
difference, and the changes of the new query have to add up to the result of the new query over all input.

FSQL_SEEDS=1000:2000 runs other seeds than those of the suite.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import groupby
from random import Random
from typing import TYPE_CHECKING, Final

import pytest

from fsql.compiler.binder.script import bind
from fsql.compiler.logical import append_only
from fsql.compiler.parser import parse_script
from fsql.compiler.pipeline import apply_rules
from fsql.compiler.text.source import SourceText
from fsql.connectors.declared import DECLARED
from fsql.job.result_differences import (
    ResultDifferences,
    changes_of,
    output_differences,
)
from fsql.job.state_operators import state_operators
from fsql.runtime.arrow_types import from_arrow
from fsql.runtime.drivers.in_memory import SnapshotStart
from fsql.tests.property.cases import Case
from fsql.tests.property.check import random_schedule
from fsql.tests.property.snapshots import Snapshots, roots_of, run_with_snapshots
from fsql.tests.property.ways import by_oracle
from fsql.tests.reference.lines import line
from fsql.tests.seeds import seed_ranges

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fsql.compiler.expression import Value
    from fsql.compiler.logical import Job, SinkTable
    from fsql.runtime.batch import Batch
    from fsql.tests.property.inputs import Splits
    from fsql.tests.reference.relations import Root

SECOND: Final = 1_000_000
FILE: Final = "WITH ('connector' = 'file', 'path' = '{}.jsonl'{})"
TABLES: Final = (
    "CREATE TABLE a (k STRING, v BIGINT, at TIMESTAMP, WATERMARK FOR at AS at) "
    + FILE.format("a", "")
    + ";\nCREATE TABLE b (k STRING, v BIGINT, at TIMESTAMP, WATERMARK FOR at AS at) "
    + FILE.format("b", "")
    + ";\nCREATE TABLE c (k STRING, v BIGINT, PRIMARY KEY (k) NOT ENFORCED) "
    + FILE.format("c", ", 'changes' = 'upsert'")
    + ";\n"
)
RANKED: Final = (
    "SELECT k, v AS n FROM (SELECT k, v, {} OVER (PARTITION BY k ORDER BY {}) AS r FROM a) WHERE {}"
)
OF_COUNTS: Final = (
    "SELECT k, n FROM (SELECT k, n, {} OVER (ORDER BY n DESC) AS r FROM"
    " (SELECT k, COUNT(*) AS n FROM a GROUP BY k)) WHERE r <= 2"
)
SIDES: Final = "(SELECT k, SUM(v) AS n FROM {0} GROUP BY k) AS s{0}"
BASES: Final = (
    *("SELECT k, COUNT(*) AS n FROM a GROUP BY k", "SELECT k, MAX(v) AS n FROM b GROUP BY k"),
    "SELECT k, COUNT(DISTINCT v) + MIN(v) AS n FROM a GROUP BY k",
    "SELECT LAST_VALUE(k) AS k, v AS n FROM a GROUP BY v",
    "SELECT 'all' AS k, COUNT(*) AS n FROM a",
    *("SELECT DISTINCT k, v AS n FROM a", "SELECT k, v AS n FROM c"),
    "SELECT MAX(k) AS k, COUNT(*) AS n FROM (SELECT k, COUNT(*) AS m FROM a GROUP BY k) GROUP BY m",
    RANKED.format("ROW_NUMBER()", "v", "r <= 2"),
    RANKED.format("ROW_NUMBER()", "v DESC", "r BETWEEN 2 AND 3"),
    RANKED.format("RANK()", "v", "r <= 2"),
    RANKED.format("DENSE_RANK()", "v DESC", "r <= 2"),
    RANKED.format("ROW_NUMBER()", "v", "r <= 40"),
    RANKED.replace("v AS n", "r AS n", 1).format("ROW_NUMBER()", "v", "r <= 3"),
    *(OF_COUNTS.format("ROW_NUMBER()"), OF_COUNTS.format("RANK()")),
    "SELECT a.k, b.v AS n FROM a JOIN b ON a.k = b.k",
    "SELECT a.k, b.v AS n FROM a LEFT JOIN b ON a.k = b.k",
    "SELECT COALESCE(a.k, b.k) AS k, b.v AS n FROM a FULL JOIN b ON a.k = b.k AND a.v = b.v",
    "SELECT k, v AS n FROM a WHERE k IN (SELECT k FROM b)",
    "SELECT a.k, a.v AS n FROM a LEFT ANTI JOIN b ON a.k = b.k",
    f"SELECT sa.k, sb.n FROM {SIDES.format('a')} RIGHT JOIN {SIDES.format('b')} ON sa.k = sb.k",
    "SELECT a.k, c.v AS n FROM a LEFT JOIN c ON a.k = c.k",
)
APPENDED: Final = (
    "SELECT k, v AS n FROM a",
    "SELECT k, COUNT(*) OVER (PARTITION BY k ORDER BY at) AS n FROM a",
    "SELECT k, COUNT(*) AS n FROM TUMBLE(a, at, INTERVAL '2' SECOND) GROUP BY k, window_end",
)
TOPS: Final = (
    *("SELECT k, n FROM ({})", "SELECT k, n * 2 AS n FROM ({})", "SELECT n AS k, 1 AS n FROM ({})"),
    *("SELECT 'x' AS k, n FROM ({})", "SELECT k, n FROM ({}) WHERE MOD(n, 2) = 0"),
    *("SELECT k, n FROM ({}) WHERE n > 2", "SELECT UPPER(k) AS k, -n AS n FROM ({}) WHERE n <> 1"),
    "SELECT k, u AS n FROM ({}) CROSS JOIN UNNEST(ARRAY[n, n + 1, 1]) AS t (u)",
)

MUST_BE_MET: Final = ("pairs", "differences")


def queries(random: Random) -> tuple[str, str]:
    """Return the old and the new query."""
    bases = random.sample(BASES, random.choice((1, 1, 2)))
    always = random.sample(APPENDED, random.choice((0, 0, 1)))

    def query() -> str:
        chosen = [base for base in bases if random.random() < 0.8] or bases
        tops = [random.choice(TOPS).format(base) for base in chosen]
        return " UNION ALL ".join([*tops, *(always if random.random() < 0.7 else [])])

    return query(), query()


def job_of(query: str) -> Job:
    text = query.replace("SELECT n AS k", "SELECT CAST(n AS STRING) AS k")
    sink = "CREATE TABLE o (k STRING, n BIGINT) " + FILE.format("o", ", 'changes' = 'retract'")
    script = f"{TABLES}{sink};\nINSERT INTO o {text};"
    return apply_rules(bind(parse_script(SourceText("pair", script), {}), DECLARED).job)


def inputs_of(random: Random, job: Job) -> dict[int, Splits]:
    inputs: dict[int, Splits] = {}
    for table in job.tables:
        splits: Splits = [[] for _ in range(random.choice((1, 2)))]
        clock = 0
        for _ in range(random.choice((6, 15, 30))):
            clock += random.choice((0, 1, SECOND))
            key, value = random.choice("aabc"), random.choice((0, 1, 2, 3, None))
            row: tuple[Value, ...] = (key, value, clock)
            if table.name == "c":
                row = (random.choice(("+I", "+U", "-D")), key, value)
            splits[random.randrange(len(splits))].append(row)
        inputs[table.ordinal] = splits
    return inputs


def weights(lines: Iterable[str]) -> Counter[str]:
    """Return the sum of the changes of each row."""
    rows: Counter[str] = Counter()
    for text in lines:
        row = json.loads(text)
        operation = row.pop("op")
        rows[json.dumps(row)] += 1 if operation in {"+I", "+U"} else -1
    return Counter({row: count for row, count in rows.items() if count})


def net(changes: Iterable[tuple[Root, str]]) -> Counter[str]:
    """Return the rows that changes add up to; at no root may a row be removed that is not there."""
    rows: Counter[str] = Counter()
    for root, group in groupby(changes, lambda change: change[0]):
        rows.update(weights(text for _, text in group))
        assert not [row for row, count in rows.items() if count < 0], root
    return +rows


def lines_of(rows: Batch, sink: SinkTable) -> list[str]:
    """Return rows as lines of changes."""
    columns = [
        from_arrow(array, column.type)
        for column, array in zip(sink.columns, rows.columns, strict=True)
    ]
    return [
        line(sink, "+I" if weight > 0 else "-D", row)
        for *row, weight in zip(*columns, rows.weights().tolist(), strict=True)
        for _ in range(abs(weight))
    ]


@pytest.mark.parametrize("seeds", seed_ranges(24), ids=str)
def test_the_difference_is_that_of_the_oracle(seeds: range) -> None:
    met: Counter[str] = Counter()
    for seed in seeds:
        random = Random(f"pair {seed}")
        old_query, new_query = queries(random)
        old, new = job_of(old_query), job_of(new_query)
        kept = state_operators(old).keys() & state_operators(new).keys()
        if kept != state_operators(new).keys() or old.tables != new.tables:
            met["other operators"] += 1
            continue
        if append_only(old.inserts[0].query) and append_only(new.inserts[0].query):
            met["only additions"] += 1
            continue
        name = f"pair {seed}: {old_query} ─▶ {new_query}"
        differences = output_differences(old, new, kept, rebuilt=False)
        reasons = [each.reason for each in differences if each.reason is not None]
        if reasons:
            met["not enumerable"] += 1
            assert "UNION" in name or "removes no rows" in reasons[0], (name, reasons)
            continue
        inputs = inputs_of(random, old)
        case = Case(name, old_query, old, inputs)
        expected_old, expected_new = by_oracle(old, inputs), by_oracle(new, inputs)
        snapshots = Snapshots(random, roots_of(case), {}, 0.5, met, cancels=0.0)
        released = run_with_snapshots(case, random_schedule(random), snapshots).released[0]
        assert released == expected_old.released[0]
        if not snapshots.taken:
            continue
        begin = random.choice(snapshots.taken)
        state = {operator: parts for operator, parts in begin.state.items() if operator in kept}
        given: list[str] = []
        enumerated = ResultDifferences(begin.state, begin.position)
        for difference in differences:
            rows = enumerated.rows(difference)
            given = lines_of(rows, new.inserts[0].sink)
            assert changes_of(rows, difference.port) == len(given), name
        before, after = (
            net(change for change in outcome.released[0] if change[0] < begin.position)
            for outcome in (expected_old, expected_new)
        )
        expected = Counter(after)
        expected.subtract(before)
        assert weights(given) == {row: count for row, count in expected.items() if count}, name
        met["differences"] += bool(given)
        begin = SnapshotStart(begin.position, state)
        going_on = Snapshots(random, (), dict(state), 0.5, met, begin, cancels=0.0)
        rest = run_with_snapshots(replace(case, job=new), random_schedule(random), going_on)
        written = [change for change in released if change[0] < begin.position]
        written += [(begin.position, text) for text in given]
        assert net([*written, *rest.released[0]]) == net(expected_new.released[0]), name
        met["pairs"] += 1
    assert [what for what in MUST_BE_MET if not met[what]] == [], met
