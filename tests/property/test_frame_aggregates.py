"""Every aggregate over every kind of frame: what DuckDB says, on every way and from snapshots.

Values are few, so that DISTINCT matters and rows leave a frame that still has equal ones; NULLs, empty
frames and the largest integers occur.  Catches a row that is added or removed wrongly, and arguments that
are mixed up.  Does not catch a wrong order of rows of one time, which DuckDB leaves open.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Final, NamedTuple

import pytest

from fsql.compiler.binder.script import bind
from fsql.compiler.functions.aggregates import AGGREGATES, NOT_RUNNING
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

SECOND: Final = 1_000_000
CALLS: Final = 12
SEEDS: Final = 10

SCRIPT: Final = """
CREATE TABLE t (
    id BIGINT, k STRING, b BIGINT, d DOUBLE, s STRING, moment TIMESTAMP,
    WATERMARK FOR moment AS moment - INTERVAL '3' SECOND
) WITH ('connector' = 'file', 'path' = 't.jsonl');
CREATE TABLE sink (id BIGINT, {columns}) WITH ('connector' = 'blackhole');
INSERT INTO sink SELECT id, {items} FROM t;
"""
VIEWS: Final = {"t": "id, k, b, d, s, moment"}


class Aggregate(NamedTuple):
    """A call for fsql and for DuckDB, with `#` instead of OVER and the frame, and the type of its result."""

    ours: str
    theirs: str
    type: str = "BIGINT"


def _rounded(call: str) -> Aggregate:
    """Return an aggregate to 9 digits, with NULL where DuckDB has NaN: it computes in another order."""
    theirs = f"CASE WHEN NOT isnan({call} #) THEN round({call} #, 9) END"
    return Aggregate(f"ROUND({call} #, 9)", theirs, "DOUBLE")


_SORTED_TEXT: Final = (
    "CASE WHEN count(s) # > 0 THEN array_to_string(list_sort(list_distinct(list(s) #))"
)
AGGREGATES_OF_FRAMES: Final = {
    "COUNT": [
        Aggregate(f"COUNT({x}) #", f"count({x}) #") for x in ("*", "b", "DISTINCT b", "DISTINCT s")
    ],
    "SUM": [
        Aggregate("SUM(b % 9) #", "sum(b % 9) #"),
        Aggregate("SUM(DISTINCT b % 9) #", "sum(DISTINCT b % 9) #"),
        Aggregate("SUM(DISTINCT d) #", "sum(DISTINCT d) #", "DOUBLE"),
    ],
    "AVG": [Aggregate("AVG(DISTINCT d) #", "avg(DISTINCT d) #", "DOUBLE")],
    "MIN": [
        Aggregate("MIN(s) #", "min(s) #", "STRING"),
        Aggregate("MIN(DISTINCT b) #", "min(b) #"),
    ],
    "MAX": [Aggregate("MAX(d) #", "max(d) #", "DOUBLE")],
    "ARRAY_AGG": [
        Aggregate("ARRAY_AGG(b) #", "list(b) #", "ARRAY<BIGINT>"),
        Aggregate(
            "ARRAY_AGG(s) IGNORE NULLS #", "list(s) FILTER (WHERE s IS NOT NULL) #", "ARRAY<STRING>"
        ),
        Aggregate(
            "ARRAY_AGG(d) FILTER (WHERE b > 1) #", "list(d) FILTER (WHERE b > 1) #", "ARRAY<DOUBLE>"
        ),
        Aggregate(
            "ARRAY_AGG(id ORDER BY b DESC, id) #", "list(id ORDER BY b DESC, id) #", "ARRAY<BIGINT>"
        ),
    ],
    "STRING_AGG": [
        Aggregate("STRING_AGG(s, '+') #", "string_agg(s, '+') #", "STRING"),
        Aggregate("STRING_AGG(DISTINCT s, '') #", f"{_SORTED_TEXT}, '') END", "STRING"),
    ],
    "LISTAGG": [Aggregate("LISTAGG(DISTINCT s) #", f"{_SORTED_TEXT}, ',') END", "STRING")],
    "COLLECT_LIST": [Aggregate("COLLECT_LIST(s) #", "list(s) #", "ARRAY<STRING>")],
    "MAP_AGG": [Aggregate("CARDINALITY(MAP_AGG(id, b) #)", "nullif(count(id) #, 0)")],
    "STDDEV": [_rounded("STDDEV(b % 9)")],
    "VAR_POP": [_rounded("VAR_POP(b % 9)"), _rounded("VAR_POP(DISTINCT b % 9)")],
    "CORR": [_rounded("CORR(b % 9, id)")],
    "COVAR_SAMP": [_rounded("COVAR_SAMP(id, b % 9)")],
    "REGR_SLOPE": [_rounded("REGR_SLOPE(b % 9, id)")],
    "REGR_COUNT": [Aggregate("REGR_COUNT(b, id) #", "regr_count(b, id) #")],
    "BIT_AND": [Aggregate("BIT_AND(b) #", "bit_and(b) #")],
    "BIT_XOR": [Aggregate("BIT_XOR(DISTINCT b) #", "bit_xor(DISTINCT b) #")],
    "BOOL_OR": [Aggregate("BOOL_OR(b > 2) #", "bool_or(b > 2) #", "BOOLEAN")],
    "COUNT_IF": [Aggregate("COUNT_IF(b > 2) #", "coalesce(count_if(b > 2) #, 0)")],
    "APPROX_COUNT_DISTINCT": [Aggregate("APPROX_COUNT_DISTINCT(s) #", "count(DISTINCT s) #")],
    "MEDIAN": [_rounded("MEDIAN(b % 9)")],
    "PERCENTILE_DISC": [
        Aggregate("PERCENTILE_DISC(0.25) WITHIN GROUP (ORDER BY b) #", "quantile_disc(b, 0.25) #"),
        Aggregate(
            "PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY b DESC) #",
            "quantile_disc(b, -0.5) #",
        ),
    ],
    "ARG_MIN": [Aggregate("ARG_MIN(id, b % 9 * 100 + id) #", "arg_min(id, b % 9 * 100 + id) #")],
    "MAX_BY": [
        Aggregate("MAX_BY(s, id) #", "max_by(s, id) #", "STRING"),
        Aggregate("MAX_BY(id, s || CAST(id AS STRING)) #", "max_by(id, s || CAST(id AS STRING)) #"),
    ],
    "FIRST_VALUE": [
        Aggregate("FIRST_VALUE(id ORDER BY d DESC, id) #", "first(id ORDER BY d DESC, id) #")
    ],
    "MODE": [Aggregate("MODE(b % 2) # IS NULL", "mode(b % 2) # IS NULL", "BOOLEAN")],
}
_OF_ORDER: Final = frozenset({"ARRAY_AGG", "COLLECT_LIST", "STRING_AGG"})
"""The aggregates that depend on the order of rows of one time, unless they say another."""


class Frame(NamedTuple):
    """A frame for fsql and for DuckDB, where times are integers."""

    ours: str
    theirs: str

    @property
    def by_time(self) -> bool:
        """Return whether rows of one time are in the same frames."""
        return not self.ours.startswith("ROWS")


def _rows(frame: str) -> Frame:
    return Frame(f"ROWS {frame}", f"ROWS {frame}")


def _range(*seconds: int | None) -> Frame:
    """Return a frame that begins and ends such a time after its row; None for the partition's first row."""
    ours, theirs = [], []
    for each in seconds:
        side = "FOLLOWING" if each is not None and each > 0 else "PRECEDING"
        after = abs(each or 0)
        ours.append("UNBOUNDED PRECEDING" if each is None else f"INTERVAL '{after}' SECOND {side}")
        theirs.append("UNBOUNDED PRECEDING" if each is None else f"{after * SECOND} {side}")
    if len(seconds) == 1:
        return Frame(f"RANGE {ours[0]}", f"RANGE {theirs[0]}")
    return Frame(
        f"RANGE BETWEEN {ours[0]} AND {ours[1]}", f"RANGE BETWEEN {theirs[0]} AND {theirs[1]}"
    )


