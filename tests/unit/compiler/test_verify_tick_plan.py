"""Each rule of `verify_tick_plan` finds a plan that breaks it, and says so in words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from fsql.compiler.lowering import lower
from fsql.compiler.pipeline import apply_rules, compile_script
from fsql.compiler.text.source import SourceText
from fsql.compiler.tick_plan import FoldHead, Send, ToFold, ToSink
from fsql.compiler.verify.tick_plan import verify_tick_plan
from fsql.connectors.declared import DECLARED
from fsql.optimizer.choose import choose

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.compiler.tick_plan import Stage, TickPlan

SCRIPT = """
CREATE TABLE t (k BIGINT, v DOUBLE) WITH ('connector' = 'file', 'path' = 't');
CREATE TABLE u (k BIGINT, s STRING) WITH ('connector' = 'file', 'path' = 'u');
SELECT t.k, COUNT(*) AS n FROM t JOIN u ON t.k = u.k GROUP BY t.k;
"""


def plan() -> TickPlan:
    script = compile_script(SourceText("test.sql", SCRIPT), DECLARED)
    return choose(lower(apply_rules(script.logical)), workers=2)


def with_stage(plan: TickPlan, number: int, **changes: object) -> TickPlan:
    stages = list(plan.stages)
    stages[number] = replace(stages[number], **changes)  # type: ignore[arg-type]
    return replace(plan, stages=tuple(stages))


def first_send(stage: Stage) -> Send:
    return stage.sends[0]


def test_a_plan_of_the_optimizer_is_legal() -> None:
    verify_tick_plan(plan())


def _later_step(p: TickPlan) -> TickPlan:
    steps = p.stages[0].steps
    return with_stage(p, 0, steps=(replace(steps[0], input=7), *steps[1:]))


def _no_step(p: TickPlan) -> TickPlan:
    return with_stage(p, 0, sends=(replace(first_send(p.stages[0]), step=9),))


def _backwards(p: TickPlan) -> TickPlan:
    last = len(p.stages) - 1
    return with_stage(p, last, sends=(Send(first_send(p.stages[last]).step, ToFold(0, 0, ())),))


def _unsupplied(p: TickPlan) -> TickPlan:
    return with_stage(p, 0, sends=())


def _other_columns(p: TickPlan) -> TickPlan:
    return with_stage(p, 0, sends=(*p.stages[0].sends, Send(-1, ToSink(0))))


def _same_operator(p: TickPlan) -> TickPlan:
    numbers = [n for n, stage in enumerate(p.stages) if isinstance(stage.head, FoldHead)]
    head = p.stages[numbers[1]].head
    assert isinstance(head, FoldHead)
    first = p.stages[numbers[0]].head
    assert isinstance(first, FoldHead)
    return with_stage(p, numbers[1], head=replace(head, operator=first.operator))


@pytest.mark.parametrize(
    ("spoil", "violation"),
    [
        (_later_step, "stage 0: step 0 reads step 7, which is not before it"),
        (_no_step, "stage 0: step 9 is sent, and does not exist"),
        (_backwards, "is not a port of a later stage"),
        (_unsupplied, "nothing is sent to side 0 of its fold"),
        (_other_columns, "stage 0: sink 0 is sent other columns than its own"),
        (_same_operator, "2 folds have the operator id "),
    ],
)
def test_a_violation_is_found(spoil: Callable[[TickPlan], TickPlan], violation: str) -> None:
    with pytest.raises(AssertionError, match="illegal tick plan") as raised:
        verify_tick_plan(spoil(plan()))
    assert violation in str(raised.value)
