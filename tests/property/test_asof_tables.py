"""ASOF joins of tables with a key are what their definition says over the rows that the tables contain.

FSQL_SEEDS=1000:2000 runs other seeds than those of the suite.
"""

from __future__ import annotations

from collections import Counter
from operator import ge, gt, le, lt
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
from fsql.tests.reference.oracle import Oracle
from fsql.tests.reference.relations import END
from fsql.tests.seeds import chosen_seeds

if TYPE_CHECKING:
    from fsql.compiler.expression import Value
    from fsql.tests.property.inputs import Splits

    Values = tuple[Value, ...]

SCRIPT = """
CREATE TABLE t (id BIGINT, k STRING, x BIGINT{left_key})
    WITH ('connector' = 'file', 'path' = 't.jsonl'{left});
CREATE TABLE u (num BIGINT, k STRING, y BIGINT{right_key})
    WITH ('connector' = 'file', 'path' = 'u.jsonl'{right});
SELECT t.id, t.k, t.x, u.num, u.y FROM t ASOF {kind} JOIN u ON t.k = u.k AND t.x {operator} u.y;
"""
OPERATORS = {">=": ge, ">": gt, "<=": le, "<": lt}
UPSERT = ", 'changes' = 'upsert'"
KEYS = (("", "num"), ("", "k, y"), ("", "k"), ("id", "num"), ("id", ""), ("id", "k, y"))
"""The keys of both sides; where there is none, the table only grows."""


def case_of(seed: int) -> Case:
    """Return a case over drawn changes."""
    random = Random(f"asof tables {seed}")
    left_key, right_key = KEYS[seed % len(KEYS)]
    text = SCRIPT.format(
        left_key=left_key and f", PRIMARY KEY ({left_key}) NOT ENFORCED",
        right_key=right_key and f", PRIMARY KEY ({right_key}) NOT ENFORCED",
        left=left_key and UPSERT,
        right=right_key and UPSERT,
        kind=random.choice(("", "LEFT")),
        operator=random.choice([*OPERATORS]),
    )
    job = bind(parse_script(SourceText("asof", text)), DECLARED).job
    verify_logical(job)
    inputs: dict[int, Splits] = {}
    for table, key in enumerate((left_key, right_key)):
        inputs[table] = [[]]
        for number in range(random.choice((3, 6, 10))):
            # Rows of the right without a key differ in what is compared, so that one of them is the next.
            value = random.randrange(6) if key or table == 0 else 2 * number
            row: Values = (random.randrange(4), random.choice(("a", "b", None)), value)
            if key:
                kind = "" if "k" in key else None
                row = (random.choice(("+I", "+I", "+U", "-D")), row[0], row[1] or kind, value)
            inputs[table][0].append(row)
    return Case(f"asof tables {seed}", text, job, inputs)


def contents(rows: Splits, key: str, names: str) -> list[Values]:
    """Return what a table contains after all changes."""
    if not key:
        return [row for split in rows for row in split if isinstance(row, tuple)]
    places = [names.index(each) for each in key.split(", ")]
    found: dict[Values, Values] = {}
    for operation, *values in (row for split in rows for row in split if isinstance(row, tuple)):
        of_key = tuple(values[place] for place in places)
        found.pop(of_key, None)
        if operation != "-D":
            found[of_key] = tuple(values)
    return [*found.values()]


def defined(case: Case, keys: tuple[str, str]) -> Counter[Values]:
    """Return the rows of the result by the definition."""
    left = contents(case.inputs[0], keys[0].replace("id", "i"), "ikx")
    right = contents(case.inputs[1], keys[1].replace("num", "n"), "nky")
    [sign] = [each for each in OPERATORS if f"t.x {each} u.y" in case.text]
    found: Counter[Values] = Counter()
    for id_, k, x in left:
        assert isinstance(x, int)
        matches: list[tuple[int, int]] = []
        for num, key, y in right:
            assert isinstance(num, int)
            assert isinstance(y, int)
            if key is not None and k == key and OPERATORS[sign](x, y):
                matches.append((-y if sign in {">", ">="} else y, num))
        if matches:
            distance, num = min(matches)
            found[id_, k, x, num, abs(distance)] += 1
        elif "LEFT" in case.text:
            found[id_, k, x, None, None] += 1
    return found


@pytest.mark.slow
def test_rows_are_joined_with_the_nearest_that_the_table_contains() -> None:
    met: Counter[str] = Counter()
    for seed in chosen_seeds(24):
        case = case_of(seed)
        oracle = Oracle(case.job, case.inputs, literal=False)
        rows = oracle.relations.relation(case.job.inserts[0].query, END)
        result = Counter(row.values for row in rows)
        assert result == defined(case, KEYS[seed % len(KEYS)]), case
        met["rows"] += len(result)
        met["NULL"] += any(row[3] is None for row in result)
        met["equal rows"] += any(count > 1 for count in result.values())
        check(case)
        check_snapshots(case, case.expected, roots_of(case), Random(case.name), met)
    assert all(met[each] for each in ("rows", "NULL", "equal rows", "rows restored")), met
