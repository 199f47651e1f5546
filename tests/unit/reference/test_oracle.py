"""The oracle against results worked out by hand, on plans built by hand.

Times are in seconds here and microseconds in the plans.  Each test is one operator, or one rule of
docs/internals/semantics.md, at its smallest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsql.compiler import logical
from fsql.compiler.expression import (
    AggregateCall,
    AggregateFunction,
    Call,
    Case,
    Cast,
    ColumnRef,
    Literal,
)
from fsql.compiler.logical import Changes, FrameEnd, Table, TimeKind
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import (
    BIGINT,
    BIGINT_MAX,
    BOOLEAN,
    DOUBLE,
    INTERVAL,
    STRING,
    TIMESTAMP,
    array_of,
)
from fsql.runtime.ports import Reject
from fsql.tests.reference.oracle import evaluate_job

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.expression import Expression, Value
    from fsql.compiler.logical import Plan
    from fsql.compiler.sqltypes import SqlType
    from fsql.tests.reference.oracle import Inputs, OracleResult

SECOND = 1_000_000
EARLY = -(2**63) + 1

CLICKS = Table(
    "clicks",
    0,
    (
        Column("user", STRING),
        Column("n", BIGINT),
        Column("at", TIMESTAMP, nullable=False, time_attribute=True),
    ),
    (("on_error", "reject"),),
    TimeKind.EVENT,
    ColumnRef(TIMESTAMP, nullable=False, index=2),
    delay_us=2 * SECOND,
)
WORDS = Table(
    "words",
    0,
    (Column("word", STRING), Column("n", BIGINT), Column("parts", array_of(BIGINT))),
    (),
    TimeKind.OFFSET,
)
WORD, WORD_N, PARTS = (
    ColumnRef(column.type, nullable=True, index=index) for index, column in enumerate(WORDS.columns)
)
USER, CLICK_N = WORD, WORD_N
COUNT = AggregateCall(AggregateFunction.COUNT, None, BIGINT, nullable=False)


def aggregate(name: str, argument: Expression, type_: SqlType) -> AggregateCall:
    return AggregateCall(AggregateFunction(name), argument, type_, nullable=True)


def call(function: str, type_: SqlType, *arguments: Expression) -> Call:
    return Call(type_, nullable=True, function=function, arguments=arguments)


def integer(value: int) -> Literal:
    return Literal(BIGINT, nullable=False, value=value)


def job_of(
    *queries: Plan, changes: Changes = Changes.RETRACT, key: tuple[int, ...] | None = None
) -> logical.Job:
    """Insert each query into a sink with its columns."""
    return logical.Job(
        tuple(
            logical.Insert(
                logical.SinkTable(f"sink_{number}", query.schema, (), changes, key), query
            )
            for number, query in enumerate(queries)
        )
    )


def evaluate(job: logical.Job, inputs: Inputs) -> OracleResult:
    """Evaluate in both ways, which must agree."""
    result = evaluate_job(job, inputs)
    assert evaluate_job(job, inputs, literal=True) == result
    return result


def released(result: OracleResult, insert: int = 0) -> list[str]:
    return [line for _, line in result.released[insert]]


def words(*rows: str) -> Inputs:
    """Return one split with a row for each string `word n`."""
    return {0: [[(*_word_and_number(row), None) for row in rows]]}


def _word_and_number(row: str) -> tuple[str | None, int | None]:
    word, number = (None if part == "-" else part for part in row.split())
    return word, None if number is None else int(number)


def clicks(*splits: Sequence[str]) -> Inputs:
    """Return splits with a row for each string `user n second`."""
    return {0: [[_click(row) for row in split] for split in splits]}


def _click(row: str) -> tuple[Value, ...]:
    user, number, second = row.split()
    return (None if user == "-" else user, int(number), round(float(second) * SECOND))


def windowed(
    size: int, slide: int, *, final: bool = True, table: Table = CLICKS, offset: int = 0
) -> logical.WindowAggregate:
    """Return user, window_end, COUNT(*), SUM(n) of windows over `table`."""
    windows = logical.AssignWindows(
        logical.Scan(table, 0), 2, size * SECOND, slide * SECOND, offset * SECOND
    )
    return logical.WindowAggregate(
        windows,
        (USER, ColumnRef(TIMESTAMP, nullable=False, index=4)),
        ("user", "window_end"),
        (COUNT, aggregate("SUM", CLICK_N, BIGINT)),
        ("count", "sum"),
        window_end=4,
        final=final,
    )


SCAN = logical.Scan(WORDS, 0)
WORD_COUNT = logical.Aggregate(
    SCAN, (WORD,), ("word",), (COUNT, aggregate("SUM", WORD_N, BIGINT)), ("count", "sum")
)


def test_project_and_filter_keep_the_order_of_roots_over_splits() -> None:
    kept = logical.Filter(SCAN, call("gt", BOOLEAN, WORD_N, integer(1)))
    query = logical.Project(kept, (WORD, call("multiply", BIGINT, WORD_N, integer(10))), ("w", "m"))
    inputs: Inputs = {0: [[("a", 1, None), ("b", 2, None)], [("c", 3, None), ("d", None, None)]]}
    result = evaluate(job_of(query, changes=Changes.APPEND), inputs)
    assert result.released == ((((0, 1 << 40), '{"w":"c","m":30}'), ((1, 1), '{"w":"b","m":20}')),)
    assert result.error is None


def test_word_count_updates_its_row_at_each_word() -> None:
    result = evaluate(job_of(WORD_COUNT, key=(0,)), words("a 1", "b -5", "a -", "- 3", "- 4"))
    assert released(result) == [
        '{"op":"+I","word":"a","count":1,"sum":1}',
        '{"op":"+I","word":"b","count":1,"sum":-5}',
        '{"op":"-U","word":"a","count":1,"sum":1}',
        '{"op":"+U","word":"a","count":2,"sum":1}',
        '{"op":"+I","word":null,"count":1,"sum":3}',
        '{"op":"-U","word":null,"count":1,"sum":3}',
        '{"op":"+U","word":null,"count":2,"sum":7}',
    ]


def test_upsert_leaves_out_what_was_and_no_key_labels_no_updates() -> None:
    inputs = words("a 1", "a 2")
    assert released(evaluate(job_of(WORD_COUNT, changes=Changes.UPSERT, key=(0,)), inputs)) == [
        '{"op":"+I","word":"a","count":1,"sum":1}',
        '{"op":"+U","word":"a","count":2,"sum":3}',
    ]
    assert released(evaluate(job_of(WORD_COUNT), inputs)) == [
        '{"op":"+I","word":"a","count":1,"sum":1}',
        '{"op":"-D","word":"a","count":1,"sum":1}',
        '{"op":"+I","word":"a","count":2,"sum":3}',
    ]


def test_aggregate_over_aggregate_moves_a_word_from_count_to_count_in_one_group() -> None:
    counted = logical.Aggregate(
        WORD_COUNT, (ColumnRef(BIGINT, nullable=False, index=1),), ("count",), (COUNT,), ("words",)
    )
    assert released(evaluate(job_of(counted, key=(0,)), words("a 1", "b 1", "a 1", "b 1"))) == [
        '{"op":"+I","count":1,"words":1}',
        '{"op":"-U","count":1,"words":1}',
        '{"op":"+U","count":1,"words":2}',
        '{"op":"-U","count":1,"words":2}',
        '{"op":"+U","count":1,"words":1}',
        '{"op":"+I","count":2,"words":1}',
        '{"op":"-D","count":1,"words":1}',
        '{"op":"-U","count":2,"words":1}',
        '{"op":"+U","count":2,"words":2}',
    ]


def test_total_of_all_balances_is_always_zero_and_so_never_changes() -> None:
    transfers = Table(
        "transfers",
        0,
        (Column("payer", STRING), Column("payee", STRING), Column("amount", BIGINT)),
        (),
        TimeKind.OFFSET,
    )
    scans = logical.Scan(transfers, 0), logical.Scan(transfers, 1)
    payer, payee, amount = (
        ColumnRef(column.type, nullable=True, index=i) for i, column in enumerate(transfers.columns)
    )
    names = ("account", "amount")
    movements = logical.Union(
        (
            logical.Project(scans[0], (payer, call("negate", BIGINT, amount)), names),
            logical.Project(scans[1], (payee, amount), names),
        )
    )
    balances = logical.Aggregate(
        movements, (payer,), ("account",), (aggregate("SUM", CLICK_N, BIGINT),), ("balance",)
    )
    total = logical.Aggregate(
        balances, (), (), (COUNT, aggregate("SUM", CLICK_N, BIGINT)), ("accounts", "total")
    )
    inputs: Inputs = {0: [[("x", "y", 7), ("y", "x", 7), ("x", "z", 1), ("z", "z", 100)]]}
    result = evaluate(job_of(balances, total, key=(0,)), inputs)
    assert result.released[0][:4] == (
        ((0, 0), '{"op":"+I","account":"x","balance":-7}'),
        ((0, 0), '{"op":"+I","account":"y","balance":7}'),
        ((1, 1), '{"op":"-U","account":"x","balance":-7}'),
        ((1, 1), '{"op":"+U","account":"x","balance":0}'),
    )
    assert len(result.released[0]) == 9, "the last transfer changes no balance"
    assert released(result, 1) == [
        '{"op":"+I","accounts":2,"total":0}',
        '{"op":"-D","accounts":2,"total":0}',
        '{"op":"+I","accounts":3,"total":0}',
    ]


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
    inner = windowed(5, 5)
    before_end = call(
        "subtract",
        TIMESTAMP,
        ColumnRef(TIMESTAMP, nullable=False, index=1),
        Literal(INTERVAL, nullable=False, value=1),
    )
    timed = logical.Project(
        inner,
        (before_end, *(ColumnRef(BIGINT, nullable=True, index=index) for index in (2, 3))),
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


def with_parts(*parts: tuple[int | None, ...] | None) -> Inputs:
    return {0: [[("w", 0, part) for part in parts]]}


def test_unnest_appends_the_index_to_the_path() -> None:
    query = logical.Project(
        logical.Unnest(SCAN, PARTS, "part", "ordinal"),
        tuple(ColumnRef(BIGINT, nullable=True, index=index) for index in (3, 4)),
        ("part", "ordinal"),
    )
    inputs = with_parts((30, None, 10), (), None, (5,))
    assert released(evaluate(job_of(query, changes=Changes.APPEND), inputs)) == [
        '{"part":30,"ordinal":1}',
        '{"part":null,"ordinal":2}',
        '{"part":10,"ordinal":3}',
        '{"part":5,"ordinal":1}',
    ]


def test_lateral_aggregates_have_groups_in_the_order_of_their_first_elements() -> None:
    element = ColumnRef(BIGINT, nullable=True, index=3)
    ordinal = ColumnRef(BIGINT, nullable=False, index=4)
    lateral = logical.LateralAggregate(
        SCAN,
        PARTS,
        ordinality=True,
        predicate=call("is_not_null", BOOLEAN, element),
        keys=(element,),
        key_names=("part",),
        aggregates=(COUNT, aggregate("ARRAY_AGG", ordinal, array_of(BIGINT))),
        aggregate_names=("count", "ordinals"),
    )
    query = logical.Project(
        lateral,
        (
            element,
            ColumnRef(BIGINT, nullable=False, index=4),
            ColumnRef(array_of(BIGINT), nullable=True, index=5),
        ),
        ("part", "count", "ordinals"),
    )
    inputs = with_parts((30, None, 10, 30), None)
    assert released(evaluate(job_of(query, changes=Changes.APPEND), inputs)) == [
        '{"part":30,"count":2,"ordinals":[1,4]}',
        '{"part":10,"count":1,"ordinals":[3]}',
    ]


def test_lateral_aggregate_without_keys_has_one_group_even_if_empty() -> None:
    lateral = logical.LateralAggregate(
        SCAN,
        PARTS,
        ordinality=False,
        predicate=None,
        keys=(),
        key_names=(),
        aggregates=(COUNT, aggregate("SUM", ColumnRef(BIGINT, nullable=True, index=3), BIGINT)),
        aggregate_names=("count", "sum"),
    )
    assert released(
        evaluate(job_of(lateral, changes=Changes.APPEND), with_parts((1, 2), None))
    ) == [
        '{"word":"w","n":0,"parts":[1,2],"count":2,"sum":3}',
        '{"word":"w","n":0,"parts":null,"count":0,"sum":null}',
    ]


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
    bad = Reject(1, 2, 10, 511, "", "is not JSON", "{")
    rows: list[tuple[Value, ...] | Reject] = [
        ("a", 1, SECOND),
        bad,
        ("a", 2, None),
        ("a", 4, 3 * SECOND),
    ]
    result = evaluate(job_of(windowed(10, 10), changes=Changes.APPEND), {0: [rows]})
    assert released(result) == [
        '{"user":"a","window_end":"1970-01-01T00:00:10Z","count":2,"sum":5}'
    ]
    assert result.rejects == (((SECOND, 1), 0, 0, 1, 511), ((SECOND, 2), 0, 0, 2, 521))
    stopping = Table("words", 0, WORDS.columns, (), TimeKind.OFFSET)
    scan = logical.Scan(stopping, 0)
    stopped = evaluate(
        job_of(scan, changes=Changes.APPEND), {0: [[("a", 1, None), bad, ("b", 2, None)], [bad]]}
    )
    assert stopped.error == (511, (0, 1 << 40))
    assert released(stopped) == ['{"word":"a","n":1,"parts":null}']


def test_a_malformed_row_has_the_event_time_of_the_row_before_it() -> None:
    bad = Reject(0, 1, 0, 511, "", "is not JSON", "{")
    query = logical.Scan(CLICKS, 0)
    rows: list[tuple[Value, ...] | Reject] = [bad, ("a", 1, 5 * SECOND), ("a", 1, SECOND), bad]
    result = evaluate(job_of(query, changes=Changes.APPEND), {0: [rows]})
    assert [reject.root for reject in result.rejects] == [(EARLY, 0), (5 * SECOND, 3)]


def test_a_row_whose_event_time_fails_is_malformed_with_that_code() -> None:
    millis = Column("ms", BIGINT)
    event_time = call("timestamp_millis", TIMESTAMP, ColumnRef(BIGINT, nullable=True, index=0))
    options = (("on_error", "reject"),)
    table = Table("t", 0, (millis,), options, TimeKind.EVENT, event_time)
    result = evaluate(
        job_of(logical.Scan(table, 0), changes=Changes.APPEND),
        {0: [[(5,), (None,), (BIGINT_MAX,), (4,)]]},
    )
    assert result.rejects == (((5_000, 1), 0, 0, 1, 521), ((5_000, 2), 0, 0, 2, 504))
    assert released(result) == ['{"ms":5}', '{"ms":4}']


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


def test_equal_event_times_are_ordered_by_split() -> None:
    query = logical.Project(logical.Scan(CLICKS, 0), (USER,), ("user",))
    result = evaluate(
        job_of(query, changes=Changes.APPEND), clicks(["b 0 1", "c 0 1"], ["a 0 1"], ["d 0 0"])
    )
    assert released(result) == [f'{{"user":"{user}"}}' for user in "dbca"]


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


@pytest.mark.parametrize("inputs", [{}, {0: []}, {0: [[], []]}])
def test_no_input_gives_no_output(inputs: Inputs) -> None:
    total = logical.Aggregate(SCAN, (), (), (COUNT,), ("count",))
    result = evaluate(job_of(WORD_COUNT, total), inputs)
    assert result.released == ((), ())
    assert result.error is None
