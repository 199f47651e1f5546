"""The policies of folds: loads that jump, alternate and drift, and what keeps a fold ordered."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from fsql.compiler.plan_choices import NO_CHOICES, PlanChoices, with_choices
from fsql.compiler.tick_plan import FoldHead, Policy
from fsql.optimizer.choose_tick import Situation, choose_tick
from fsql.optimizer.statistics import Cost, Disorder, Statistics
from fsql.tests.unit.optimizer.jobs import plan_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsql.compiler.tick_plan import TickPlan

ORDERED, SPECULATIVE = Policy.ORDERED, Policy.SPECULATIVE
TABLES = """
CREATE TABLE lines (line STRING, n BIGINT) WITH ('connector' = 'stdin', 'format' = 'csv');
CREATE TABLE counts (line STRING, n BIGINT) WITH ('connector' = 'stdout');
"""
SCRIPT = TABLES + "INSERT INTO counts SELECT line, COUNT(*) AS n FROM lines GROUP BY line;"
TWO_FOLDS = (
    TABLES + "INSERT INTO counts SELECT MAX(line), m FROM (SELECT line, COUNT(*) AS m"
    " FROM lines GROUP BY line) AS c GROUP BY m;"
)
SECONDS_A_ROW = 1e-5


class Order(NamedTuple):
    """Rows and batches in an interval, per second, and how many rows a speculative fold applies again."""

    rows: float = 1000.0
    redone: float = 0.0
    batches: float = 100.0
    disordered: float = 0.0
    advances: float = 95.0
    wait: float = 0.004


CALM = Order()
STORM = Order(redone=20_000.0, disordered=80.0, advances=40.0, wait=0.05)


def heads(plan: TickPlan) -> list[FoldHead]:
    return [stage.head for stage in plan.stages if isinstance(stage.head, FoldHead)]


def with_policy(plan: TickPlan, *policies: Policy) -> TickPlan:
    names = [head.operator for head in heads(plan)]
    return with_choices(plan, PlanChoices(tuple(zip(names, policies, strict=True))))


def interval(number: int, head: FoldHead, order: Order) -> Disorder:
    """Return what is measured of a fold in an interval, by its policy."""
    waits = head.policy is ORDERED
    return Disorder(
        number,
        head.operator,
        head.policy.value,
        applied=order.rows,
        redone=0.0 if waits else order.redone,
        held=order.rows if waits else 0.0,
        would_redo=order.redone if waits else 0.0,
        batches=order.batches,
        disordered=order.disordered,
        advances=order.advances,
        waiting=order.rows * order.wait if waits else 0.0,
    )


def measured(plan: TickPlan, orders: list[Order], rows: list[Disorder] | None = None) -> Statistics:
    """Return statistics of all folds of a plan: of some intervals, or rows that are known."""
    found = [
        interval(number, head, order)
        for number, order in enumerate(orders, 1)
        for head in heads(plan)
    ]
    last = orders[-1]
    costs = []
    for head in heads(plan):
        busy = (last.rows + (head.policy is SPECULATIVE) * last.redone) * SECONDS_A_ROW
        costs.append(Cost(head.operator, last.rows, last.batches, busy, SECONDS_A_ROW, None, 1.0))
    return Statistics(costs=tuple(costs), disorder=tuple(found if rows is None else rows))


def follow(order_at: Callable[[int], Order], intervals: int) -> list[tuple[int, Policy]]:
    """Follow a load from a fold that is speculative; return when it got which policy."""
    plan = with_policy(plan_of(SCRIPT), SPECULATIVE)
    rows: list[Disorder] = []
    since, ticks = 0, list[tuple[int, Policy]]()
    for number in range(1, intervals + 1):
        [head] = heads(plan)
        rows.append(interval(number, head, order_at(number)))
        ages = tuple(number - at for at, _ in ticks)
        choice = choose_tick(
            Situation(plan, since, ages), measured(plan, [order_at(number)], rows[-12:])
        )
        if choice.choices != NO_CHOICES:
            [(_, policy)] = choice.choices.policies
            plan = with_policy(plan, policy)
            ticks.append((number, policy))
            since = number
    return ticks


def reason_of(situation: Situation, statistics: Statistics, fold: int = 0) -> str:
    """Return what is chosen for the policy of a fold, without its operator."""
    choice = choose_tick(situation, statistics)
    operator = heads(situation.plan)[fold].operator
    [found] = [each for each in choice.lines if each.startswith(f"{operator}: ")]
    changes = operator in dict(choice.choices.policies)
    assert changes == (" stays" not in found)
    return found.removeprefix(f"{operator}: ")


def test_a_fold_waits_during_a_storm_and_not_after_it() -> None:
    assert follow(lambda at: STORM if at <= 20 else CALM, 60) == [(1, ORDERED), (24, SPECULATIVE)]


def test_a_storm_after_a_long_calm_makes_a_fold_wait_at_once() -> None:
    def order(at: int) -> Order:
        return STORM if at <= 3 or at > 100 else CALM

    assert follow(order, 130) == [(1, ORDERED), (7, SPECULATIVE), (101, ORDERED)]


@pytest.mark.parametrize("period", [1, 2, 3, 5, 10, 30])
def test_order_that_alternates_causes_few_ticks(period: int) -> None:
    ticks = follow(lambda at: CALM if at // period % 2 else STORM, 240)
    assert ticks[0][1] is ORDERED
    numbers = [number for number, _ in ticks]
    assert all(numbers[at + 5] - numbers[at] >= 60 for at in range(len(numbers) - 5)), ticks


def test_order_that_drifts_between_the_limits_changes_nothing() -> None:
    """Between 1 and 5 % of a core either policy stays, whichever it is."""

    def order(at: int) -> Order:
        return CALM._replace(redone=1000.0 + 2500.0 * abs(at % 40 - 20) / 20)

    assert follow(order, 160) == []
    ordered = with_policy(plan_of(SCRIPT), ORDERED)
    for first in range(40):
        statistics = measured(ordered, [order(first + at) for at in range(6)])
        assert choose_tick(Situation(ordered), statistics).choices == NO_CHOICES


def test_order_that_drifts_far_is_followed() -> None:
    def order(at: int) -> Order:
        return CALM._replace(redone=max(0.0, 8000.0 - 100.0 * abs(at - 80)))

    ticks = follow(order, 200)
    assert [policy for _, policy in ticks] == [ORDERED, SPECULATIVE]
    (first, _), (second, _) = ticks
    assert 8000 - 100 * abs(first - 80) == pytest.approx(5000, abs=300)
    assert 8000 - 100 * abs(second - 80) < 1000


def test_reasons_have_numbers() -> None:
    ordered = with_policy(plan_of(SCRIPT), ORDERED)
    speculative = with_policy(plan_of(SCRIPT), SPECULATIVE)
    assert reason_of(Situation(ordered), measured(ordered, [CALM] * 3)) == (
        "speculative, was ordered; rows wait for 4 ms; without, 0.0% of them would be applied again, for"
        " 0.1% of a core; batches come 6 s earlier in 30 s, for 0.018 s"
    )
    assert reason_of(Situation(ordered), measured(ordered, [CALM, STORM])) == (
        "stays ordered; rows wait for 27 ms; without, 1000.0% of them would be applied again, for 22.0% of a"
        " core"
    )
    assert reason_of(Situation(speculative), measured(speculative, [CALM] * 3)) == (
        "stays speculative; 0.0% of the rows are applied again, for 0.0% of a core"
    )
    assert reason_of(Situation(speculative), measured(speculative, [STORM] * 3)) == (
        "ordered, was speculative; 2000.0% of the rows are applied again, for 20.0% of a core; batches that"
        " come out of order take 0.6%"
    )


def test_repairs_in_one_of_the_last_intervals_keep_a_fold_ordered() -> None:
    plan = with_policy(plan_of(SCRIPT), ORDERED)
    for orders in ([CALM, STORM, CALM], [CALM, CALM, STORM]):
        assert choose_tick(Situation(plan), measured(plan, orders)).choices == NO_CHOICES
    assert choose_tick(Situation(plan), measured(plan, [STORM, CALM, CALM])).is_change


def test_batches_that_come_apart_are_a_cost_although_no_key_is_repaired() -> None:
    """Several splits with keys of their own: nothing is redone, but hundreds of batches are applied alone."""
    plan = with_policy(plan_of(SCRIPT), ORDERED)
    for order in (
        CALM._replace(rows=20_000.0, batches=800.0, disordered=600.0, advances=200.0),
        CALM._replace(rows=20_000.0, batches=800.0, disordered=0.0, advances=200.0),
        CALM._replace(rows=20_000.0, batches=800.0, disordered=600.0, advances=790.0),
    ):
        assert reason_of(Situation(plan), measured(plan, [order] * 2)).startswith("stays ordered;")
    then = with_policy(plan, SPECULATIVE)
    apart = CALM._replace(rows=20_000.0, batches=800.0, disordered=600.0, advances=200.0)
    assert reason_of(Situation(then), measured(then, [apart] * 2)) == (
        "ordered, was speculative; 0.0% of the rows are applied again, for 0.0% of a core; batches that come"
        " out of order take 15.0%"
    )
    in_order = apart._replace(disordered=0.0)
    assert choose_tick(Situation(then), measured(then, [in_order] * 2)).choices == NO_CHOICES


def test_a_fold_whose_rows_hardly_wait_stays_ordered() -> None:
    """With all nodes in one process min time passes rows in the step in which they come."""
    plan = with_policy(plan_of(SCRIPT), ORDERED)
    order = CALM._replace(wait=1e-6)
    assert reason_of(Situation(plan), measured(plan, [order] * 3)).endswith(
        "; batches come 0.003 s earlier in 30 s, for 0.018 s"
    )
    assert choose_tick(Situation(plan), measured(plan, [order] * 3)).choices == NO_CHOICES


def test_what_is_not_measured_is_no_estimate() -> None:
    plan = with_policy(plan_of(SCRIPT), ORDERED)
    known = measured(plan, [CALM] * 3)
    one = "stays ordered; no estimate of repairs, 1 of 2 intervals since the last tick are measured"
    assert reason_of(Situation(plan), measured(plan, [CALM])) == one
    assert reason_of(Situation(plan, since=2), known) == one
    later = (
        "stays ordered; no estimate of repairs, 3 of 4 intervals since the last tick are measured"
    )
    assert reason_of(Situation(plan, ages=(3,)), known) == later
    nothing = "stays ordered; no estimate of repairs, no rows waited"
    assert reason_of(Situation(plan), known._replace(costs=())) == nothing
    assert reason_of(Situation(plan), measured(plan, [CALM._replace(rows=0.0)] * 3)) == nothing
    then = with_policy(plan, SPECULATIVE)
    assert reason_of(Situation(then), known) == "stays speculative; no estimate of repairs"


def test_a_policy_that_was_requested_stays() -> None:
    for policy in Policy:
        plan = with_policy(plan_of(SCRIPT), policy)
        order = CALM if policy is ORDERED else STORM
        situation = Situation(plan, chooses_policies=False)
        stays = f"stays {policy.value}, as requested"
        assert reason_of(situation, measured(plan, [order] * 3)) == stays


def test_a_fold_does_not_return_before_the_one_before_it() -> None:
    plan = with_policy(plan_of(TWO_FOLDS), ORDERED, ORDERED)
    first, second = heads(plan)
    known = measured(plan, [CALM] * 3)
    assert dict(choose_tick(Situation(plan), known).choices.policies) == {
        first.operator: SPECULATIVE
    }
    waits = f"stays ordered; {first.operator} before it is ordered"
    assert reason_of(Situation(plan), known, 1) == waits
    then = with_policy(plan, SPECULATIVE, ORDERED)
    assert dict(choose_tick(Situation(then), measured(then, [CALM] * 3)).choices.policies) == {
        second.operator: SPECULATIVE
    }


def test_folds_behind_rebalanced_rows_stay_ordered_until_that_ends() -> None:
    plan = with_policy(plan_of(SCRIPT, 2), ORDERED)
    rebalanced = with_choices(plan, PlanChoices(rebalanced=(("lines", 50),)))
    known = measured(plan, [CALM] * 3)
    stays = "stays ordered; rows of lines are rebalanced"
    assert reason_of(Situation(rebalanced), known) == stays
    ended = with_choices(rebalanced, PlanChoices(rebalanced=(("lines", 0),)))
    assert reason_of(Situation(ended), known).startswith("speculative, was ordered;")


def test_folds_with_timers_stay_ordered() -> None:
    plan = plan_of(
        """
        CREATE TABLE t (k STRING, x BIGINT, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '5' SECOND)
        WITH ('connector' = 'stdin', 'format' = 'csv');
        CREATE TABLE o (n BIGINT) WITH ('connector' = 'stdout');
        INSERT INTO o SELECT n FROM t MATCH_RECOGNIZE (
          PARTITION BY k ORDER BY at MEASURES COUNT(*) AS n PATTERN (A B*) WITHIN INTERVAL '1' MINUTE
          DEFINE A AS A.x > 10, B AS B.x > 5
        ) AS m;
        """
    )
    index = len(heads(plan)) - 1
    assert heads(plan)[index].policy is ORDERED
    assert reason_of(Situation(plan), measured(plan, [CALM] * 3), index) == (
        "stays ordered; timers follow later rows"
    )
