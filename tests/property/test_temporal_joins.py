"""Temporal joins are what their definition says, on every way and from snapshots.

The definition is evaluated directly over random orders and rates: a row that is behind the watermark at its
position is late; every other order has the rate whose time is the greatest up to its own, of equal
times the later one in the total order.

FSQL_SEEDS=1000:2000 runs other seeds than those of the suite.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import pytest

from fsql.compiler.binder.script import bind
from fsql.compiler.parser import parse_script
from fsql.compiler.text.source import SourceText
from fsql.compiler.verify.logical import verify_logical
from fsql.connectors.declared import DECLARED
from fsql.tests.property.cases import Case
from fsql.tests.property.check import check
from fsql.tests.property.snapshots import check_snapshots, roots_of
from fsql.tests.reference.lines import json_text
from fsql.tests.seeds import chosen_seeds

if TYPE_CHECKING:
    from fsql.compiler.expression import Value
    from fsql.tests.property.inputs import Splits

SECOND = 1_000_000
GRAIN = 1_000
DELAYS = (2 * SECOND, 3 * SECOND)

SCRIPT = """
CREATE TABLE orders (id BIGINT NOT NULL, k STRING, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '2' SECOND)
    WITH ('connector' = 'file', 'path' = 'o.jsonl');
CREATE TABLE rates (
    k STRING, v BIGINT, since TIMESTAMP, WATERMARK FOR since AS since - INTERVAL '3' SECOND,
    PRIMARY KEY (k) NOT ENFORCED
) WITH ('connector' = 'file', 'path' = 'r.jsonl');
CREATE TABLE sink (id BIGINT, v BIGINT, since TIMESTAMP) WITH ('connector' = 'blackhole');
CREATE VIEW last_rates AS SELECT since, v, k
    FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY since DESC) AS n FROM rates) WHERE n = 1;
INSERT INTO sink SELECT o.id, r.v, r.since
FROM orders AS o {kind} JOIN {rates} FOR SYSTEM_TIME AS OF o.at AS r ON o.k = r.k{on}{where};
"""

# Conditions beside the key.
CONDITIONS = ("", " AND o.id > 4", " AND r.v > 6", " AND r.v < o.id", " AND r.v IS NULL")


class Placed(NamedTuple):
    """A row with its event time and its position."""

    at: int
    root: tuple[int, int]
    values: tuple[Value, ...]


def case_of(seed: int) -> tuple[Case, str]:
    """Return a case, and its kind of join."""
    random = Random(f"temporal {seed}")
    kind = random.choice(("", "LEFT"))
    where = random.choice(("", "\nWHERE o.id > 3"))
    # The view is drawn on its own, so that the other draws do not depend on it.
    rates = Random(f"temporal view {seed}").choice(("rates", "last_rates"))
    on = Random(f"temporal condition {seed}").choice(CONDITIONS)
    text = SCRIPT.format(kind=kind, rates=rates, on=on, where=where)
    job = bind(parse_script(SourceText("temporal", text)), DECLARED).job
    verify_logical(job)
    keys = ("a", "b", "c", None)
    made: dict[int, Splits] = {}
    for table in range(2):
        made[table] = [[] for _ in range(random.choice((1, 1, 2)))]
        clock = 0
        for number in range(random.choice((0, 5, 15, 25))):
            clock += random.choice((0, 1, SECOND // 2, SECOND, 4 * SECOND))
            behind = random.choice((0, 0, 0, SECOND, 2 * SECOND, 5 * SECOND))
            at, key = max(0, clock - behind), random.choice(keys)
            value = random.choice((number, number, None))
            row = (number, key, at) if table == 0 else (key, value, at)
            random.choice(made[table]).append(row)
    return Case(f"temporal {seed}", text, job, made), kind


def placed(table: int, splits: Splits) -> list[Placed]:
    """Return the rows of a table that are not late."""
    rows: list[Placed] = []
    for split, of_split in enumerate(splits):
        greatest = None
        for number, values in enumerate(of_split):
            assert isinstance(values, tuple)
            at = values[2]
            assert isinstance(at, int)
            greatest = at if greatest is None else max(at, greatest)
            origin = table << 56 | split << 40 | number
            if (greatest, origin) <= closing(at):
                rows.append(Placed(at, (greatest, origin), values))
    return rows


def closing(at: int) -> tuple[int, int]:
    """Return the position at which the watermark is behind a time."""
    return (at // GRAIN + 1) * GRAIN + max(DELAYS), -1


def meets(case: Case, order: int, value: int | None) -> bool:
    """Return whether the number of an order and the value of a rate meet the condition of a case."""
    met = {
        " AND o.id > 4": order > 4,
        " AND r.v > 6": value is not None and value > 6,
        " AND r.v < o.id": value is not None and value < order,
        " AND r.v IS NULL": value is None,
    }
    return all(met[each] for each in CONDITIONS[1:] if each in case.text)


def expected_lines(case: Case, kind: str) -> list[str]:
    """Return the lines of a case by the definition."""
    orders, rates = placed(0, case.inputs[0]), placed(1, case.inputs[1])
    lines = []
    for order in sorted(orders, key=lambda row: (closing(row.at), row.at, row.root)):
        number, key, _ = order.values
        assert isinstance(number, int)
        known = [rate for rate in rates if rate.values[0] == key and rate.at <= order.at]
        found = max(known, key=lambda rate: (rate.at, rate.root), default=None)
        value, since = (None, None) if found is None else found.values[1:]
        assert not isinstance(value, bool)
        assert isinstance(value, int | None)
        matched = found is not None and key is not None and meets(case, number, value)
        value, since = (value, since) if matched else (None, None)
        if ("WHERE o.id > 3" in case.text and number <= 3) or not (matched or kind == "LEFT"):
            continue
        schema = case.job.inserts[0].sink.columns
        fields = zip(schema, (number, value, since), strict=True)
        lines.append(",".join(f'"{c.name}":{json_text(v, c.type)}' for c, v in fields))
    return [f"{{{line}}}" for line in lines]


@pytest.mark.slow
def test_rows_have_the_versions_of_their_time() -> None:
    met: Counter[str] = Counter()
    for seed in chosen_seeds(10):
        case, kind = case_of(seed)
        outcome = case.expected
        lines = [line for _, line in outcome.released[0]]
        assert lines == expected_lines(case, kind), case
        met["late"] += any(outcome.late)
        met["versions"] += sum('"since":null' not in line for line in lines)
        met["none"] += sum('"since":null' in line for line in lines)
        check(case, schedules=1)
        check_snapshots(case, outcome, roots_of(case), Random(seed), met)
    assert all(met[name] for name in ("late", "versions", "none", "rows restored")), met
