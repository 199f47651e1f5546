"""Each operator becomes the vertices that the design draws for it.

Catches: a vertex too many or too few, a wrong input, path depth or parameter, an operator lowered
twice.  Does not catch: a graph that is drawn right and means something else than the plan; that is what
the tests of the model against the prefix oracle are for.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from fsql.compiler import graph as g
from fsql.compiler import logical
from fsql.compiler.lowering import lower
from fsql.compiler.sqltypes import BIGINT, STRING, TIMESTAMP, array_of
from fsql.compiler.verify.graph import verify_graph
from fsql.tests.unit.model import plans as p

WORDS = p.table("words", {"word": STRING, "n": BIGINT})
PAGES = p.table("pages", {"id": BIGINT, "tokens": array_of(STRING)}, 1)
BIDS = p.table("bids", {"price": BIGINT, "at": TIMESTAMP}, 2, event_time="at", delay_us=p.SECOND)


def outline(*plans: logical.Plan | logical.Insert) -> list[str]:
    """Lower, verify, and return a line for each vertex: index, operation, inputs, depth."""
    graph = lower(p.job(*plans))
    verify_graph(graph)
    lines = []
    for index, vertex in enumerate(graph.vertices):
        operation = vertex.operation
        named = operation.function if isinstance(operation, g.Map) else operation
        cycle = "" if vertex.cycle is None else f" cycle {vertex.cycle}"
        inputs = ",".join(map(str, vertex.inputs))
        lines.append(f"{index} {type(named).__name__}({inputs}) depth {vertex.depth}{cycle}")
    return lines


def test_scan_reads_a_table_once_and_numbers_each_scan() -> None:
    words = p.scan(WORDS)
    assert outline(words) == ["0 Source() depth 0", "1 ScanRows(0) depth 1", "2 Sink(1) depth 1"]


def test_a_table_named_twice_has_one_source_and_a_broadcast() -> None:
    both = logical.Union((p.scan(WORDS, 0), p.scan(WORDS, 1)))
    assert outline(both) == [
        "0 Source() depth 0",
        "1 Broadcast(0) depth 0",
        "2 ScanRows(1) depth 1",
        "3 ScanRows(1) depth 1",
        "4 Merge(2,3) depth 1",
        "5 Sink(4) depth 1",
    ]


def test_row_operators_become_maps() -> None:
    pages = p.scan(PAGES)
    long = logical.Filter(pages, p.gt(p.col(pages, "id"), p.lit(1)))
    tokens = logical.Unnest(long, p.col(long, "tokens"), "token", "place")
    quantity_text = logical.LateralAggregate(
        tokens,
        p.col(tokens, "tokens"),
        ordinality=False,
        predicate=None,
        keys=(),
        key_names=(),
        aggregates=(p.count(),),
        aggregate_names=("n",),
    )
    assert outline(p.project(quantity_text, n=p.col(quantity_text, "n"))) == [
        "0 Source() depth 0",
        "1 ScanRows(0) depth 1",
        "2 Select(1) depth 1",
        "3 Explode(2) depth 2",
        "4 ExplodeAggregate(3) depth 3",
        "5 Compute(4) depth 3",
        "6 Sink(5) depth 3",
    ]


def test_aggregate_becomes_a_drifting_state_cycle() -> None:
    words = p.scan(WORDS)
    assert outline(p.group(words, ["word"], n=p.count())) == [
        "0 Source() depth 0",
        "1 ScanRows(0) depth 1",
        "2 Merge(1,5) depth 1 cycle 0",
        "3 Grouping(2) depth 1 cycle 0",
        "4 CombineAggregate(3) depth 1 cycle 0",
        "5 Broadcast(4) depth 1 cycle 0",
        "6 Finish(5) depth 1 cycle 0",
        "7 Sink(6) depth 1",
    ]


def test_window_aggregate_turns_late_rows_off_before_its_cycle() -> None:
    windowed = p.hop(p.scan(BIDS), "at", 10 * p.SECOND)
    grouped = p.window_group(windowed, ["window_end"], n=p.count())
    assert outline(grouped) == [
        "0 Source() depth 0",
        "1 ScanRows(0) depth 1",
        "2 ToWindows(1) depth 2",
        "3 Broadcast(2) depth 2",
        "4 Late(3) depth 2",
        "5 LateSink(4) depth 2",
        "6 OnTime(3) depth 2",
        "7 Merge(6,10) depth 2 cycle 0",
        "8 Grouping(7) depth 2 cycle 0",
        "9 CombineAggregate(8) depth 1 cycle 0",
        "10 Broadcast(9) depth 1 cycle 0",
        "11 Finish(10) depth 1 cycle 0",
        "12 Sink(11) depth 1",
    ]
    grouping = lower(p.job(grouped)).vertices[8].operation
    assert isinstance(grouping, g.Grouping)
    closing = g.Closing(p.col(windowed, "window_end").index, p.SECOND, 1_000)
    assert grouping == g.Grouping((grouped.keys,), 2, closing)


def test_a_copy_over_another_scan_is_the_first_one_renumbered() -> None:
    copies = [
        p.window_group(
            p.hop(p.scan(BIDS, number), "at", 10 * p.SECOND), ["window_end"], n=p.count()
        )
        for number in (0, 1)
    ]
    assert outline(logical.Union(tuple(copies))) == [
        "0 Source() depth 0",
        "1 ScanRows(0) depth 1",
        "2 ToWindows(1) depth 2",
        "3 Broadcast(2) depth 2",
        "4 Late(3) depth 2",
        "5 Broadcast(4) depth 2",
        "6 LateSink(5) depth 2",
        "7 OnTime(3) depth 2",
        "8 Merge(7,11) depth 2 cycle 0",
        "9 Grouping(8) depth 2 cycle 0",
        "10 CombineAggregate(9) depth 1 cycle 0",
        "11 Broadcast(10) depth 1 cycle 0",
        "12 Finish(11) depth 1 cycle 0",
        "13 Broadcast(12) depth 1",
        "14 LateSink(5) depth 2",
        "15 Renumber(13) depth 1",
        "16 Merge(13,15) depth 1",
        "17 Sink(16) depth 1",
    ]
    other = p.window_group(p.hop(p.scan(BIDS, 1), "at", 9 * p.SECOND), ["window_end"], n=p.count())
    assert not any("Renumber" in line for line in outline(logical.Union((copies[0], other))))


def test_over_becomes_a_cycle_bucketed_by_the_partition() -> None:
    running = p.over(p.scan(WORDS), ["word"], n=p.count())
    graph = lower(p.job(running))
    assert [type(v.operation).__name__ for v in graph.vertices if v.cycle == 0] == [
        "Merge",
        "Grouping",
        "Map",
        "Broadcast",
        "Map",
    ]
    assert graph.vertices[3].operation is g.Grouping((running.partition,), 2, None)


def test_join_merges_both_sides_and_the_back_edge() -> None:
    words, pages = p.scan(WORDS, 0), p.scan(PAGES, 1)
    tokens = logical.Unnest(pages, p.col(pages, "tokens"), "token", None)
    joined = p.join(words, tokens, [("word", "token")])
    assert outline(joined) == [
        "0 Source() depth 0",
        "1 ScanRows(0) depth 1",
        "2 Source() depth 0",
        "3 ScanRows(2) depth 1",
        "4 Explode(3) depth 2",
        "5 Side(1) depth 1",
        "6 Side(4) depth 2",
        "7 Merge(5,6,10) depth 2 cycle 0",
        "8 Grouping(7) depth 2 cycle 0",
        "9 CombineJoin(8) depth 3 cycle 0",
        "10 Broadcast(9) depth 3 cycle 0",
        "11 Finish(10) depth 3 cycle 0",
        "12 Sink(11) depth 3",
    ]
    combine = lower(p.job(joined)).vertices[9].operation
    assert combine is g.Map(
        g.CombineJoin(
            joined.left_keys, joined.right_keys, 2, 3, 1, 2, None, 0, 1_000, input_append_only=True
        )
    )


def test_union_pads_the_shallower_branches() -> None:
    words, pages = p.scan(WORDS, 0), p.scan(PAGES, 1)
    tokens = logical.Unnest(pages, p.col(pages, "tokens"), "word", "n")
    words_too = p.project(tokens, word=p.col(tokens, "word"), n=p.col(tokens, "n"))
    assert outline(logical.Union((words, words_too)))[-4:] == [
        "5 Compute(4) depth 2",
        "6 Pad(1) depth 2",
        "7 Merge(6,5) depth 2",
        "8 Sink(7) depth 2",
    ]


def test_equal_branches_of_a_union_are_told_apart() -> None:
    words = p.scan(WORDS)
    assert outline(logical.Union((words, words))) == [
        "0 Source() depth 0",
        "1 ScanRows(0) depth 1",
        "2 Broadcast(1) depth 1",
        "3 Pad(2) depth 1",
        "4 Merge(2,3) depth 1",
        "5 Sink(4) depth 1",
    ]


def test_equal_subplans_of_two_inserts_are_lowered_once() -> None:
    counts = p.group(p.scan(WORDS), ["word"], n=p.count())
    frequent = logical.Filter(counts, p.gt(p.col(counts, "n"), p.lit(10)))
    assert outline(counts, frequent)[6:] == [
        "6 Finish(5) depth 1 cycle 0",
        "7 Broadcast(6) depth 1",
        "8 Sink(7) depth 1",
        "9 Select(7) depth 1",
        "10 Sink(9) depth 1",
    ]


@pytest.mark.parametrize(
    ("index", "changes", "complaint"),
    [
        (3, {"inputs": (4,)}, "vertex 3 reads vertex 4, which is not before it"),
        (4, {"depth": 2}, "vertex 4 has depth 2, its rows have [1]"),
        (4, {"schema": ()}, "vertex 4 has other columns than its rows"),
        (2, {"inputs": (1, 4)}, "cycle 0 has no back edge"),
        (5, {"operation": g.Merge()}, "vertex 5 has 1 inputs"),
        (
            3,
            {"operation": g.Grouping(((),), 2, None)},
            "cycle 0 groups by other keys than it combines",
        ),
        (0, {"operation": g.Broadcast()}, "vertex 0 has 0 inputs"),
    ],
)
def test_the_verifier_names_what_is_wrong(
    index: int, changes: dict[str, Any], complaint: str
) -> None:
    graph = lower(p.job(p.group(p.scan(WORDS), ["word"], n=p.count())))
    vertices = list(graph.vertices)
    vertices[index] = dataclasses.replace(vertices[index], **changes)
    with pytest.raises(AssertionError) as raised:
        verify_graph(g.Graph(tuple(vertices)))
    assert complaint in str(raised.value).splitlines()


def test_the_verifier_looks_into_expressions() -> None:
    words = p.scan(WORDS)
    wrong = logical.Filter(words, p.gt(p.lit(1), p.col(words, "n")))
    graph = lower(p.job(wrong))
    vertices = list(graph.vertices)
    beyond = p.col(p.hop(p.scan(BIDS), "at", p.SECOND), "window_time")
    vertices[2] = dataclasses.replace(vertices[2], operation=g.Map(g.Select(p.gt(beyond, beyond))))
    with pytest.raises(AssertionError, match="vertex 2 refers to column 4 as TIMESTAMP"):
        verify_graph(g.Graph(tuple(vertices)))
