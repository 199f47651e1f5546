"""Lookup joins are what their definition says, on every way and from snapshots.

The definition is evaluated directly over random orders and people: every order has the last row of its key in
the table at rest, in the order of splits and lines, and is released at its own position.  Windows over the
result count the same rows.

FSQL_SEEDS=1000:2000 runs other seeds than those of the suite.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from fsql.compiler.binder.script import bind
from fsql.compiler.parser import parse_script
from fsql.compiler.text.source import SourceText
from fsql.compiler.verify.logical import verify_logical
from fsql.connectors.declared import DECLARED
from fsql.tests.property.cases import Case
from fsql.tests.property.check import check
from fsql.tests.property.snapshots import check_snapshots, roots_of
from fsql.tests.seeds import chosen_seeds

if TYPE_CHECKING:
    from fsql.tests.property.inputs import Splits

SECOND = 1_000_000

SCRIPT = """
CREATE TABLE orders (
    id BIGINT NOT NULL, k STRING, at TIMESTAMP(3), now AS PROCTIME(),
    WATERMARK FOR at AS at - INTERVAL '60' SECOND
) WITH ('connector' = 'file', 'path' = 'o.jsonl');
CREATE TABLE people (k STRING, v BIGINT, PRIMARY KEY (k) NOT ENFORCED)
    WITH ('connector' = 'file', 'path' = 'p.jsonl');
CREATE VIEW pairs AS SELECT o.id, o.at, p.v
FROM orders AS o {kind} JOIN people FOR SYSTEM_TIME AS OF o.now AS p ON {key} AND p.v > 3{on};
CREATE TABLE sink (id BIGINT, v BIGINT) WITH ('connector' = 'blackhole');
CREATE TABLE counts (v BIGINT, n BIGINT, window_end TIMESTAMP(3)) WITH ('connector' = 'blackhole');
INSERT INTO sink SELECT id, v FROM pairs;
INSERT INTO counts SELECT v, COUNT(*), window_end
FROM TUMBLE(TABLE pairs, DESCRIPTOR(at), INTERVAL '2' SECOND)
GROUP BY v, window_start, window_end;
"""

CONDITION = " AND o.id < p.v"
CONSTANT = "p.k = 'a'"


def case_of(seed: int) -> tuple[Case, str]:
    """Return a case, and its kind of join."""
    random = Random(f"lookup {seed}")
    kind = random.choice(("", "LEFT"))
    # The conditions are drawn on their own, so that the other draws do not depend on them.
    own = Random(f"lookup condition {seed}")
    on, equality = own.choice(("", CONDITION)), own.choice(("o.k = p.k", "o.k = p.k", CONSTANT))
    text = SCRIPT.format(kind=kind, key=equality, on=on)
    job = bind(parse_script(SourceText("lookup", text)), DECLARED).job
    verify_logical(job)
    keys = ("a", "b", "c", None)
    made: dict[int, Splits] = {}
    for table in range(2):
        made[table] = [[] for _ in range(random.choice((1, 1, 2)))]
        clock = 0
        for number in range(random.choice((0, 5, 15))):
            clock += random.choice((0, 1000, SECOND, 4 * SECOND))
            at, key = max(0, clock - random.choice((0, 0, SECOND))), random.choice(keys)
            row = (number, key, at) if table == 0 else (key, random.choice((number, None)))
            random.choice(made[table]).append(row)
    return Case(f"lookup {seed}", text, job, made), kind


def expected_pairs(case: Case, kind: str) -> list[tuple[int, int | None, int]]:
    """Return the id, the value found and the time of each order that is released, in their order."""
    values: dict[object, int] = {
        key: value
        for split in rows_of(case.inputs[1])
        for key, value in split
        if key is not None and value is not None and value > 3
    }
    placed = []
    for split, rows in enumerate(rows_of(case.inputs[0])):
        greatest = 0
        for number, (order, key, at) in enumerate(rows):
            greatest = max(greatest, at)
            value = values.get("a" if CONSTANT in case.text else key)
            if value is not None and CONDITION in case.text and order >= value:
                value = None
            if value is not None or kind == "LEFT":
                placed.append(((greatest, split, number), (order, value, at)))
    return [pair for _, pair in sorted(placed, key=lambda each: each[0])]


def rows_of(splits: Splits) -> list[list[tuple[Any, ...]]]:
    """Return the values of the rows of splits."""
    return [[row for row in split if isinstance(row, tuple)] for split in splits]


def text_of(value: int | None) -> str:
    """Return a number or NULL as JSON."""
    return "null" if value is None else str(value)


@pytest.mark.slow
def test_rows_have_the_row_of_their_key() -> None:
    met: Counter[str] = Counter()
    for seed in chosen_seeds(8):
        case, kind = case_of(seed)
        pairs = expected_pairs(case, kind)
        lines, counts = ([line for _, line in each] for each in case.expected.released)
        assert lines == [f'{{"id":{order},"v":{text_of(v)}}}' for order, v, _ in pairs], case
        groups = Counter((at // (2 * SECOND), text_of(v)) for _, v, at in pairs)
        assert Counter(line.partition(',"window_end"')[0] for line in counts) == Counter(
            f'{{"v":{v},"n":{n}' for (_, v), n in groups.items()
        ), case
        assert not any(case.expected.late)
        met["found"] += sum(v is not None for _, v, _ in pairs)
        met["none"] += sum(v is None for _, v, _ in pairs)
        check(case, schedules=1)
        check_snapshots(case, case.expected, roots_of(case), Random(seed), met)
    assert all(met[name] for name in ("found", "none", "rows restored")), met


WITHOUT_TIME = """
CREATE TABLE sink (id BIGINT, v BIGINT) WITH ('connector' = 'blackhole');
INSERT INTO sink SELECT o.id, p.v
FROM orders AS o LEFT JOIN people FOR SYSTEM_TIME AS OF PROCTIME() AS p ON o.k = p.k;
"""

ORDERS = (
    "CREATE TABLE orders (id BIGINT, k STRING) WITH ('connector' = 'file', 'path' = 'o.jsonl');"
)

PEOPLE = """
CREATE TABLE people (k STRING, v BIGINT, PRIMARY KEY (k) NOT ENFORCED)
    WITH ('connector' = 'file', 'path' = 'p.jsonl');
"""


@pytest.mark.parametrize("orders_first", [False, True])
def test_rows_are_found_where_no_table_has_event_time(*, orders_first: bool) -> None:
    tables = (ORDERS, PEOPLE) if orders_first else (PEOPLE, ORDERS)
    text = "".join(tables) + WITHOUT_TIME
    job = bind(parse_script(SourceText("lookup", text)), DECLARED).job
    orders: Splits = [[(1, "a"), (2, "b")], [(3, "c"), (4, None)]]
    people: Splits = [[("b", 1), ("a", 2), ("d", 3), ("d", 4), ("b", 5)]]
    inputs = (orders, people) if orders_first else (people, orders)
    case = Case("lookup without event time", text, job, dict(enumerate(inputs)))
    (lines,) = ([line for _, line in each] for each in case.expected.released)
    assert sorted(lines) == [
        '{"id":1,"v":2}',
        '{"id":2,"v":5}',
        '{"id":3,"v":null}',
        '{"id":4,"v":null}',
    ]
    check(case, schedules=2)
