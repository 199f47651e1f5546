"""Window joins are what DuckDB makes of the rows that are not late, on every way and from snapshots.

A row is late for its window if it is behind the position at which the watermark of both tables reaches the
window's end.  The queries for DuckDB leave out such rows by that definition.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import pytest

from fsql.compiler.analysis.window_changes import equal_bounds
from fsql.compiler.binder.script import bind
from fsql.compiler.logical import Join, append_only, operators
from fsql.compiler.parser import parse_script
from fsql.compiler.text.source import SourceText
from fsql.compiler.verify.logical import verify_logical
from fsql.connectors.declared import DECLARED
from fsql.runtime.kernels.join.net_rows import ClosedWindows
from fsql.tests.property.by_duckdb import compare_with_duckdb
from fsql.tests.property.cases import Case
from fsql.tests.property.check import check
from fsql.tests.property.snapshots import check_snapshots, roots_of
from fsql.tests.property.test_ticks import check_layouts

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from fsql.compiler.expression import Value
    from fsql.tests.property.inputs import Splits

SECOND = 1_000_000
DELAY = 3 * SECOND
"""The greater delay of both tables."""

SCRIPT = """
CREATE TABLE t (
    id BIGINT NOT NULL, k STRING, x DOUBLE, seen TIMESTAMP, WATERMARK FOR seen AS seen - INTERVAL '3' SECOND
) WITH ('connector' = 'file', 'path' = 't.jsonl');
CREATE TABLE u (
    num BIGINT, k STRING, y DOUBLE, moment TIMESTAMP, WATERMARK FOR moment AS moment - INTERVAL '1' SECOND
) WITH ('connector' = 'file', 'path' = 'u.jsonl');
CREATE TABLE sink (window_end TIMESTAMP, id BIGINT, num BIGINT) WITH ('connector' = 'blackhole');
"""
VIEWS = {"t": "id, k, x, seen", "u": "num, k, y, moment"}


class Windows(NamedTuple):
    """A kind of windows: the call in fsql, and their ends and starts, in seconds, in DuckDB."""

    call: str
    ends: str
    start: str


WINDOWS = (
    Windows("TABLE(TUMBLE(TABLE {t}, DESCRIPTOR({at}), INTERVAL '4' SECOND))", "4 * i", "e - 4"),
    Windows("HOP({t}, {at}, INTERVAL '2' SECOND, INTERVAL '6' SECOND)", "2 * i", "e - 6"),
    Windows(
        "CUMULATE({t}, {at}, INTERVAL '2' SECOND, INTERVAL '6' SECOND)",
        "2 * i",
        "(e - 1) // 6 * 6",
    ),
)
PAIRED = "a.window_end, a.id, b.num"
OF_LEFT = "a.window_end, a.id, a.id + 1 AS num"
SAME = "a.window_start = b.window_start AND a.window_end = b.window_end"
JOINS = (
    f"SELECT {PAIRED} FROM a LEFT JOIN b ON {SAME} AND a.k = b.k",
    f"SELECT {PAIRED} FROM a LEFT JOIN b ON a.k = b.k AND {SAME} AND a.id > 3 AND b.num > 2",
    f"SELECT {PAIRED} FROM a LEFT JOIN b ON {SAME} AND a.k = b.k AND b.num < a.id",
    f"SELECT {PAIRED} FROM a LEFT JOIN b ON {SAME} AND a.x = b.y AND a.id <> b.num AND b.k = 'a'",
    f"SELECT b.window_end, a.id, b.num FROM a RIGHT JOIN b ON {SAME} AND a.k = b.k",
    f"SELECT b.window_end, a.id, b.num FROM a RIGHT JOIN b ON {SAME} AND a.k = b.k AND a.id < b.num",
    f"SELECT coalesce(a.window_end, b.window_end), a.id, b.num FROM a FULL JOIN b ON {SAME} AND a.k = b.k",
    (
        f"SELECT coalesce(a.window_end, b.window_end) AS e, a.id, b.num"
        f" FROM a FULL JOIN b ON {SAME} AND a.k = b.k AND a.id <= b.num AND b.num > 3 AND a.id > 2"
    ),
    "SELECT window_end, id, num FROM a FULL JOIN b USING (window_start, window_end, k)",
    f"SELECT {OF_LEFT} FROM a LEFT SEMI JOIN b ON {SAME} AND a.k = b.k",
    f"SELECT {OF_LEFT} FROM a LEFT ANTI JOIN b ON {SAME} AND a.k = b.k AND b.num < a.id",
    f"SELECT {OF_LEFT} FROM a WHERE a.k IN (SELECT k FROM b WHERE {SAME})",
    f"SELECT {OF_LEFT} FROM a WHERE a.k NOT IN (SELECT k FROM b WHERE {SAME})",
    f"SELECT {OF_LEFT} FROM a WHERE EXISTS (SELECT * FROM b WHERE {SAME} AND b.num > a.id)",
    f"SELECT {OF_LEFT} FROM a WHERE NOT EXISTS (SELECT * FROM b WHERE {SAME} AND b.k = 'b')",
    # Windows over the result, and a third relation of windows.
    (
        "SELECT window_end, COUNT(*) AS id, COUNT(num) AS num FROM ("
        f"SELECT a.window_start, a.window_end, a.k, b.num FROM a LEFT JOIN b ON {SAME} AND a.k = b.k"
        ") AS j GROUP BY window_start, window_end"
    ),
    (
        f"SELECT a.window_end, a.id, c.n AS num FROM a LEFT JOIN b ON {SAME} AND a.k = b.k"
        " LEFT JOIN (SELECT window_end, k, COUNT(*) AS n FROM a GROUP BY window_start, window_end, k) AS c"
        " ON a.window_end = c.window_end AND c.k = a.k"
    ),
    (
        "SELECT c.window_end, c.n AS id, b.num FROM"
        " (SELECT window_start, window_end, k, COUNT(*) AS n FROM a GROUP BY window_start, window_end, k)"
        " AS c FULL JOIN b ON c.window_end = b.window_end AND c.window_start = b.window_start AND b.k = c.k"
    ),
    # Windows of two tables are windows of one kind.
    (
        "SELECT window_end, COUNT(*) AS id, COUNT(k) AS num FROM ("
        "SELECT window_start, window_end, k FROM a UNION ALL SELECT window_start, window_end, k FROM b"
        ") AS j GROUP BY window_start, window_end"
    ),
)

_GROUPED = "GROUP BY window_start, window_end, k{emit}"
_V = f"(SELECT window_start, window_end, k, COUNT(*) AS id FROM a {_GROUPED}) AS v"
_W = f"(SELECT window_start, window_end, k, SUM(num) AS num FROM b {_GROUPED}) AS w"
_SAME = "v.window_start = w.window_start AND v.window_end = w.window_end"
CHANGING_JOINS = (
    f"SELECT v.window_end, v.id, w.num FROM {_V} JOIN {_W} ON {_SAME} AND v.k = w.k",
    f"SELECT v.window_end, v.id, w.num FROM {_V} JOIN {_W} ON v.window_start = w.window_start AND v.k = w.k",
    f"SELECT v.window_end, v.id, w.num FROM {_V} LEFT JOIN {_W} ON {_SAME} AND v.k = w.k AND w.num > v.id",
    f"SELECT w.window_end, v.id, w.num FROM {_V} RIGHT JOIN {_W} ON {_SAME} AND v.k = w.k",
    f"SELECT v.window_end, v.id, w.num FROM {_V} FULL JOIN {_W} ON {_SAME} AND v.k = w.k",
    f"SELECT v.window_end, v.id, v.id AS num FROM {_V} LEFT SEMI JOIN {_W} ON {_SAME} AND v.k = w.k",
    (
        f"SELECT v.window_end, v.id, v.id AS num FROM {_V}"
        f" WHERE NOT EXISTS (SELECT * FROM {_W} WHERE {_SAME} AND v.k = w.k)"
    ),
    # A third relation, which is joined with pairs; and windows that are final on one side.
    (
        f"SELECT v.window_end, v.id, x.id AS num FROM {_V} JOIN {_W} ON {_SAME} AND v.k = w.k"
        f" JOIN {_V.replace('AS v', 'AS x')} ON x.window_end = w.window_end"
    ),
    f"SELECT v.window_end, v.id, w.num FROM {_V} JOIN {_W.replace('{emit}', '')} ON {_SAME} AND v.k = w.k",
)


def texts(
    query: str, windows: Windows, delays: tuple[int, int] = (DELAY, DELAY)
) -> tuple[str, str]:
    """Return a query over the windows `a` of t and `b` of u, for fsql and for DuckDB."""
    ours, theirs = [], []
    for name, table, time, delay in (
        ("a", "t", "seen", delays[0]),
        ("b", "u", "moment", delays[1]),
    ):
        call = windows.call.format(t=table, at=time)
        ours.append(f"{name} AS (SELECT * FROM {call})")
        theirs.append(
            f"{name} AS (SELECT {table}.*, {windows.start} AS window_start, e * {SECOND} AS window_end"
            f" FROM {table}, (SELECT {windows.ends} AS e FROM range(0, 100) AS r(i)) AS ends"
            f" WHERE {time} < e * {SECOND} AND {time} >= ({windows.start}) * {SECOND}"
            f" AND {table}.time < e * {SECOND} + {delay})"
        )
    both = query.replace("LEFT SEMI", "SEMI").replace("LEFT ANTI", "ANTI")
    return f"WITH {', '.join(ours)} {query}", f"WITH {', '.join(theirs)} {both}"


def case_of(seed: int, query: str, insert: str = "INSERT INTO sink ") -> Case:
    """Return a case over drawn rows, some of them late."""
    random = Random(f"windows {seed}")
    text = f"{SCRIPT}{insert}{query};"
    job = bind(parse_script(SourceText("windows", text)), DECLARED).job
    verify_logical(job)
    inputs: dict[int, Splits] = {}
    for table in job.tables:
        splits: Splits = [[] for _ in range(random.choice((1, 2)))]
        clock = 7 * SECOND
        for number in range(random.choice((6, 10, 14))):
            clock += random.choice((0, SECOND // 2, SECOND, 3 * SECOND))
            at = clock - random.choice((0, 0, 0, SECOND, 3 * SECOND, 6 * SECOND))
            key, value = random.choice(("a", "b", "c", None)), random.choice((0.5, 1.0, 2.0, None))
            row: tuple[Value, ...] = (number, key, value, at)
            random.choice(splits).append(row)
        inputs[table.ordinal] = splits
    return Case(f"windows {seed}", text, job, inputs)


@pytest.mark.slow
def test_windows_are_joined_as_duckdb_joins_them() -> None:
    met: Counter[str] = Counter()
    for seed, query in enumerate(JOINS):
        windows = WINDOWS[seed % len(WINDOWS)]
        ours, theirs = texts(query, windows)
        case = case_of(seed, ours)
        assert append_only(case.job.inserts[0].query), query
        outcome = case.expected
        met["late"] += any(outcome.late)
        met[query] += compare_with_duckdb(case, VIEWS, theirs)
        check(case, schedules=1)
        if seed % 2:
            check_snapshots(case, outcome, roots_of(case), Random(seed), met)
    assert all(met[query] for query in JOINS), met
    assert met["late"], met
    assert met["rows restored"], met


@pytest.mark.slow
def test_windows_that_change_are_joined_and_dropped_when_they_close(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    met: Counter[str] = Counter()
    is_open = ClosedWindows.open

    def counted(self: ClosedWindows, columns: Sequence[pa.Array]) -> NDArray[np.bool_] | None:
        kept = is_open(self, columns)
        met["rows dropped"] += 0 if kept is None else int((~kept).sum())
        return kept

    monkeypatch.setattr(ClosedWindows, "open", counted)
    for seed, query in enumerate(CHANGING_JOINS):
        windows = WINDOWS[seed % len(WINDOWS)]
        ours, theirs = texts(query, windows, (3 * SECOND, SECOND))
        case = case_of(seed, ours.format(emit=" EMIT CHANGES"), insert="")
        joins = [
            plan
            for plan in operators(case.job.inserts[0].query)
            if isinstance(plan, Join) and not append_only(plan)
        ]
        assert joins, query
        assert all(map(equal_bounds, joins)), query
        outcome = case.expected
        met["late"] += any(outcome.late)
        met[query] += compare_with_duckdb(case, VIEWS, theirs.format(emit=""))
        check(case, schedules=1)
        check_snapshots(case, outcome, roots_of(case), Random(seed), met)
        if seed % 2:
            check_layouts(case, Random(seed), met)
    assert all(met[query] for query in CHANGING_JOINS), met
    assert met["late"], met
    assert met["rows dropped"], met
    assert met["rows restored"], met
