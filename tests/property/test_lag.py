"""LAG, LEAD, values and aggregates OVER frames: what DuckDB says, on every way and from snapshots.

Rows are out of order within what the table allows, so none is late.  Catches a wrong row, also at the edges
of frames and of batches, and state that is lost.  Does not catch a wrong order of peers in a RANGE frame by
DuckDB, which leaves it open: there only the oracle and the model judge.
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
from fsql.tests.property.by_duckdb import compare_with_duckdb
from fsql.tests.property.cases import Case
from fsql.tests.property.check import check
from fsql.tests.property.snapshots import check_snapshots, roots_of

if TYPE_CHECKING:
    from fsql.compiler.expression import Value
    from fsql.tests.property.inputs import Splits

SECOND = 1_000_000
SEEDS = 6
CALLS = 4

SCRIPT = """
CREATE TABLE t (
    id BIGINT, k STRING, b BIGINT, d DOUBLE, s STRING, moment TIMESTAMP,
    WATERMARK FOR moment AS moment - INTERVAL '3' SECOND
) WITH ('connector' = 'file', 'path' = 't.jsonl');
CREATE TABLE sink (id BIGINT, d DOUBLE, {columns}) WITH ('connector' = 'blackhole');
INSERT INTO sink SELECT id, d, {items} FROM t;
"""
TYPES = {"b": "BIGINT", "d": "DOUBLE", "s": "STRING"}
DEFAULTS = {"b": "b + 1", "d": "0", "s": "'none'"}


class CallText(NamedTuple):
    """A call for fsql, the same for DuckDB, and the type of its result."""

    ours: str
    theirs: str
    type: str


def drawn_frame(random: Random) -> str:
    """Return a ROWS frame that does not end with its row."""
    first = random.choice((None, -4, -1, 0, 1, 2))
    last = random.choice([n for n in (-3, -2, -1, 0, 1, 2, 4) if first is None or n >= first])
    sides = [
        "CURRENT ROW" if n == 0 else f"{abs(n)} {'PRECEDING' if n < 0 else 'FOLLOWING'}"
        for n in (first or 0, last)
    ]
    return f"ROWS BETWEEN {'UNBOUNDED PRECEDING' if first is None else sides[0]} AND {sides[1]}"


def drawn_following(random: Random, by: str) -> CallText:
    """Return a call that may see rows after its own."""
    column = random.choice("bds")
    if random.random() < 0.4:
        number = random.choice((0, 1, 2, 3))
        default = random.choice(("", f", {DEFAULTS[column]}"))
        call = theirs = f"LEAD({column}, {number}{default})"
        frame, kind = "", TYPES[column]
    else:
        frame = drawn_frame(random)
        call, kind = random.choice(
            (
                *((f"{name}({column})", TYPES[column]) for name in ("FIRST_VALUE", "LAST_VALUE")),
                *((f"{name}({column})", TYPES[column]) for name in ("MIN", "MAX")),
                *(("SUM(b)", "BIGINT"), (f"COUNT({column})", "BIGINT"), ("COUNT(*)", "BIGINT")),
            )
        )
        theirs = call.replace("_VALUE(" + column, f"_VALUE({column} IGNORE NULLS")
    return CallText(
        f"{call} OVER ({by}ORDER BY moment {frame})",
        f"{theirs} OVER ({by}ORDER BY moment, time, origin {frame})",
        kind,
    )


def drawn_call(random: Random, *, ties: bool) -> CallText:
    """Return a call; with `ties`, rows of one time, none whose peers decide."""
    column = random.choice("bds")
    by = random.choice(("PARTITION BY k ", "PARTITION BY k ", ""))
    if random.random() < 0.5:
        number = random.choice((0, 1, 1, 2, 5))
        default = random.choice(("", f", {DEFAULTS[column]}"))
        call = f"LAG({column}, {number}{default})"
        if number == 1 and not default:
            call = f"LAG({column})"
        frame, order = "", "moment, time, origin"
        theirs = call
        if number and random.random() < 0.5:
            theirs, call = f"{call[:-1]} IGNORE NULLS)", f"{call} IGNORE NULLS"
    else:
        number = random.choice((1, 2, 3))
        names = (f"FIRST_VALUE({column}", f"LAST_VALUE({column}", f"NTH_VALUE({column}, {number}")
        call = random.choice(names)
        theirs, call = f"{call} IGNORE NULLS)", f"{call})"
        rows = f"ROWS {random.choice(('UNBOUNDED', 0, 1, 2, 4))} PRECEDING"
        seconds = random.choice((0, 1, 3))
        ranges = f"RANGE INTERVAL '{seconds}' SECOND PRECEDING"
        frame = rows if ties else random.choice((rows, ranges, ""))
        order = "moment, time, origin" if frame == rows else "moment"
    written = frame.replace(f"INTERVAL '{seconds}' SECOND", str(seconds * SECOND)) if frame else ""
    return CallText(
        f"{call} OVER ({by}ORDER BY moment {frame})",
        f"{theirs} OVER ({by}ORDER BY {order} {written})",
        TYPES[column],
    )


VIEWS = {"t": "id, k, b, d, s, moment"}


def case_of(seed: int) -> tuple[Case, list[CallText]]:
    """Return a case, and the calls of its SELECT."""
    random = Random(f"lag {seed}")
    ties = random.random() < 0.5
    calls = [drawn_call(random, ties=ties) for _ in range(CALLS)]
    if random.random() < 0.7:
        by = random.choice(("PARTITION BY k ", ""))
        calls += [drawn_following(random, by) for _ in range(CALLS)]
    columns = ", ".join(f"c{place} {call.type}" for place, call in enumerate(calls))
    text = SCRIPT.format(columns=columns, items=", ".join(call.ours for call in calls))
    job = bind(parse_script(SourceText("lag", text)), DECLARED).job
    verify_logical(job)
    splits: Splits = [[] for _ in range(random.choice((1, 2)))]
    clock = 3 * SECOND
    for number in range(random.choice((0, 6, 12, 24))):
        clock += random.choice((0, SECOND // 2, SECOND, 4 * SECOND))
        at = clock - random.choice((0, 0, SECOND, 2 * SECOND))
        row: tuple[Value, ...] = (
            number,
            random.choice(("a", "b", None)),
            random.choice((None, number)),
            random.choice((None, -0.0, number / 4)),
            random.choice((None, f"s{number}")),
            at if ties else at + number,
        )
        random.choice(splits).append(row)
    return Case(f"lag {seed}", text, job, {0: splits}), calls


@pytest.mark.slow
def test_rows_are_read_as_duckdb_reads_them() -> None:
    met: Counter[str] = Counter()
    for seed in range(SEEDS):
        case, calls = case_of(seed)
        outcome = case.expected
        assert not any(outcome.late), case
        items = ", ".join(call.theirs for call in calls)
        compare_with_duckdb(case, VIEWS, f"SELECT id, d, {items} FROM t")
        check(case, schedules=1)
        check_snapshots(case, outcome, roots_of(case), Random(seed), met)
        met.update(call.ours.partition("(")[0] for call in calls)
        met["FOLLOWING"] += any("FOLLOWING" in call.ours for call in calls)
        met["LAG IGNORE NULLS"] += any(") IGNORE" in call.ours for call in calls)
    wanted = (
        "LAG IGNORE NULLS",
        "rows restored",
        "LEAD",
        "FOLLOWING",
        "LAG",
        "FIRST_VALUE",
        "LAST_VALUE",
        "NTH_VALUE",
    )
    assert all(met[name] for name in wanted), met