FRAMES: Final = (
    *(_rows("UNBOUNDED PRECEDING"), _rows("2 PRECEDING"), _rows("0 PRECEDING")),
    _rows("BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"),
    _rows("BETWEEN UNBOUNDED PRECEDING AND 3 PRECEDING"),
    _rows("BETWEEN 4 PRECEDING AND 2 PRECEDING"),
    _rows("BETWEEN 1 PRECEDING AND 2 FOLLOWING"),
    _rows("BETWEEN 1 FOLLOWING AND 3 FOLLOWING"),
    _rows("BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING"),
    *(Frame("", ""), Frame("RANGE UNBOUNDED PRECEDING", "RANGE UNBOUNDED PRECEDING")),
    *(_range(0), _range(-1), _range(-5)),
    *(_range(-5, -1), _range(-3, -3), _range(None, -2)),
    *(_range(-2, 3), _range(0, 1), _range(1, 4), _range(None, 2)),
)


class FramedCall(NamedTuple):
    """A call for fsql, the same for DuckDB, the type of its result, and its name and frame."""

    ours: str
    theirs: str
    type: str
    what: tuple[str, str]


def drawn_call(random: Random, name: str, by: str, *, ties: bool, by_time: bool) -> FramedCall:
    """Return a call of an aggregate over a drawn frame; with `ties` there are rows of one time.

    Only RANGE frames may have FOLLOWING if `by_time`, and otherwise only ROWS frames.
    """
    aggregate = random.choice(AGGREGATES_OF_FRAMES[name])
    frames = [
        each
        for each in FRAMES
        if not (ties and each.by_time and name in _OF_ORDER)
        and not ("FOLLOWING" in each.ours and each.by_time is not by_time)
    ]
    frame = random.choice(frames)
    order = "moment" if frame.by_time else "moment, time, origin"
    return FramedCall(
        aggregate.ours.replace("#", f"OVER ({by}ORDER BY moment {frame.ours})"),
        aggregate.theirs.replace("#", f"OVER ({by}ORDER BY {order} {frame.theirs})"),
        aggregate.type,
        (name, frame.ours),
    )


