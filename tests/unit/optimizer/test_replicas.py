"""Which joins are replicated, by the sizes of their sides, and the reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsql.compiler.explain.tick import tick_text
from fsql.compiler.plan_choices import PlanChoices, fault_of_choices, with_choices
from fsql.job.compilation import compile_job
from fsql.job.script_file import script_of_text
from fsql.optimizer.choose import choose
from fsql.optimizer.profile import Profile, SideRows, SplitRows
from fsql.optimizer.replicas import (
    REPLICA_BYTES_MAX,
    JoinSizes,
    choose_replicas,
    sizes_of_profile,
    sizes_of_statistics,
)
from fsql.optimizer.statistics import FoldLoad, FrontLoad, Load, Statistics

if TYPE_CHECKING:
    from fsql.compiler.tick_plan import TickPlan

SCRIPT = """
CREATE TABLE m (id BIGINT, x BIGINT) WITH ('connector' = 'file', 'path' = 'm');
CREATE TABLE s (id BIGINT, name STRING) WITH (
    'connector' = 'file', 'path' = 's.jsonl', 'time' = 'start');
SELECT {hint} m.x, s.name FROM m JOIN LATERAL SNAPSHOT(input => TABLE s) AS s ON {on};
"""


def plan_of(on: str, hint: str = "", workers: int = 4) -> tuple[TickPlan, str]:
    """Return the plan of a join, and its operator."""
    text = SCRIPT.format(on=on, hint=hint)
    plan = choose(compile_job(script_of_text(text, {})).graph, workers=workers)
    [operator] = plan.exchanges.values()
    return plan, operator


@pytest.mark.parametrize(
    ("on", "hint", "reason"),
    [
        ("m.x > s.id", "", "on all workers, without equal keys all rows would go to one worker"),
        ("m.id = s.id", "/*+ BROADCAST('s') */", "on all workers, as the hint says"),
        ("m.id = s.id", "/*+ FORWARD(m) */", "on all workers, as the hint says"),
    ],
)
def test_joins_are_replicated_from_the_start(on: str, hint: str, reason: str) -> None:
    plan, operator = plan_of(on, hint)
    assert plan.replicated == {operator}
    sent = [line.partition("→ ")[2] for line in tick_text(plan).splitlines() if " → stage" in line]
    assert sent == ["stage 2, left, not exchanged", "stage 2, right, to all workers"]
    assert f"replicas of {operator}: {reason}" in map(str, plan.reasons)


def test_hints_are_no_part_of_the_state() -> None:
    plan, operator = plan_of("m.id = s.id")
    assert plan.replicated == frozenset()
    assert plan_of("m.id = s.id", "/*+ BROADCAST('s') */")[1] == operator


@pytest.mark.parametrize(
    ("sizes", "text", "changes"),
    [
        (
            JoinSizes(1_000_000, 1_000, 1_000, 4),
            (
                "on all workers; by key, 750,750 bytes are sent, with replicas 3,000;"
                " the side has 1,000 bytes"
            ),
            True,
        ),
        (
            JoinSizes(1_000_000, 1_000, 1_000, 2),
            (
                "none; by key, 750,750 bytes are sent, with replicas 3,000; the side has 1,000 bytes,"
                " and the main rows are in 2 splits for 4 workers"
            ),
            False,
        ),
        (
            JoinSizes(1_000_000, 200_000, 1_000, None),
            "none; by key, 900,000 bytes are sent, with replicas 600,000; the side has 1,000 bytes",
            False,
        ),
        (
            JoinSizes(1e12, 1_000, REPLICA_BYTES_MAX + 1, None),
            (
                "none; by key, 750,000,000,750 bytes are sent, with replicas 3,000;"
                " the side has 67,108,865 bytes, and replicas may have 67,108,864"
            ),
            False,
        ),
    ],
)
def test_replicas_have_to_send_fewer_bytes(sizes: JoinSizes, text: str, *, changes: bool) -> None:
    plan, operator = plan_of("m.id = s.id")
    chosen, [reason] = choose_replicas(plan, {operator: sizes})
    assert (str(reason), reason.changes) == (f"replicas of {operator}: {text}", changes)
    assert chosen == (((operator, True),) if changes else ())


def test_replicas_that_cost_more_are_given_up() -> None:
    plan, operator = plan_of("m.id = s.id")
    copied = with_choices(plan, PlanChoices(replicated=((operator, True),)))
    assert choose_replicas(copied, {operator: JoinSizes(100, 1_000, 9, 4)})[0] == (
        (operator, False),
    )
    near = choose_replicas(copied, {operator: JoinSizes(3_000, 1_000, 9, 4)})
    assert near[0] == ()
    waits = choose_replicas(copied, {}, waits="no estimate yet")
    assert [str(each) for each in waits[1]] == [
        f"replicas of {operator}: on all workers, stays; no estimate yet"
    ]


def test_sizes_come_from_profiles_and_measurements() -> None:
    plan, operator = plan_of("m.id = s.id")
    profile = Profile(
        sides=(SideRows(operator, 0, 500, 9), SideRows(operator, 1, 10, 9)),
        splits=(
            *(SplitRows("m", split, 500, 10_000, 0.1) for split in range(2)),
            SplitRows("s", 0, 10, 300, 0.1),
        ),
    )
    assert sizes_of_profile(plan, profile) == {operator: JoinSizes(10_000, 300, 300, 2)}
    measured = Statistics(
        loads=(
            *(Load(operator, 0, number, 1.0, 0.0, 50.0) for number in range(2)),
            Load(operator, 1, 0, 1.0, 0.0, 7.0),
        ),
        folds=(FoldLoad(operator, "ordered", None, None, 5, 800, 0.0),),
        fronts=tuple(FrontLoad("m", split, 1.0, 1.0, 0.0, None, 0.0) for split in range(3)),
    )
    assert sizes_of_statistics(plan, measured) == {operator: JoinSizes(100, 7, 800, 3)}
    copied = with_choices(plan, PlanChoices(replicated=((operator, True),)))
    assert sizes_of_statistics(copied, measured) == {operator: JoinSizes(100, 7, 200, 3)}


def test_only_joins_of_rows_that_are_not_kept_can_be_replicated() -> None:
    plan, operator = plan_of("m.id = s.id")
    twice = PlanChoices(replicated=((operator, True), (operator, False)))
    assert fault_of_choices(plan, twice) == "a fold is replicated twice"
    regular = compile_job(
        script_of_text(
            SCRIPT.split("SELECT", 1)[0] + "SELECT m.x FROM m JOIN s ON m.id = s.id;", {}
        )
    )
    plan = choose(regular.graph)
    [operator] = plan.exchanges.values()
    of_regular = PlanChoices(replicated=((operator, True),))
    assert fault_of_choices(plan, of_regular) == f"the fold {operator} cannot be replicated"
