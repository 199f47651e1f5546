"""Queries on the model, each small enough to be followed by hand.

They say in rows what docs/internals/semantics.md says in words, where a random comparison with the oracle
would show a difference but not what is right: positions, labels, closing, lateness, failures.

Catches: a change of what a query means.  Does not catch: what only shows in larger input (the oracle).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsql.compiler import logical
from fsql.compiler.lowering import lower
from fsql.compiler.sqltypes import BIGINT, STRING, TIMESTAMP, array_of
from fsql.runtime.batch import PUNCTUATION, TIME_START, Root, origin
from fsql.runtime.model import LateRow, ModelResult, run
from fsql.runtime.ports import DeadLetter
from fsql.tests.unit.model import plans as p

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.expression import Value

    Split = Sequence[tuple[Value, ...] | DeadLetter]

WORDS = p.table("words", {"word": STRING, "n": BIGINT})
BIDS = p.table("bids", {"price": BIGINT, "at": TIMESTAMP}, event_time="at", delay_us=p.SECOND)


def results(job: logical.Job, inputs: Mapping[int, Sequence[Split]]) -> ModelResult:
    """Run a job under several seeds and numbers of workers; return the one result."""
    graph = lower(job)
    found = [run(graph, inputs, seed=seed, workers=1 + seed % 3) for seed in range(9)]
    for result in found:
        assert result.sinks == found[0].sinks
        assert (result.late, result.dead_letters, result.error) == (
            found[0].late,
            found[0].dead_letters,
            found[0].error,
        )
    return found[0]


def rows(plan: logical.Plan | logical.Insert, *splits: Split) -> list[tuple[Value, ...]]:
    """Return the rows that a query over one table releases, labels before the columns."""
    job = p.job(plan)
    result = results(job, {job.tables[0].ordinal: splits})
    assert result.error is None
    return [row if label is None else (label, *row) for _, label, row in result.sinks[0]]


def broken(code: int) -> DeadLetter:
    return DeadLetter(0, line=-1, byte=-1, code=code, field="", reason="cannot be read", excerpt="")


def test_rows_of_two_splits_come_by_time_and_then_by_split() -> None:
    words = p.scan(WORDS)
    splits = [("a", 0), ("b", 1)], [("c", 0), ("d", 1)]
    result = results(p.job(words), {0: splits})
    assert [(root, row[0]) for root, _, row in result.sinks[0]] == [
        (Root(0, origin(0, 0, 0)), "a"),
        (Root(0, origin(0, 1, 0)), "c"),
        (Root(1, origin(0, 0, 1)), "b"),
        (Root(1, origin(0, 1, 1)), "d"),
    ]


def test_event_time_is_the_greatest_so_far_in_the_split() -> None:
    result = results(p.job(p.scan(BIDS)), {0: [[(1, 5), (2, 3), (3, 7)]]})
    assert [root.time for root, _, _ in result.sinks[0]] == [5, 5, 7]


def test_a_table_at_rest_comes_before_everything() -> None:
    table = p.table("rates", {"word": STRING}, 1, time=logical.TimeKind.START)
    joined = p.join(p.scan(WORDS, 0), p.scan(table, 1), [("word", "word")])
    result = results(p.job(joined, p.scan(table, 0)), {0: [[("a", 1)]], 1: [[("a",), ("a",)]]})
    assert [tuple(row) for _, _, row in result.sinks[0]] == [("a", 1, "a")] * 2
    assert [root for root, _, _ in result.sinks[1]] == [
        Root(TIME_START, origin(1, 0, 0)),
        Root(TIME_START, origin(1, 0, 1)),
    ]


def test_the_branches_of_one_row_come_in_the_order_of_scans_and_elements() -> None:
    pages = p.table("pages", {"id": BIGINT, "tokens": array_of(STRING)})
    first, second = p.scan(pages, 0), p.scan(pages, 1)
    tokens = logical.Unnest(first, p.col(first, "tokens"), "token", "place")
    of_tokens = p.project(tokens, id=p.col(tokens, "id"), place=p.col(tokens, "place"))
    whole = p.project(second, id=p.col(second, "id"), place=p.lit(0))
    union = logical.Union((of_tokens, whole))
    assert rows(union, [(7, ("x", "y")), (8, ("z",))]) == [(7, 1), (7, 2), (7, 0), (8, 1), (8, 0)]


def test_an_aggregate_moves_from_one_state_to_the_next() -> None:
    words = p.scan(WORDS)
    counts = p.group(words, ["word"], n=p.count(), total=p.agg("SUM", p.col(words, "n")))
    assert rows(p.insert(counts, ["word"]), [("a", 1), ("b", None), ("a", 2)]) == [
        ("+I", "a", 1, 1),
        ("+I", "b", 1, None),
        ("-U", "a", 1, 1),
        ("+U", "a", 2, 3),
    ]
    upsert = p.insert(counts, ["word"], logical.Changes.UPSERT)
    assert [row[0] for row in rows(upsert, [("a", 1), ("a", 2)])] == ["+I", "+U"]
    assert [row[0] for row in rows(counts, [("a", 1), ("a", 2)])] == ["+I", "-D", "+I"]


def test_several_changes_of_one_key_are_no_updates() -> None:
    words, again = p.scan(WORDS, 0), p.scan(WORDS, 1)
    counts = p.group(again, ["word"], count=p.count())
    joined = p.join(words, counts, [("word", "word")])
    by_word = p.project(
        joined, word=p.col(words, "word"), n=p.col(words, "n"), count=p.column(BIGINT, 3)
    )
    assert rows(p.insert(by_word, ["word"]), [("a", 1), ("b", 5), ("a", 2), ("a", 3)]) == [
        ("+I", "a", 1, 1),
        ("+I", "b", 5, 1),
        ("-D", "a", 1, 1),
        ("+I", "a", 1, 2),
        ("+I", "a", 2, 2),
        ("-D", "a", 1, 2),
        ("-D", "a", 2, 2),
        ("+I", "a", 1, 3),
        ("+I", "a", 2, 3),
        ("+I", "a", 3, 3),
    ]
    by_number = p.insert(by_word, ["word", "n"])
    assert [row[0] for row in rows(by_number, [("a", 1), ("a", 2)])] == ["+I", "-U", "+U", "+I"]


def test_two_rows_of_one_key_that_change_together_are_no_updates() -> None:
    other = p.table("others", {"word": STRING}, 1)
    sums = p.group(p.scan(other, 1), ["word"], count=p.count())
    joined = p.join(p.scan(WORDS, 0), sums, [("word", "word")])
    plan = p.insert(joined, ["word"])
    result = results(
        p.job(plan), {0: [[("a", 1), ("a", 2)]], 1: [[("x",), ("x",), ("a",), ("a",)]]}
    )
    assert [(operation, row[1], row[3]) for _, operation, row in result.sinks[0]] == [
        ("+I", 1, 1),
        ("+I", 2, 1),
        ("-D", 1, 1),
        ("-D", 2, 1),
        ("+I", 1, 2),
        ("+I", 2, 2),
    ]


def test_a_group_whose_rows_are_all_taken_back_is_gone() -> None:
    counts = p.group(p.scan(WORDS), ["word"], n=p.count())
    how_many = p.insert(p.group(counts, ["n"], words=p.count()), ["n"])
    assert rows(how_many, [("a", 0), ("b", 0), ("a", 0), ("b", 0)]) == [
        ("+I", 1, 1),
        ("-U", 1, 1),
        ("+U", 1, 2),
        ("-U", 1, 2),
        ("+U", 1, 1),
        ("+I", 2, 1),
        ("-D", 1, 1),
        ("-U", 2, 1),
        ("+U", 2, 2),
    ]


def test_the_total_of_all_balances_never_leaves_zero() -> None:
    transfers = p.table("transfers", {"debtor": STRING, "creditor": STRING, "amount": BIGINT})
    paid, received = p.scan(transfers, 0), p.scan(transfers, 1)
    negative = p.call("negate", BIGINT, p.col(paid, "amount"))
    entries = logical.Union(
        (
            p.project(paid, account=p.col(paid, "debtor"), amount=negative),
            p.project(
                received, account=p.col(received, "creditor"), amount=p.col(received, "amount")
            ),
        )
    )
    balances = p.group(entries, ["account"], amount=p.agg("SUM", p.col(entries, "amount")))
    total = p.group(balances, [], total=p.agg("SUM", p.col(balances, "amount")))
    moves = [("x", "y", 5), ("y", "z", 3), ("z", "x", 2), ("x", "x", 9)]
    assert rows(total, moves) == [("+I", 0)]


def test_a_window_closes_at_its_own_position_also_behind_the_end_of_the_input() -> None:
    windowed = p.hop(p.scan(BIDS), "at", 10 * p.SECOND)
    counted = p.window_group(windowed, ["window_end"], n=p.count())
    result = results(p.job(counted), {0: [[(1, 3 * p.SECOND), (2, 12 * p.SECOND)]]})
    assert [(root, row) for root, _, row in result.sinks[0]] == [
        (Root(11 * p.SECOND, PUNCTUATION), (10 * p.SECOND, 1)),
        (Root(21 * p.SECOND, PUNCTUATION), (20 * p.SECOND, 1)),
    ]


def test_a_row_is_late_only_behind_the_closing_of_its_window() -> None:
    windowed = p.hop(p.scan(BIDS), "at", 10 * p.SECOND)
    counted = p.window_group(windowed, ["window_end"], n=p.count())
    bids = [(1, 3 * p.SECOND), (2, 11 * p.SECOND - 1), (3, 4 * p.SECOND), (4, 11 * p.SECOND)]
    late = (5, 5 * p.SECOND)
    result = results(p.job(counted), {0: [[*bids, late]]})
    assert [row for _, _, row in result.sinks[0]] == [(10 * p.SECOND, 2), (20 * p.SECOND, 2)]
    window = (0, 10 * p.SECOND, 10 * p.SECOND - 1)
    root = Root(11 * p.SECOND, origin(0, 0, 4))
    assert result.late == ((LateRow(root, (*late, *window), 1),),)


def test_a_window_sees_the_last_rows_of_windows_that_close_with_it() -> None:
    windowed = p.hop(p.scan(BIDS), "at", 10 * p.SECOND)
    by_price = p.window_group(windowed, ["price", "window_end"], n=p.count())
    prices = p.window_group(
        by_price, ["window_end"], n=p.count(), most=p.agg("MAX", p.col(by_price, "n"))
    )
    result = results(p.job(prices), {0: [[(1, 0), (2, 1), (1, 2), (3, 12 * p.SECOND)]]})
    assert result.late == ((), ())
    assert [(root, row) for root, _, row in result.sinks[0]] == [
        (Root(11 * p.SECOND, PUNCTUATION), (10 * p.SECOND, 2, 2)),
        (Root(21 * p.SECOND, PUNCTUATION), (20 * p.SECOND, 1, 1)),
    ]


def test_a_failing_row_stops_the_job_at_its_position() -> None:
    words = p.scan(WORDS)
    inverse = p.project(
        words, word=p.col(words, "word"), q=p.call("divide", BIGINT, p.lit(6), p.col(words, "n"))
    )
    result = results(p.job(inverse, words), {0: [[("a", 1), ("b", 0)], [("c", 2), ("d", 3)]]})
    for sink in result.sinks:
        assert [row[0] for _, _, row in sink] == ["a", "c"]
    assert result.error is not None
    assert (result.error.code, result.error.root) == (501, Root(1, origin(0, 0, 1)))


def doubled() -> logical.Union:
    """Return every row of `words` three times: as it is, as it is, and with `n` negated."""
    scan_numbers = [p.scan(WORDS, scan_number) for scan_number in range(3)]
    branches = [
        p.project(each, word=p.col(each, "word"), n=p.col(each, "n")) for each in scan_numbers[:2]
    ]
    last = scan_numbers[2]
    negated = p.call("negate", BIGINT, p.col(last, "n"))
    return logical.Union((*branches, p.project(last, word=p.col(last, "word"), n=negated)))


def test_a_sum_may_pass_its_range_within_one_root() -> None:
    entries = doubled()
    sums = p.group(entries, ["word"], s=p.agg("SUM", p.col(entries, "n")))
    assert rows(p.insert(sums, ["word"]), [("a", 2**62), ("a", 2**61)]) == [
        ("+I", "a", 2**62),
        ("-U", "a", 2**62),
        ("+U", "a", 2**62 + 2**61),
    ]
    result = results(p.job(sums), {0: [[("a", 2**62), ("a", 2**62)]]})
    assert result.error is not None
    assert (result.error.code, result.error.root.time) == (505, 1)


def test_a_failure_that_passes_within_one_root_never_was() -> None:
    entries = doubled()
    counts = p.group(entries, ["word"], n=p.count())
    # The count passes 2 on its way from 0 to 3.
    divisor = p.call("subtract", BIGINT, p.col(counts, "n"), p.lit(2))
    quotient = p.call("divide", BIGINT, p.lit(12), divisor)
    plan = p.project(counts, word=p.col(counts, "word"), q=quotient)
    assert rows(p.insert(plan, ["word"]), [("a", 0), ("a", 0)]) == [
        ("+I", "a", 12),
        ("-U", "a", 12),
        ("+U", "a", 3),
    ]


@pytest.mark.parametrize("policy", ["reject", "stop"])
def test_malformed_rows_go_by_the_policy_of_the_table(policy: str) -> None:
    table = p.table(
        "bids", {"price": BIGINT, "at": TIMESTAMP}, event_time="at", options={"on_error": policy}
    )
    split: Split = [(1, 5), broken(513), (2, None), (3, 4), (4, 9)]
    result = results(p.job(p.scan(table)), {0: [split]})
    prices = [row[0] for _, _, row in result.sinks[0]]
    if policy == "stop":
        assert prices == [1]
        assert result.error is not None
        assert (result.error.code, result.error.root) == (513, Root(5, origin(0, 0, 1)))
    else:
        assert prices == [1, 3, 4]
        assert [(root, dead_letter.code) for root, dead_letter in result.dead_letters] == [
            (Root(5, origin(0, 0, 1)), 513),
            (Root(5, origin(0, 0, 2)), 521),
        ]


def test_a_malformed_row_under_offset_time_has_its_own_number() -> None:
    table = p.table("words", {"word": STRING}, options={"on_error": "reject"})
    result = results(p.job(p.scan(table)), {0: [[("a",), broken(511), ("b",)]]})
    assert [root.time for root, _, _ in result.sinks[0]] == [0, 2]
    assert [(root, dead_letter.code) for root, dead_letter in result.dead_letters] == [
        (Root(1, origin(0, 0, 1)), 511)
    ]


def test_of_several_failures_in_one_array_the_least_is_the_row_s() -> None:
    pages = p.table("pages", {"numbers": array_of(BIGINT)})
    element = p.column(BIGINT, 1)
    sums = logical.LateralAggregate(
        p.scan(pages),
        p.col(p.scan(pages), "numbers"),
        ordinality=False,
        predicate=None,
        keys=(p.call("multiply", BIGINT, element, element),),
        key_names=("square",),
        aggregates=(p.agg("SUM", p.call("divide", BIGINT, p.lit(6), element)),),
        aggregate_names=("s",),
    )
    assert rows(sums, [((2, 3, -2),)]) == [((2, 3, -2), 4, 0), ((2, 3, -2), 9, 2)]
    for numbers in ((2**62, 0), (0, 2**62)):
        error = results(p.job(sums), {0: [[(numbers,)]]}).error
        assert error is not None
        assert error.code == 501


def test_no_input_releases_nothing() -> None:
    counts = p.group(p.scan(WORDS), [], n=p.count())
    assert rows(counts) == []
    assert rows(counts, [], []) == []
