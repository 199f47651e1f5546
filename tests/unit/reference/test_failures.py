"""What ends a job by the oracle, worked out by hand: failing and malformed rows, sums out of range."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsql.compiler import logical
from fsql.compiler.expression import (
    Case,
    Cast,
    ColumnRef,
)
from fsql.compiler.logical import Changes, Table, TimeKind
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import (
    BIGINT,
    BIGINT_MAX,
    BOOLEAN,
    DOUBLE,
    TIMESTAMP,
)
from fsql.runtime.ports import DeadLetter
from fsql.tests.unit.reference.plans import (
    CLICKS,
    COUNT,
    EARLY,
    PARTS,
    SCAN,
    SECOND,
    USER,
    WORD,
    WORD_COUNT,
    WORD_N,
    WORDS,
    aggregate,
    call,
    clicks,
    evaluate,
    integer,
    job_of,
    released,
    windowed,
    with_parts,
    words,
)

if TYPE_CHECKING:
    from fsql.compiler.expression import Value
    from fsql.tests.reference.oracle import Inputs


def test_an_error_ends_all_outputs_before_its_root() -> None:
    ratio = logical.Project(SCAN, (call("divide", BIGINT, integer(6), WORD_N),), ("ratio",))
    result = evaluate(job_of(ratio, WORD_COUNT, key=(0,)), words("a 1", "b 2", "a 0", "a 3"))
    assert released(result, 0) == ['{"op":"+I","ratio":6}', '{"op":"+I","ratio":3}']
    assert len(released(result, 1)) == 2
    assert result.error == (501, (2, 2))


def test_a_condition_that_decides_hides_the_failure_behind_it() -> None:
    safe = call(
        "and",
        BOOLEAN,
        call("ne", BOOLEAN, WORD_N, integer(0)),
        call("gt", BOOLEAN, call("divide", BIGINT, integer(6), WORD_N), integer(2)),
    )
    query = logical.Project(logical.Filter(SCAN, safe), (WORD,), ("word",))
    result = evaluate(job_of(query, changes=Changes.APPEND), words("a 0", "b 1", "c 3"))
    assert released(result) == ['{"word":"b"}']
    assert result.error is None


def test_case_takes_one_branch_only() -> None:
    guarded = Case(
        BIGINT,
        nullable=True,
        branches=((call("eq", BOOLEAN, WORD_N, integer(0)), integer(-1)),),
        otherwise=call("divide", BIGINT, integer(6), WORD_N),
    )
    query = logical.Project(SCAN, (guarded,), ("ratio",))
    assert released(
        evaluate(job_of(query, changes=Changes.APPEND), words("a 0", "a 4", "a -"))
    ) == ['{"ratio":-1}', '{"ratio":1}', '{"ratio":null}']


def test_a_sum_out_of_range_fails_at_the_root_that_leaves_it_so() -> None:
    result = evaluate(job_of(WORD_COUNT, key=(0,)), words(f"a {BIGINT_MAX}", "b 1", "a 1", "a -1"))
    assert len(released(result)) == 2
    assert result.error == (505, (2, 2))


def test_a_sum_may_pass_out_of_range_within_a_root() -> None:
    parts = logical.Unnest(SCAN, PARTS, "part", None)
    query = logical.Aggregate(
        parts,
        (),
        (),
        (aggregate("SUM", ColumnRef(BIGINT, nullable=True, index=3), BIGINT),),
        ("s",),
    )
    inputs = with_parts((BIGINT_MAX, 1, -2))
    assert released(evaluate(job_of(query), inputs)) == [f'{{"op":"+I","s":{BIGINT_MAX - 1}}}']


def test_sum_of_doubles_is_exact_and_average_is_the_rounded_sum_by_the_count() -> None:
    number = Cast(DOUBLE, nullable=True, argument=WORD)
    query = logical.Aggregate(
        SCAN,
        (),
        (),
        (aggregate("SUM", number, DOUBLE), aggregate("AVG", number, DOUBLE)),
        ("s", "a"),
    )
    result = evaluate(
        job_of(query, changes=Changes.UPSERT, key=()),
        words("1e16 0", "1 0", "-1e16 0", "0.1 0", "1e308 0", "1e308 0", "-Infinity 0", "NaN 0"),
    )
    assert released(result) == [
        '{"op":"+I","s":1e+16,"a":1e+16}',
        '{"op":"+U","s":1e+16,"a":5000000000000000.0}',
        '{"op":"+U","s":1.0,"a":0.3333333333333333}',
        '{"op":"+U","s":1.1,"a":0.275}',
        '{"op":"+U","s":1e+308,"a":2e+307}',
        '{"op":"+U","s":"Infinity","a":"Infinity"}',
        '{"op":"+U","s":"-Infinity","a":"-Infinity"}',
        '{"op":"+U","s":"NaN","a":"NaN"}',
    ]


def test_malformed_rows_have_a_position_and_are_rejected_or_end_the_job() -> None:
    bad = DeadLetter(1, 2, 10, 511, "", "is not JSON", "{")
    rows: list[tuple[Value, ...] | DeadLetter] = [
        ("a", 1, SECOND),
        bad,
        ("a", 2, None),
        ("a", 4, 3 * SECOND),
    ]
    result = evaluate(job_of(windowed(10, 10), changes=Changes.APPEND), {0: [rows]})
    assert released(result) == [
        '{"user":"a","window_end":"1970-01-01T00:00:10Z","count":2,"sum":5}'
    ]
    assert result.dead_letters == (((SECOND, 1), 0, 0, 1, 511), ((SECOND, 2), 0, 0, 2, 521))
    stopping = Table("words", 0, WORDS.columns, (), TimeKind.OFFSET)
    scan = logical.Scan(stopping, 0)
    stopped = evaluate(
        job_of(scan, changes=Changes.APPEND), {0: [[("a", 1, None), bad, ("b", 2, None)], [bad]]}
    )
    assert stopped.error == (511, (0, 1 << 40))
    assert released(stopped) == ['{"word":"a","n":1,"parts":null}']


def test_a_malformed_row_has_the_event_time_of_the_row_before_it() -> None:
    bad = DeadLetter(0, 1, 0, 511, "", "is not JSON", "{")
    query = logical.Scan(CLICKS, 0)
    rows: list[tuple[Value, ...] | DeadLetter] = [bad, ("a", 1, 5 * SECOND), ("a", 1, SECOND), bad]
    result = evaluate(job_of(query, changes=Changes.APPEND), {0: [rows]})
    assert [dead_letter.root for dead_letter in result.dead_letters] == [
        (EARLY, 0),
        (5 * SECOND, 3),
    ]


def test_a_row_whose_event_time_fails_is_malformed_with_that_code() -> None:
    millis = Column("ms", BIGINT)
    event_time = call("timestamp_millis", TIMESTAMP, ColumnRef(BIGINT, nullable=True, index=0))
    options = (("on_error", "reject"),)
    table = Table("t", 0, (millis,), options, TimeKind.EVENT, event_time)
    result = evaluate(
        job_of(logical.Scan(table, 0), changes=Changes.APPEND),
        {0: [[(5,), (None,), (BIGINT_MAX,), (4,)]]},
    )
    assert result.dead_letters == (((5_000, 1), 0, 0, 1, 521), ((5_000, 2), 0, 0, 2, 504))
    assert released(result) == ['{"ms":5}', '{"ms":4}']


def test_equal_event_times_are_ordered_by_split() -> None:
    query = logical.Project(logical.Scan(CLICKS, 0), (USER,), ("user",))
    result = evaluate(
        job_of(query, changes=Changes.APPEND), clicks(["b 0 1", "c 0 1"], ["a 0 1"], ["d 0 0"])
    )
    assert released(result) == [f'{{"user":"{user}"}}' for user in "dbca"]


@pytest.mark.parametrize("inputs", [{}, {0: []}, {0: [[], []]}])
def test_no_input_gives_no_output(inputs: Inputs) -> None:
    total = logical.Aggregate(SCAN, (), (), (COUNT,), ("count",))
    result = evaluate(job_of(WORD_COUNT, total), inputs)
    assert result.released == ((), ())
    assert result.error is None
