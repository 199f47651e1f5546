"""M4 in all its forms: what the oracle says, in all schedules and from snapshots.

Times and values are few, so that rows tie in both; some come late, and some have no place on a chart.  What
the oracle cannot find, a wrong definition, `tests/unit/kernels/test_line_points.py` finds: it draws.
"""

from __future__ import annotations

import math
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Final

import pytest

from fsql.compiler.binder.script import bind
from fsql.compiler.parser import parse_script
from fsql.compiler.text.source import SourceText
from fsql.compiler.verify.logical import verify_logical
from fsql.connectors.declared import DECLARED
from fsql.tests.property.cases import Case
from fsql.tests.property.check import check
from fsql.tests.property.snapshots import check_snapshots, roots_of

if TYPE_CHECKING:
    from fsql.compiler.expression import Value
    from fsql.tests.property.inputs import Splits

SECOND: Final = 1_000_000
SEEDS: Final = 16

TABLE: Final = """
CREATE TABLE t (
    id BIGINT, k STRING, b BIGINT, d DOUBLE, at TIMESTAMP,
    WATERMARK FOR at AS at - INTERVAL '{delay}' SECOND
) WITH ('connector' = 'file', 'path' = 't.jsonl');
"""
CHART: Final = "TIMESTAMP '1970-01-01 00:00:02', TIMESTAMP '1970-01-01 00:00:19'"
FOUR: Final = (
    "first_at, first_value, last_at, last_value, least_at, least_value, greatest_at, greatest_value"
)
WINDOWS: Final = "FROM TUMBLE(t, at, INTERVAL '6' SECOND) GROUP BY k, window_start, window_end"
PIXELS: Final = (
    "TABLE t PARTITION BY (k, id % 2), DESCRIPTOR(at), DESCRIPTOR(b), SPAN => INTERVAL '9' SECOND,"
    " WIDTH => 3, LOW => -1, HIGH => 2.5, HEIGHT => 6"
)
QUERIES: Final = (
    f"SELECT k, window_end, M4(d, at) AS m, M4(b, id) AS n {WINDOWS}",
    f"SELECT k, window_end, ARG_MAX_LAST(id, at) AS a, ARG_MIN_LAST(d, b) AS c {WINDOWS}",
    f"SELECT k, window_end, M4(b, at, {CHART}, 5) AS m, M4(d, at, {CHART}, 3, 7) AS n {WINDOWS}",
    f"SELECT k, window_end, M4(d, b, -2, 4, 100) FILTER (WHERE id % 3 > 0) AS m {WINDOWS}",
    "SELECT k, M4(d, at) AS m, ARG_MAX_LAST(id, b) AS a FROM t GROUP BY k",
    f"SELECT M4(d, at, {CHART}, 4, 9) AS m, COUNT(*) AS n FROM t",
    f"SELECT {FOUR} FROM M4(TABLE t PARTITION BY k, DESCRIPTOR(at), DESCRIPTOR(d), 4, INTERVAL '8' SECOND)",
    f"SELECT k, {FOUR} FROM M4({PIXELS})",
)


def case_of(seed: int) -> Case:
    """Return the case of a seed: each query is in several, with and without EMIT CHANGES."""
    random = Random(f"m4 {seed}")
    query = QUERIES[seed % len(QUERIES)]
    if seed // len(QUERIES) % 2 or "FROM t" in query:
        query += " EMIT CHANGES"
    text = TABLE.format(delay=random.choice((1, 3, 20))) + query + ";"
    job = bind(parse_script(SourceText("m4", text)), DECLARED).job
    verify_logical(job)
    splits: Splits = [[] for _ in range(random.choice((1, 2)))]
    clock = 3 * SECOND
    for number in range(random.choice((0, 12, 24, 40))):
        clock += random.choice((0, 0, SECOND // 2, SECOND))
        at = max(clock - random.choice((0, 0, SECOND, 2 * SECOND, 9 * SECOND)), 0)
        row: tuple[Value, ...] = (
            number,
            random.choice(("a", "b", None)),
            random.choice((None, 0, 1, 2, 3, -1)),
            random.choice((None, -0.0, 0.0, 0.25, 1.5, -2.0, math.nan, math.inf)),
            at,
        )
        random.choice(splits).append(row)
    return Case(f"m4 {seed}", text, job, {0: splits})


@pytest.mark.parametrize("seed", range(SEEDS))
def test_m4_is_what_the_oracle_says(seed: int) -> None:
    met: Counter[str] = Counter()
    case = case_of(seed)
    check(case, schedules=2)
    check_snapshots(case, case.expected, roots_of(case), Random(seed), met)
