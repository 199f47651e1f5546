"""Windows by the oracle, worked out by hand: when they close, what is late, windows over windows."""

from __future__ import annotations

from dataclasses import replace

from fsql.compiler import logical
from fsql.compiler.expression import ColumnRef
from fsql.compiler.logical import Changes, Table, TimeKind
from fsql.compiler.sqltypes import BIGINT, TIMESTAMP
from fsql.tests.unit.reference.plans import (
    CLICK_N,
    CLICKS,
    COUNT,
    SECOND,
    USER,
    aggregate,
    clicks,
    evaluate,
    job_of,
    released,
    windowed,
)


def test_tumble_closes_by_the_watermark_and_drops_and_counts_what_is_late() -> None:
    result = evaluate(
        job_of(windowed(10, 10), changes=Changes.APPEND),
        clicks(["a 1 1", "b 2 9", "a 3 11.9", "b 4 8", "a 5 12", "b 6 9.5", "b 7 13"]),
    )
    closing = (12 * SECOND, -1)
    # `a 3 11.9` stands before the closing at 10 + 2, so `b 4 8` is not late; `a 5 12` is behind it.
    assert result.released == (
        (
            (closing, '{"user":"a","window_end":"1970-01-01T00:00:10Z","count":1,"sum":1}'),
            (closing, '{"user":"b","window_end":"1970-01-01T00:00:10Z","count":2,"sum":6}'),
            (
                (22 * SECOND, -1),
                '{"user":"a","window_end":"1970-01-01T00:00:20Z","count":2,"sum":8}',
            ),
            (
                (22 * SECOND, -1),
                '{"user":"b","window_end":"1970-01-01T00:00:20Z","count":1,"sum":7}',
            ),
        ),
    )
    assert [(late.root, late.values[:2], late.weight) for late in result.late[0]] == [
        ((12 * SECOND, 5), ("b", 6), 1)
    ]


def test_a_split_that_is_behind_is_never_late() -> None:
    result = evaluate(
        job_of(windowed(10, 10), changes=Changes.APPEND),
        clicks(["a 1 1", "a 2 100"], ["a 4 2", "a 8 3"], []),
    )
    assert released(result) == [
        '{"user":"a","window_end":"1970-01-01T00:00:10Z","count":3,"sum":13}',
        '{"user":"a","window_end":"1970-01-01T00:01:50Z","count":1,"sum":2}',
    ]
    assert result.late == ((),)


def test_hop_windows_overlap_and_exist_before_the_epoch() -> None:
    result = evaluate(job_of(windowed(3, 2), changes=Changes.APPEND), clicks(["a 1 0", "a 2 1"]))
    assert released(result) == [
        '{"user":"a","window_end":"1970-01-01T00:00:01Z","count":1,"sum":1}',
        '{"user":"a","window_end":"1970-01-01T00:00:03Z","count":2,"sum":3}',
    ]


def test_hop_with_gaps_and_an_offset() -> None:
    result = evaluate(
        job_of(windowed(2, 5, offset=1), changes=Changes.APPEND),
        clicks(["a 1 0.9", "a 2 1", "a 4 2.9", "a 8 3", "a 16 6.5"]),
    )
    assert released(result) == [
        '{"user":"a","window_end":"1970-01-01T00:00:03Z","count":2,"sum":6}',
        '{"user":"a","window_end":"1970-01-01T00:00:08Z","count":1,"sum":16}',
    ]


def test_a_window_that_emits_changes_freezes_when_it_closes() -> None:
    result = evaluate(
        job_of(windowed(10, 10, final=False), key=(0, 1)),
        clicks(["a 1 1", "a 2 2", "a 4 12", "a 8 3"]),
    )
    assert released(result) == [
        '{"op":"+I","user":"a","window_end":"1970-01-01T00:00:10Z","count":1,"sum":1}',
        '{"op":"-U","user":"a","window_end":"1970-01-01T00:00:10Z","count":1,"sum":1}',
        '{"op":"+U","user":"a","window_end":"1970-01-01T00:00:10Z","count":2,"sum":3}',
        '{"op":"+I","user":"a","window_end":"1970-01-01T00:00:20Z","count":1,"sum":4}',
    ]
    assert len(result.late[0]) == 1


