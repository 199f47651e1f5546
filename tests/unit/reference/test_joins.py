"""Joins and running aggregates by the oracle, worked out by hand: pairs, their order, time ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsql.compiler import logical
from fsql.compiler.expression import (
    ColumnRef,
)
from fsql.compiler.logical import Changes, FrameEnd
from fsql.compiler.sqltypes import (
    BIGINT,
)
from fsql.tests.unit.reference.plans import (
    CLICK_N,
    CLICKS,
    COUNT,
    SCAN,
    SECOND,
    USER,
    WORD,
    WORD_N,
    WORDS,
    aggregate,
    clicks,
    evaluate,
    job_of,
    released,
    windowed,
    words,
)

if TYPE_CHECKING:
    from fsql.compiler.logical import Plan


def test_join_pairs_come_with_the_later_row_in_the_order_of_the_earlier() -> None:
    query = logical.Project(
        logical.Join(SCAN, logical.Scan(WORDS, 1), (WORD,), (WORD,), None),
        tuple(ColumnRef(BIGINT, nullable=True, index=index) for index in (1, 4)),
        ("left", "right"),
    )
    result = evaluate(job_of(query, changes=Changes.APPEND), words("a 1", "b 2", "- 3", "a 4"))
    assert released(result) == [
        '{"left":1,"right":1}',
        '{"left":2,"right":2}',
        '{"left":4,"right":1}',
        '{"left":1,"right":4}',
        '{"left":4,"right":4}',
    ]


def test_join_of_aggregates_is_a_relation_that_changes_as_one() -> None:
    counts = logical.Aggregate(logical.Scan(WORDS, 1), (WORD,), ("word",), (COUNT,), ("count",))
    query = logical.Project(
        logical.Join(SCAN, counts, (WORD,), (WORD,), None),
        (WORD, WORD_N, ColumnRef(BIGINT, nullable=False, index=4)),
        ("word", "n", "count"),
    )
    assert released(evaluate(job_of(query), words("a 1", "a 2"))) == [
        '{"op":"+I","word":"a","n":1,"count":1}',
        '{"op":"-D","word":"a","n":1,"count":1}',
        '{"op":"+I","word":"a","n":1,"count":2}',
        '{"op":"+I","word":"a","n":2,"count":2}',
    ]


def ranged(low: int, high: int) -> Plan:
    """Return `left.n, right.n` of a self join: right within `[left + low, left + high]` seconds."""
    return logical.Project(
        logical.Join(
            logical.Scan(CLICKS, 0),
            logical.Scan(CLICKS, 1),
            (USER,),
            (USER,),
            logical.TimeRange(2, 2, low * SECOND, high * SECOND),
        ),
        tuple(ColumnRef(BIGINT, nullable=True, index=index) for index in (1, 4)),
        ("left", "right"),
    )


def test_join_with_a_range() -> None:
    result = evaluate(
        job_of(ranged(0, 5), changes=Changes.APPEND),
        clicks(["a 1 1", "a 2 6", "a 3 7", "b 4 7"]),
    )
    assert released(result) == [
        '{"left":1,"right":1}',
        '{"left":1,"right":2}',
        '{"left":2,"right":2}',
        '{"left":2,"right":3}',
        '{"left":3,"right":3}',
        '{"left":4,"right":4}',
    ]


@pytest.mark.parametrize(("second", "lines"), [(8, ['{"left":1,"right":3}']), (8.001, [])])
def test_a_late_row_joins_while_the_watermark_has_not_passed_the_earlier(
    second: float, lines: list[str]
) -> None:
    # `a 1 1` could match up to 6, and the watermark is the time less 2.
    result = evaluate(
        job_of(ranged(1, 5), changes=Changes.APPEND), clicks(["a 1 1", f"b 2 {second}", "a 3 3"])
    )
    assert released(result) == lines


def test_over_counts_the_earlier_rows_of_the_partition() -> None:
    query = logical.Over(
        SCAN,
        (WORD,),
        (
            logical.OverCall(COUNT, FrameEnd.ONE_PRECEDING),
            logical.OverCall(aggregate("SUM", WORD_N, BIGINT), FrameEnd.CURRENT_ROW),
            logical.OverCall(aggregate("MIN", WORD_N, BIGINT), FrameEnd.ONE_PRECEDING),
        ),
        ("before", "sum", "least_before"),
    )
    result = evaluate(job_of(query, changes=Changes.APPEND), words("a 5", "b 2", "a 1", "a -"))
    assert released(result) == [
        '{"word":"a","n":5,"parts":null,"before":0,"sum":5,"least_before":null}',
        '{"word":"b","n":2,"parts":null,"before":0,"sum":2,"least_before":null}',
        '{"word":"a","n":1,"parts":null,"before":1,"sum":6,"least_before":5}',
        '{"word":"a","n":null,"parts":null,"before":2,"sum":6,"least_before":1}',
    ]


def test_pairs_of_earlier_rows_that_tie_tie_as_well() -> None:
    per_user = windowed(10, 10)
    ends = logical.Join(
        per_user,
        logical.Scan(CLICKS, 1),
        (ColumnRef(BIGINT, nullable=False, index=2),),
        (CLICK_N,),
        None,
    )
    query = logical.Project(ends, (USER, ColumnRef(BIGINT, nullable=True, index=5)), ("user", "n"))
    counted = logical.Over(query, (), (logical.OverCall(COUNT, FrameEnd.CURRENT_ROW),), ("i",))
    result = evaluate(job_of(counted, changes=Changes.APPEND), clicks(["b 7 1", "a 8 2", "z 1 30"]))
    assert released(result)[:2] == ['{"user":"a","n":1,"i":1}', '{"user":"b","n":1,"i":2}']
