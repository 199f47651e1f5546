"""The driver: what it promises of any rules.

Catches a driver that stops early, goes on forever, recurses, forgets what it did, or tears apart what is
shared.  What real rules do is in tests/cases/rules, and that they change nothing in tests/property.
"""

from __future__ import annotations

from typing import Any

import pytest

from fsql.compiler import logical
from fsql.compiler.expression import Call, Expression, Literal
from fsql.compiler.node import Node, walk
from fsql.compiler.rules.driver import Firing, Pass, Rule, RuleLoopError, rewrite, run_passes
from fsql.compiler.sqltypes import BIGINT, BOOLEAN, STRING
from fsql.tests.unit.model import plans as p

WORDS = p.scan(p.table("words", {"word": STRING, "n": BIGINT}))


def keep(plan: logical.Plan, low: int) -> logical.Filter:
    return logical.Filter(plan, p.gt(p.col(plan, "n"), p.lit(low)))


def countdown(node: Literal) -> Node | None:
    """n → n - 1, down to 0."""
    if node.type != BIGINT or not isinstance(node.value, int) or node.value == 0:
        return None
    return p.lit(node.value - 1)


def count_up(node: Literal) -> Node:
    assert isinstance(node.value, int)
    return p.lit(node.value + 1)


def merge(node: logical.Filter) -> Node | None:
    """Filter(Filter(x)) → Filter(x)."""
    below = node.input
    return (
        logical.Filter(below.input, node.predicate) if isinstance(below, logical.Filter) else None
    )


COUNTDOWN = Rule("countdown", Literal, countdown)
MERGE = Rule("merge", logical.Filter, merge, opens_inputs=True)


def test_rules_apply_until_none_does() -> None:
    assert rewrite(keep(WORDS, 3), [COUNTDOWN]) is keep(WORDS, 0)


def test_what_nothing_applies_to_stays_itself() -> None:
    plan = keep(WORDS, 0)
    assert rewrite(plan, [COUNTDOWN, MERGE]) is plan


def test_inputs_are_at_rest_before_their_readers() -> None:
    seen: list[Node] = []

    def look(node: Node) -> None:
        seen.append(node)

    top = keep(keep(WORDS, 1), 1)
    rewrite(top, [Rule("look", Node, look), COUNTDOWN])
    assert seen.index(keep(WORDS, 0)) < seen.index(keep(keep(WORDS, 0), 0))


def test_what_a_rule_returns_is_brought_to_rest() -> None:
    def grow(node: logical.Scan) -> Node | None:
        return keep(logical.Scan(node.table, 1), 2) if node.scan_number == 0 else None

    rules: list[Rule[Any]] = [Rule("grow", logical.Scan, grow), COUNTDOWN]
    grown = keep(p.scan(WORDS.table, 1), 0)
    assert rewrite(keep(WORDS, 1), rules) is keep(grown, 0)


def test_the_first_rule_that_applies_is_taken() -> None:
    other = Rule("other", Literal, lambda node: p.lit(7) if node.value == 1 else None)
    ends = Rule("ends", Literal, lambda node: p.lit(0) if node.value == 1 else None)
    assert rewrite(p.lit(1), [ends, other]) is p.lit(0)
    assert rewrite(p.lit(1), [other]) is p.lit(7)


def test_trace_has_each_firing() -> None:
    trace: list[Firing] = []
    rewrite(p.lit(2), [COUNTDOWN], trace=trace)
    assert trace == [
        Firing("countdown", p.lit(2), p.lit(1)),
        Firing("countdown", p.lit(1), p.lit(0)),
    ]


def test_rules_that_do_not_come_to_rest_are_named_with_their_firings() -> None:
    up = Rule("up", Literal, count_up)
    with pytest.raises(RuleLoopError, match="more than 100 times; firings: up 101"):
        rewrite(p.lit(0), [up], firings_max=100)


def test_rules_that_go_in_a_circle_are_named() -> None:
    there = Rule("there", Literal, lambda node: p.lit(1) if node.value == 0 else None)
    back = Rule("back", Literal, lambda node: p.lit(0) if node.value == 1 else None)
    with pytest.raises(RuleLoopError, match="in a circle; firings: there 1, back 1"):
        rewrite(p.lit(0), [there, back])


def test_what_contains_itself_is_a_circle() -> None:
    wrap = Rule("wrap", logical.Scan, lambda node: keep(node, 1))
    with pytest.raises(RuleLoopError, match="in a circle; firings: wrap 1"):
        rewrite(WORDS, [wrap])


def test_a_shared_subplan_is_rewritten_once_and_stays_shared() -> None:
    shared = keep(WORDS, 2)
    job = p.job(shared, keep(shared, 1))
    trace: list[Firing] = []
    first, second = rewrite(job, [COUNTDOWN], trace=trace).inserts
    assert second.query.inputs == (first.query,)
    assert len(trace) == 2  # 2 → 1 → 0; the other filter's 1 is the same node


def test_a_rule_does_not_open_what_another_reads() -> None:
    shared = keep(WORDS, 0)
    job = p.job(shared, keep(shared, 1))
    assert rewrite(job, [MERGE]) is job
    assert rewrite(p.job(keep(shared, 1)), [MERGE]) is p.job(keep(WORDS, 1))


def test_what_several_read_is_not_opened_after_it_was_rewritten_either() -> None:
    shared = keep(WORDS, 2)
    after = rewrite(p.job(shared, keep(shared, 1)), [COUNTDOWN, MERGE])
    assert after is p.job(keep(WORDS, 0), keep(keep(WORDS, 0), 0))


@pytest.mark.slow
def test_depth_is_no_limit() -> None:
    deep: Expression = p.gt(p.col(WORDS, "n"), p.lit(3))
    for _ in range(20_000):
        deep = p.call("and", BOOLEAN, deep, p.gt(p.col(WORDS, "n"), p.lit(0)))
    result = rewrite(deep, [COUNTDOWN])
    assert isinstance(result, Call)
    assert all(node.value == 0 for node in walk(result) if isinstance(node, Literal))


PASSES = (Pass("down", (COUNTDOWN,)), Pass("join", (MERGE,)))


def test_passes_follow_each_other_and_are_verified() -> None:
    verified: list[logical.Job] = []
    job = p.job(keep(keep(WORDS, 1), 2))
    after = run_passes(job, PASSES, verify=verified.append)
    assert after is p.job(keep(WORDS, 0))
    assert verified == [p.job(keep(keep(WORDS, 0), 0)), after]


@pytest.mark.parametrize("name", ["down", "countdown"])
def test_passes_and_rules_can_be_disabled(name: str) -> None:
    job = p.job(keep(keep(WORDS, 1), 2))
    assert run_passes(job, PASSES, disabled=frozenset({name})) is p.job(keep(WORDS, 2))


def test_disabling_what_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="no rule or pass is called up, upside-down"):
        run_passes(p.job(WORDS), PASSES, disabled=frozenset({"upside-down", "up", "down"}))


def test_a_failing_verification_names_the_pass() -> None:
    def refuse(_: logical.Job) -> None:
        raise AssertionError("illegal")

    with pytest.raises(AssertionError) as raised:
        run_passes(p.job(WORDS), PASSES, verify=refuse)
    assert raised.value.__notes__ == ["in pass down"]