def case_of(seed: int) -> tuple[Case, list[FramedCall]]:
    """Return a case, and the calls of its SELECT."""
    random = Random(f"frame aggregates {seed}")
    ties, by_time = random.random() < 0.5, random.random() < 0.5
    by = random.choice(("PARTITION BY k ", "PARTITION BY k ", ""))
    names = sorted(AGGREGATES_OF_FRAMES)
    calls = [
        drawn_call(
            random, names[(seed * CALLS + number) % len(names)], by, ties=ties, by_time=by_time
        )
        for number in range(CALLS)
    ]
    columns = ", ".join(f"c{place} {call.type}" for place, call in enumerate(calls))
    text = SCRIPT.format(columns=columns, items=", ".join(call.ours for call in calls))
    job = bind(parse_script(SourceText("frames", text)), DECLARED).job
    verify_logical(job)
    splits: Splits = [[] for _ in range(random.choice((1, 2)))]
    clock = 3 * SECOND
    for number in range(random.choice((0, 6, 12, 24))):
        clock += random.choice((0, SECOND // 2, SECOND, 4 * SECOND))
        at = clock - random.choice((0, 0, SECOND, 2 * SECOND))
        row: tuple[Value, ...] = (
            number,
            random.choice(("a", "b", None)),
            random.choice((None, 0, 1, 2, 3, -1, 2**63 - 1 if number % 2 else -(2**63))),
            random.choice((None, -0.0, 0.0, 0.25, 1.5)),
            random.choice((None, "", "x", "y", "é")),
            at if ties else at + number,
        )
        random.choice(splits).append(row)
    return Case(f"frame aggregates {seed}", text, job, {0: splits}), calls


@pytest.mark.slow
def test_aggregates_of_frames_are_those_of_duckdb() -> None:
    met: Counter[str] = Counter()
    names: set[str] = set()
    frames: set[str] = set()
    for seed in range(SEEDS):
        case, calls = case_of(seed)
        outcome = case.expected
        assert not any(outcome.late), case
        items = ", ".join(call.theirs for call in calls)
        met["rows"] += compare_with_duckdb(case, VIEWS, f"SELECT id, {items} FROM t")
        check(case, schedules=1)
        check_snapshots(case, outcome, roots_of(case), Random(seed), met)
        names |= {call.what[0] for call in calls}
        frames |= {call.what[1] for call in calls}
    assert names == set(AGGREGATES_OF_FRAMES)
    assert frames == {frame.ours for frame in FRAMES}
    assert met["rows"], met
    assert met["rows restored"], met


def test_every_aggregate_is_in_frames() -> None:
    """All aggregates by name, over each kind of frame: none is refused but those that are not running."""
    running = AGGREGATES.keys() - NOT_RUNNING
    forms = dict.fromkeys((name for name in AGGREGATES if name in running), "{}(b)")
    forms |= dict.fromkeys((name for name in AGGREGATES if name.startswith("REGR_")), "{}(b, d)")
    forms |= dict.fromkeys(("CORR", "CORRELATION", "COVAR_POP", "COVAR_SAMP"), "{}(b, d)")
    forms |= dict.fromkeys(("ARG_MIN", "ARG_MAX", "MIN_BY", "MAX_BY", "MAP_AGG"), "{}(s, b)")
    forms |= dict.fromkeys(("JSON_OBJECTAGG", "JSON_OBJECT_AGG"), "{}(s, b)")
    forms |= dict.fromkeys(("STRING_AGG", "LISTAGG"), "{}(s)")
    forms |= dict.fromkeys(("BOOL_AND", "BOOL_OR", "EVERY", "COUNT_IF", "COUNTIF"), "{}(b > 0)")
    forms |= dict.fromkeys(("LOGICAL_AND", "LOGICAL_OR"), "{}(b > 0)")
    percentiles = ("PERCENTILE_CONT", "PERCENTILE_DISC")
    forms |= dict.fromkeys(percentiles, "{}(0.5) WITHIN GROUP (ORDER BY b)")
    quantiles = [name for name in AGGREGATES if "QUANTILE" in name or "PERCENTILE" in name]
    forms |= dict.fromkeys((name for name in quantiles if name not in percentiles), "{}(b, 0.5)")
    for frame in FRAMES:
        items = [
            f"{form.format(name)} OVER (PARTITION BY k ORDER BY moment {frame.ours}) AS {name}"
            for name, form in forms.items()
        ]
        table = SCRIPT.partition("CREATE TABLE sink")[0]
        job = bind(
            parse_script(SourceText("all", f"{table}SELECT {', '.join(items)} FROM t;")), DECLARED
        ).job
        verify_logical(job)
        assert len(job.inserts[0].query.schema) == len(running)
