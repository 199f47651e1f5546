"""ORDER BY a time and other columns is what its definition says, on every way and from snapshots.

The definition is evaluated directly over random rows: a row that is behind the watermark at its position is
late; all others are sorted by time, then by the other columns, then by the total order.

FSQL_SEEDS=1000:2000 runs other seeds than those of the suite.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
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
from fsql.tests.seeds import chosen_seeds

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.tests.property.inputs import Splits

SECOND = 1_000_000
GRAIN = 1_000
DELAY = 2 * SECOND

SCRIPT = """
CREATE TABLE t (
    id BIGINT NOT NULL, k STRING, x BIGINT, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '2' SECOND
) WITH ('connector' = 'file', 'path' = 't.jsonl');
CREATE TABLE sorted (id BIGINT) WITH ('connector' = 'blackhole');
CREATE TABLE pairs (k STRING, a BIGINT, b BIGINT) WITH ('connector' = 'blackhole');
INSERT INTO sorted SELECT id FROM t ORDER BY at{then};
INSERT INTO pairs SELECT * FROM t MATCH_RECOGNIZE (
    PARTITION BY k
    ORDER BY at{then}
    MEASURES A.id AS a, B.id AS b
    AFTER MATCH SKIP TO NEXT ROW
    PATTERN (A B)
    DEFINE A AS TRUE
);
"""


class Row(NamedTuple):
    """A row with its position in the total order."""

    id: int
    k: str | None
    x: int | None
    at: int
    root: tuple[int, int]


def nulls_last(value: int | str | None) -> tuple[bool, int | str]:
    """Return a key by which NULL is the greatest value."""
    return value is None, "" if value is None else value


def descending(value: int | None) -> tuple[bool, int]:
    """Return a key by which NULL comes first and the greatest value then."""
    return value is not None, 0 if value is None else -value


ORDERS: dict[str, Callable[[Row], object]] = {
    "": lambda row: row.root,
    ", x": lambda row: (nulls_last(row.x), row.root),
    ", k, x DESC": lambda row: (nulls_last(row.k), descending(row.x), row.root),
    ", x DESC, id": lambda row: (descending(row.x), row.id),
    ", x + id, k": lambda row: (
        nulls_last(None if row.x is None else row.x + row.id),
        nulls_last(row.k),
        row.root,
    ),
}


def case_of(seed: int) -> tuple[Case, Callable[[Row], object]]:
    """Return a case, and the key of its rows of one time."""
    random = Random(f"order by {seed}")
    then = random.choice(tuple(ORDERS))
    text = SCRIPT.format(then=then)
    job = bind(parse_script(SourceText("order", text)), DECLARED).job
    verify_logical(job)
    splits: Splits = [[] for _ in range(random.choice((1, 1, 2)))]
    clock = 0
    for number in range(random.choice((0, 5, 25, 40))):
        clock += random.choice((0, 0, 0, 1, SECOND // 2, SECOND, 4 * SECOND))
        behind = random.choice((0, 0, 0, SECOND, 2 * SECOND, 5 * SECOND))
        row = (
            number,
            random.choice(("a", "b", None)),
            random.choice((1, 2, 3, None)),
            max(0, clock - behind),
        )
        random.choice(splits).append(row)
    return Case(f"order by {seed}", text, job, {0: splits}), ORDERS[then]


def rows_in_time(splits: Splits) -> list[Row]:
    """Return the rows that are not late."""
    rows = []
    for split, of_split in enumerate(splits):
        greatest = 0
        for number, values in enumerate(of_split):
            assert isinstance(values, tuple)
            id_, k, x, at = values
            assert isinstance(id_, int)
            assert isinstance(k, str | None)
            assert isinstance(x, int | None)
            assert isinstance(at, int)
            greatest = max(greatest, at)
            origin = split << 40 | number
            if (greatest, origin) <= ((at // GRAIN + 1) * GRAIN + DELAY, -1):
                rows.append(Row(id_, k, x, at, (greatest, origin)))
    return rows


@pytest.mark.slow
def test_rows_of_one_time_are_in_the_order_of_other_columns() -> None:
    met: Counter[str] = Counter()
    for seed in chosen_seeds(10):
        case, key = case_of(seed)
        rows = sorted(rows_in_time(case.inputs[0]), key=lambda row: (row.at, key(row)))
        outcome = case.expected
        ids, pairs = ([line for _, line in released] for released in outcome.released)
        assert ids == [f'{{"id":{row.id}}}' for row in rows], case
        expected = [
            f'{{"k":{name},"a":{a.id},"b":{b.id}}}'
            for k, name in (("a", '"a"'), ("b", '"b"'), (None, "null"))
            for a, b in pairwise([row for row in rows if row.k == k])
        ]
        assert sorted(pairs) == sorted(expected), case
        met["late"] += any(outcome.late)
        met["ties"] += sum(a.at == b.at for a, b in pairwise(rows))
        check(case, schedules=1)
        check_snapshots(case, outcome, roots_of(case), Random(seed), met)
    assert all(met[name] for name in ("late", "ties", "rows restored")), met
