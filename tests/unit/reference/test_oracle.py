"""The oracle against results worked out by hand: rows, aggregates, arrays, and how changes are labelled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler import logical
from fsql.compiler.expression import (
    ColumnRef,
)
from fsql.compiler.logical import Changes, Table, TimeKind
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import (
    BIGINT,
    BOOLEAN,
    STRING,
    array_of,
)
from fsql.tests.unit.reference.plans import (
    CLICK_N,
    COUNT,
    PARTS,
    SCAN,
    WORD,
    WORD_COUNT,
    WORD_N,
    aggregate,
    call,
    evaluate,
    integer,
    job_of,
    released,
    with_parts,
    words,
)

if TYPE_CHECKING:
    from fsql.tests.reference.oracle import Inputs


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
