"""MATCH_RECOGNIZE is what the oracle's search says, on every way and from snapshots.

The oracle tries one way after another over all rows of a partition; the engine follows all at once.
Patterns, conditions and input are random.  Catches a wrong match, a match that is decided too early or too
late, and state that is lost.

FSQL_SEEDS=1000:2000 runs other seeds than those of the suite.
"""

from __future__ import annotations

import json
from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.binder.script import bind
from fsql.compiler.diagnostics import FsqlError
from fsql.compiler.lowering import lower
from fsql.compiler.parser import parse_script
from fsql.compiler.text.source import SourceText
from fsql.compiler.verify.graph import verify_graph
from fsql.compiler.verify.logical import verify_logical
from fsql.connectors.declared import DECLARED
from fsql.tests.property.cases import Case
from fsql.tests.property.check import check
from fsql.tests.property.snapshots import check_snapshots, roots_of
from fsql.tests.seeds import chosen_seeds

if TYPE_CHECKING:
    from fsql.compiler.expression import Value
    from fsql.tests.property.inputs import Splits

SECOND = 1_000_000
VARIABLES = "ABCD"

SCRIPT = """
CREATE TABLE t (
    id BIGINT, k STRING, x BIGINT, d DOUBLE, at TIMESTAMP,
    WATERMARK FOR at AS at - INTERVAL '3' SECOND
) WITH ('connector' = 'file', 'path' = 't.jsonl');
CREATE TABLE sink ({columns}) WITH ('connector' = 'blackhole');
{insert}SELECT * FROM t MATCH_RECOGNIZE (
    {partition}ORDER BY at
    MEASURES {measures}
    AFTER MATCH SKIP {skip}
    PATTERN ({pattern}) {within}
    DEFINE {conditions}
);
"""
WINDOWED = """
CREATE TABLE counts (ends TIMESTAMP, n BIGINT, first BIGINT) WITH ('connector' = 'blackhole');
CREATE TABLE held (id BIGINT, r TIMESTAMP, n BIGINT) WITH ('connector' = 'blackhole');
INSERT INTO counts SELECT window_end, COUNT(*), MIN(f)
    FROM TUMBLE(matches, r, INTERVAL '2' SECOND) GROUP BY window_start, window_end;
INSERT INTO held SELECT t.id, m.r, m.c FROM t JOIN matches AS m
    ON t.x = m.f AND t.at BETWEEN m.r - INTERVAL '2' SECOND AND m.r;
"""
MEASURES = {
    "COUNT(*)": "BIGINT",
    "FIRST({v}.x)": "BIGINT",
    "LAST({v}.d, 1)": "DOUBLE",
    "LAST(x + id)": "BIGINT",
    "SUM({v}.d)": "DOUBLE",
    "AVG({v}.x)": "DOUBLE",
    "MIN({v}.d)": "DOUBLE",
    "MAX(U.x) - MIN(id)": "BIGINT",
    "{v}.id": "BIGINT",
    "CLASSIFIER()": "STRING",
    "MATCH_NUMBER()": "BIGINT",
    "MATCH_ROWTIME()": "TIMESTAMP",
    "MATCH_PROCTIME()": "TIMESTAMP",
}


def drawn_pattern(random: Random, depth: int = 2) -> str:
    """Return a pattern, which may be empty."""
    parts = []
    for _ in range(random.choice((1, 2, 3))):
        part = random.choice(VARIABLES)
        if depth and random.random() < 0.4:
            part = f"({drawn_pattern(random, depth - 1)})"
        quantifier = random.choice(("", "", "", "*", "+", "?", "{2}", "{1,2}", "{,2}", "{1,}"))
        parts.append(part + quantifier + (random.choice(("", "?")) if quantifier else ""))
    return random.choice((" ", " ", " | ")).join(parts)


def drawn_condition(random: Random, variable: str, *, looks_back: bool) -> str:
    """Return a condition of a variable."""
    other = random.choice(VARIABLES)
    of_row = (
        f"x > {random.randrange(4)}",
        f"{variable}.x <= {random.randrange(4)}",
        f"{variable}.x % 2 = {random.randrange(2)}",
        "d IS NULL",
        "x >= PREV(x)",
        "PREV(d, 2) IS NOT NULL OR x = 1",
        "PREV(x, 0) > 1",
        "10 / x > 3",
    )
    of_match = (
        f"{variable}.x >= LAST({variable}.x, 1) OR LAST({variable}.x, 1) IS NULL",
        f"x > FIRST({other}.x)",
        f"COUNT({variable}.id) <= {random.choice((1, 2))}",
        f"SUM({other}.x) < 6 AND x < 3",
        "x + 0.5 > AVG(x)",
        f"at < {other}.at + INTERVAL '2' SECOND OR {other}.at IS NULL",
        f"MAX({other}.x) > x",
        "10 / (x - FIRST(x, 1)) > 1",
    )
    return random.choice(of_match if looks_back and random.random() < 0.6 else of_row)


