"""Temporal joins of a table that is read as changes are what their definition says, on every way.

Each change of an order that is not late has the rate of its own event time.  The last change of an order by
event time, of equal times in the total order, is the row of the result.

FSQL_SEEDS=1000:2000 runs other seeds than those of the suite.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.binder.script import bind
from fsql.compiler.parser import parse_script
from fsql.compiler.text.source import SourceText
from fsql.compiler.verify.logical import verify_logical
from fsql.connectors.declared import DECLARED
from fsql.tests.property.cases import Case
from fsql.tests.property.check import check
from fsql.tests.property.snapshots import check_snapshots, roots_of
from fsql.tests.property.test_temporal_joins import SECOND, closing
from fsql.tests.reference.oracle import Oracle
from fsql.tests.reference.relations import END
from fsql.tests.seeds import chosen_seeds

if TYPE_CHECKING:
    from fsql.compiler.expression import Value
    from fsql.tests.property.inputs import Splits

    Values = tuple[Value, ...]

SCRIPT = """
CREATE TABLE orders (
    id BIGINT, k STRING, n BIGINT, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '2' SECOND,
    PRIMARY KEY (id) NOT ENFORCED
) WITH ('connector' = 'file', 'path' = 'o.jsonl', 'changes' = 'upsert');
CREATE TABLE rates (
    k STRING, v BIGINT, since TIMESTAMP, WATERMARK FOR since AS since - INTERVAL '3' SECOND,
    PRIMARY KEY (k) NOT ENFORCED
) WITH ('connector' = 'file', 'path' = 'r.jsonl'{changes});
CREATE VIEW large AS SELECT at, k, n, id FROM orders WHERE n > 1;
SELECT o.id, o.n, r.v
FROM {orders} AS o {join};
"""
TEMPORAL = "{kind} JOIN rates FOR SYSTEM_TIME AS OF o.at AS r ON o.k = r.k{on}"
AS_OF = "ASOF {kind} JOIN rates AS r ON o.k = r.k AND o.at >= r.since"
KINDS = ("", "LEFT")
CONDITION = " AND r.v > o.n"


def case_of(seed: int) -> Case:
    """Return a case over drawn changes and rates."""
    random = Random(f"temporal changes {seed}")
    changes = random.choice(("", ", 'changes' = 'upsert'"))
    kind, on = random.choice(KINDS), random.choice(("", CONDITION))
    orders = random.choice(("orders", "large"))
    # An ASOF join with the row of a key, which is among the equalities, is the same.
    join = (AS_OF if seed % 3 == 0 and not on else TEMPORAL).format(kind=kind, on=on)
    text = SCRIPT.format(changes=changes, join=join, orders=orders)
    job = bind(parse_script(SourceText("temporal", text)), DECLARED).job
    verify_logical(job)
    made: dict[int, Splits] = {}
    for table in range(2):
        made[table] = [[] for _ in range(random.choice((1, 1, 2)))]
        clock = 0
        for number in range(random.choice((5, 15, 25))):
            clock += random.choice((0, 1, SECOND // 2, SECOND, 4 * SECOND))
            at = max(0, clock - random.choice((0, 0, 0, SECOND, 2 * SECOND, 5 * SECOND)))
            op = random.choice(("+I", "+I", "+U", "-D", "-U"))
            key = random.choice(("a", "b"))
            row: Values = (op, random.randrange(3), key, number % 5, at)
            if table == 1:
                row = (key, number, at) if not changes else (op, key, number, at)
            random.choice(made[table]).append(row)
    return Case(f"temporal changes {seed}", text, job, made)


def in_order(table: int, splits: Splits) -> list[tuple[int, Values]]:
    """Return the times and rows of a table that are not late, in the order of event time."""
    rows: list[tuple[tuple[int, tuple[int, int]], Values]] = []
    for split, of_split in enumerate(splits):
        greatest = 0
        for number, values in enumerate(of_split):
            assert isinstance(values, tuple)
            at = values[-1]
            assert isinstance(at, int)
            greatest = max(at, greatest)
            root = greatest, table << 56 | split << 40 | number
            # The row before is no change: it is dropped before it can be late.
            if root <= closing(at) and values[0] != "-U":
                rows.append(((at, root), values))
    return [(at, values) for (at, _), values in sorted(rows, key=lambda each: each[0])]


def defined(case: Case) -> set[Values]:
    """Return the rows of the result by the definition."""
    found: dict[Value, Values] = {}
    rates = in_order(1, case.inputs[1])
    keeps, needs = "LEFT JOIN" in case.text, CONDITION in case.text
    for at, (op, id_, key, n, _) in in_order(0, case.inputs[0]):
        before = [row for since, row in rates if since <= at and row[-3] == key]
        rate = before[-1] if before else None
        value = None if rate is None or rate[0] == "-D" else rate[-2]
        assert isinstance(n, int)
        assert isinstance(value, int | None)
        met = value is not None and not (needs and value <= n)
        found.pop(id_, None)
        visible = op != "-D" and not ("FROM large" in case.text and n <= 1)
        if visible and (met or keeps):
            found[id_] = (id_, n, value if met else None)
    return set(found.values())


@pytest.mark.slow
def test_changes_have_the_versions_of_their_times() -> None:
    met: Counter[str] = Counter()
    for seed in chosen_seeds(24):
        case = case_of(seed)
        oracle = Oracle(case.job, case.inputs, literal=False)
        rows = oracle.relations.relation(case.job.inserts[0].query, END)
        result = {row.values for row in rows}
        assert result == defined(case), case
        assert len(result) == len(rows), case
        met["rows"] += len(result)
        met["ASOF"] += "ASOF" in case.text and len(result)
        met["NULL"] += any(row[2] is None for row in result)
        met["late"] += any(case.expected.late)
        check(case)
        check_snapshots(case, case.expected, roots_of(case), Random(case.name), met)
    assert all(met[each] for each in ("rows", "ASOF", "NULL", "late", "rows restored")), met