def test_a_window_over_a_window_sees_the_last_inner_rows() -> None:
    counted = windowed(5, 5)
    inner = replace(
        counted,
        keys=(*counted.keys, ColumnRef(TIMESTAMP, nullable=False, index=5)),
        key_names=(*counted.key_names, "window_time"),
    )
    timed = logical.Project(
        inner,
        (
            ColumnRef(TIMESTAMP, nullable=False, index=2),
            *(ColumnRef(BIGINT, nullable=True, index=index) for index in (3, 4)),
        ),
        ("window_time", "count", "sum"),
    )
    windows = logical.AssignWindows(timed, 0, 10 * SECOND, 10 * SECOND)
    outer = logical.WindowAggregate(
        windows,
        (ColumnRef(TIMESTAMP, nullable=False, index=4),),
        ("window_end",),
        (
            COUNT,
            aggregate("MAX", ColumnRef(BIGINT, nullable=False, index=1), BIGINT),
        ),
        ("groups", "most"),
        window_end=4,
        final=True,
    )
    result = evaluate(
        job_of(outer, changes=Changes.APPEND),
        clicks(["a 1 1", "b 1 2", "b 1 7", "b 1 8", "a 1 11"]),
    )
    assert result.released == (
        (
            ((12 * SECOND, -1), '{"window_end":"1970-01-01T00:00:10Z","groups":3,"most":2}'),
            ((22 * SECOND, -1), '{"window_end":"1970-01-01T00:00:20Z","groups":1,"most":1}'),
        ),
    )
    assert result.late == ((), ())


def test_the_grain_moves_the_closing_up() -> None:
    table = Table(
        "clicks",
        0,
        CLICKS.columns,
        (),
        TimeKind.EVENT,
        CLICKS.event_time,
        delay_us=2 * SECOND,
        grain_us=3 * SECOND,
    )
    result = evaluate(
        job_of(windowed(10, 10, table=table), changes=Changes.APPEND),
        clicks(["a 1 1", "a 2 13.9", "a 4 3", "a 8 14", "a 16 3"]),
    )
    # The watermark is a multiple of 3 seconds: it reaches 10 with 12, at 12 + 2.
    assert result.released[0][0] == (
        (14 * SECOND, -1),
        '{"user":"a","window_end":"1970-01-01T00:00:10Z","count":2,"sum":5}',
    )
    assert [late.values[1] for late in result.late[0]] == [16]


def test_a_window_of_an_updating_relation_keeps_what_was_true_when_it_closed() -> None:
    totals = logical.Aggregate(
        logical.Scan(CLICKS, 1),
        (USER,),
        ("user",),
        (aggregate("SUM", CLICK_N, BIGINT),),
        ("total",),
    )
    joined = logical.Join(logical.Scan(CLICKS, 0), totals, (USER,), (USER,), None)
    windows = logical.AssignWindows(joined, 2, 10 * SECOND, 10 * SECOND)
    query = logical.WindowAggregate(
        windows,
        (ColumnRef(TIMESTAMP, nullable=False, index=6),),
        ("window_end",),
        (aggregate("SUM", ColumnRef(BIGINT, nullable=True, index=4), BIGINT),),
        ("sum",),
        window_end=6,
        final=True,
    )
    result = evaluate(job_of(query), clicks(["a 1 1", "a 2 2", "a 4 20"]))
    assert result.released == (
        (
            ((12 * SECOND, -1), '{"op":"+I","window_end":"1970-01-01T00:00:10Z","sum":6}'),
            ((32 * SECOND, -1), '{"op":"+I","window_end":"1970-01-01T00:00:30Z","sum":7}'),
        ),
    )
    # The third click changes the total that both rows of the closed window had: all late.
    assert [(late.values[1], late.values[4], late.weight) for late in result.late[0]] == [
        (1, 3, -1),
        (1, 7, 1),
        (2, 3, -1),
        (2, 7, 1),
    ]