def text_of(random: Random, *, windowed: bool) -> str:
    """Return a script; if it is `windowed`, with windows over the matches and a join within a time range."""
    while True:
        pattern = drawn_pattern(random)
        used = [each for each in VARIABLES if each in pattern]
        looks_back = random.random() < 0.5
        conditions = [
            f"{each} AS {drawn_condition(random, each, looks_back=looks_back)}"
            for each in VARIABLES
            if each in used and random.random() < 0.9
        ]
        if set(VARIABLES) != set(used) or not conditions:
            continue
        skip = random.choice(
            ("PAST LAST ROW", "PAST LAST ROW", "TO NEXT ROW", "TO FIRST B", "TO LAST B", "TO C")
        )
        measures = random.sample(sorted(MEASURES), 4)
        if windowed:
            measures = ["MATCH_ROWTIME()", "FIRST({v}.x)", "COUNT(*)", "MATCH_PROCTIME()"]
        partition = random.choice(("PARTITION BY k ", "PARTITION BY k ", ""))
        items = [each.format(v=random.choice(VARIABLES)) for each in measures]
        within = random.choice(("", "", "WITHIN INTERVAL '3' SECOND", "WITHIN INTERVAL '9' SECOND"))
        columns = [f"m{place} {MEASURES[each]}" for place, each in enumerate(measures)]
        if windowed and not within:
            pattern = " ".join(VARIABLES)
        names = [f"m{place}" for place in range(len(measures))]
        if windowed:
            names = ["r", "f", "c", "p"]
        return SCRIPT.format(
            insert="CREATE VIEW matches AS " if windowed else "INSERT INTO sink ",
            columns=", ".join(["k STRING", *columns] if partition else columns),
            partition=partition,
            measures=", ".join(
                f"{each} AS {name}" for name, each in zip(names, items, strict=True)
            ),
            skip=skip,
            pattern=pattern,
            within=f"{within} SUBSET U = (A, B)",
            conditions=", ".join(conditions),
        ) + (f"INSERT INTO sink SELECT * FROM matches; {WINDOWED}" if windowed else "")


def job_text(random: Random, *, windowed: bool) -> str:
    """Return a script whose pattern matches at least one row."""
    while True:
        text = text_of(random, windowed=windowed)
        try:
            bind(parse_script(SourceText("match", text)), DECLARED)
        except FsqlError as error:
            if "match no rows" not in str(error):
                raise
        else:
            return text


def case_of(seed: int, *, windowed: bool = False) -> Case:
    """Return a case."""
    random = Random(f"match {seed}{' windowed' if windowed else ''}")
    text = job_text(random, windowed=windowed)
    job = bind(parse_script(SourceText("match", text)), DECLARED).job
    verify_logical(job)
    verify_graph(lower(job))
    splits: Splits = [[] for _ in range(random.choice((1, 1, 2)))]
    clock = 5 * SECOND
    for number in range(random.choice((0, 5, 12, 20))):
        clock += random.choice((0, 1, SECOND // 2, SECOND, 4 * SECOND))
        behind = random.choice((0, 0, 0, SECOND, 2 * SECOND, 5 * SECOND))
        row: tuple[Value, ...] = (
            number,
            random.choice(("a", "a", "b", None)),
            random.choice((0, 1, 2, 3, 4, None)),
            random.choice((None, -0.0, number / 4)),
            clock - behind,
        )
        random.choice(splits).append(row)
    return Case(f"match {seed}", text, job, {0: splits})


@pytest.mark.slow
def test_matches_are_those_of_the_search() -> None:
    met: Counter[str] = Counter()
    for seed in chosen_seeds(14):
        case = case_of(seed)
        outcome = case.expected
        met["matches"] += len(outcome.released[0])
        met["late"] += any(outcome.late)
        met["within"] += "WITHIN" in case.text and bool(outcome.released[0])
        met["to next row"] += "TO NEXT ROW" in case.text and bool(outcome.released[0])
        check(case, schedules=1)
        check_snapshots(case, outcome, roots_of(case), Random(seed), met)
    wanted = ("matches", "late", "within", "to next row", "rows restored")
    assert all(met[name] for name in wanted), met


@pytest.mark.slow
def test_no_match_is_late_for_windows_over_the_time_of_matches() -> None:
    """The end of a match is event time: a window over it waits for all matches that are decided later."""
    met: Counter[str] = Counter()
    for seed in chosen_seeds(14):
        case = case_of(seed, windowed=True)
        outcome = case.expected
        matches, counts, pairs = outcome.released
        met["matches"] += len(matches)
        met["windows"] += len(counts)
        met["pairs"] += len(pairs)
        met["within"] += "WITHIN" in case.text and bool(matches)
        assert sum(json.loads(line)["n"] for _, line in counts) == len(matches), str(case)
        check(case, schedules=1)
        check_snapshots(case, outcome, roots_of(case), Random(seed), met)
    wanted = ("matches", "windows", "pairs", "within", "rows restored")
    assert all(met[name] for name in wanted), met
