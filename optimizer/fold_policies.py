"""Chooses the policy of each fold for the next tick, with reasons.

A SPECULATIVE fold applies rows as they come, so results need not wait for min time, which takes a way over
the coordinator.  For that it applies rows again when earlier ones come, and each batch that comes out of
order by itself.  An ORDERED fold takes less time, and its rows wait.

A fold becomes ORDERED if repairs, and batches that come out of order, take more than `REPAIRS_MAX` of a core.

It becomes SPECULATIVE again if, in each of the last intervals, this would have taken less than `RETURN_MAX`
of a core, and what batches wait, up to `ROUND_SECONDS` each, is more than `GAIN_MIN` times that and the cost
of the tick.  An ordered fold can measure this: the rows that wait are those that would have been applied and
could be undone (`fsql.runtime.dataflow.disorder`).  Here every batch counts that came before min time had
passed the one before, also in order: they are applied together now.

So loads between the two limits keep either policy.  A fold does not return while an earlier one waits, which
then would change the order of its rows, nor behind a table that is rebalanced.  The number of intervals is
twice as great after each tick that the optimizer has proposed, as for owners: a load that alternates has few
ticks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.graph import CombineOver
from fsql.compiler.plan_choices import folds_behind
from fsql.compiler.reasons import Reason
from fsql.compiler.tick_plan import FoldHead, Policy, SourceHead, ToFold
from fsql.optimizer.owner_choice import GAIN_MIN, HORIZON, intervals_needed, reason_to_wait
from fsql.optimizer.replay import INTERVALS_MIN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.graph import Combine
    from fsql.compiler.tick_plan import TickPlan
    from fsql.optimizer.choose_tick import Situation
    from fsql.optimizer.rebalancing import Rebalancing
    from fsql.optimizer.statistics import Disorder, Statistics

REPAIRS_MAX: Final = 0.05
RETURN_MAX: Final = 0.01
"""Fractions of a core that the disorder of one fold may take."""
APPLICATION_SECONDS: Final = 0.5e-3
"""The most that it takes to apply a batch by itself, without the work for its rows."""
ROUND_SECONDS: Final = 2e-3
"""The time in which min time passes rows after it might: a promise to the coordinator, and an update back.

What rows wait beyond that is for other rows to come, and does not end if the fold does not wait for them.
"""


def has_timers(combine: Combine) -> bool:
    """Return whether the rows of a fold include timers, which wait in another fold until they are due."""
    return isinstance(combine, CombineOver) and any(
        call.aggregate.pattern is not None for call in combine.calls
    )


def choose_policies(
    situation: Situation, statistics: Statistics, rebalancing: Rebalancing
) -> tuple[tuple[tuple[str, Policy], ...], list[Reason]]:
    """Return the changed policies, and a reason for each fold.

    The rebalancing of the tick changes the order of rows, and the policies of some folds.
    """
    chosen, reasons = [], []
    plan, behind = situation.plan, dict(rebalancing.policies)
    for number, stage in enumerate(plan.stages):
        head = stage.head
        if not isinstance(head, FoldHead):
            continue
        policy, reason = head.policy, "as requested"
        if situation.chooses_policies:
            if head.operator in behind:
                policy, reason = behind[head.operator], "rows before it are rebalanced"
            elif head.policy is Policy.SPECULATIVE:
                policy, reason = _while_speculative(situation, statistics, head)
            else:
                reason = _reason_to_wait(plan, number, rebalances=bool(rebalancing.tables))
                if not reason:
                    policy, reason = _while_ordered(situation, statistics, head)
        if policy is head.policy:
            separator = ", " if not situation.chooses_policies else "; "
            reasons.append(Reason(head.operator, f"stays {head.policy.value}{separator}{reason}"))
        else:
            chosen.append((head.operator, policy))
            text = f"{policy.value}, was {head.policy.value}; {reason}"
            reasons.append(Reason(head.operator, text, changes=True))
    return tuple(chosen), reasons


def _while_speculative(
    situation: Situation, statistics: Statistics, head: FoldHead
) -> tuple[Policy, str]:
    """Return the policy of a fold that is speculative, and why."""
    last = _intervals(situation, statistics, head)[-INTERVALS_MIN:]
    busy = _busy(statistics, head)
    applied, redone = sum(each.applied for each in last), sum(each.redone for each in last)
    if busy is None or not applied:
        return head.policy, "no estimate of repairs"
    part = redone / applied
    of_repairs = busy * part / (1 + part)
    rest = busy - of_repairs
    of_batches = sum(
        _applications(min(each.disordered, _together(each)), rest, each.batches) for each in last
    ) / len(last)
    reason = f"{part:.1%} of the rows are applied again, for {of_repairs:.1%} of a core"
    if of_batches >= 0.0005:
        reason += f"; batches that come out of order take {of_batches:.1%}"
    saved = of_repairs + of_batches
    is_too_much = saved > REPAIRS_MAX and saved * HORIZON > GAIN_MIN * situation.least_cost
    return Policy.ORDERED if is_too_much else head.policy, reason


def _while_ordered(
    situation: Situation, statistics: Statistics, head: FoldHead
) -> tuple[Policy, str]:
    """Return the policy of a fold that is ordered, and might not be, and why."""
    found = _intervals(situation, statistics, head)
    if reason := reason_to_wait(situation, len(found), " of repairs"):
        return head.policy, reason
    last = found[-intervals_needed(situation) :]
    busy = _busy(statistics, head)
    held, batches = (sum(getattr(each, name) for each in last) for name in ("held", "batches"))
    if busy is None or not held:
        return head.policy, "no estimate of repairs, no rows waited"
    spent = [
        _repairs(each, busy)
        + _applications(max(each.disordered, _together(each)), busy, each.advances)
        for each in last
    ]
    redone = sum(each.would_redo for each in last) / held
    cost = f"without, {redone:.1%} of them would be applied again, for {max(spent):.1%} of a core"
    wait = sum(each.waiting for each in last) / held
    text = f"rows wait for {wait * 1e3:.3g} ms; {cost}"
    if max(spent) >= RETURN_MAX:
        return head.policy, text
    seconds = min(HORIZON, len(found) * situation.seconds)
    saved = min(wait, ROUND_SECONDS) * batches / len(last) * seconds
    costs = sum(spent) / len(last) * seconds + situation.least_cost
    text += f"; batches come {saved:.3g} s earlier in {seconds:.0f} s, for {costs:.2g} s"
    return Policy.SPECULATIVE if saved > GAIN_MIN * costs else head.policy, text


def _reason_to_wait(plan: TickPlan, number: int, *, rebalances: bool) -> str:
    """Return why the fold of a stage has to stay ordered, "" if it need not."""
    head = plan.stages[number].head
    assert isinstance(head, FoldHead)
    if has_timers(head.combine):
        return "timers follow later rows"
    if rebalances:
        return "the rebalancing changes the loads"
    sources = [each.head for each in plan.stages if isinstance(each.head, SourceHead)]
    for source in sources:
        if source.rebalanced and head in folds_behind(plan, source.table.name):
            return f"rows of {source.table.name} are rebalanced"
    for stage in plan.stages[:number]:
        before, targets = stage.head, [send.to for send in stage.sends]
        if not isinstance(before, FoldHead) or before.policy is Policy.SPECULATIVE:
            continue
        if any(isinstance(to, ToFold) and to.stage == number for to in targets):
            return f"{before.operator} before it is ordered"
    return ""


def _intervals(situation: Situation, statistics: Statistics, head: FoldHead) -> Sequence[Disorder]:
    """Return what is known of the fold in the intervals since the last tick, in order."""
    return sorted(
        each
        for each in statistics.disorder
        if each.interval > situation.since
        and (each.operator, each.policy) == (head.operator, head.policy.value)
    )


def _busy(statistics: Statistics, head: FoldHead) -> float | None:
    """Return the fraction of a core that a fold takes, None if it is not known."""
    return next((each.busy for each in statistics.costs if each.operator == head.operator), None)


def _repairs(interval: Disorder, busy: float) -> float:
    """Return the fraction of a core that repairs would have taken."""
    return busy * interval.would_redo / interval.applied if interval.applied else 0.0


def _together(interval: Disorder) -> float:
    """Return how many batches an ordered fold applies together with earlier ones."""
    return max(0.0, interval.batches - interval.advances)


def _applications(more: float, busy: float, made: float) -> float:
    """Return the fraction of a core for some applications, where a number of them takes `busy`."""
    return more * min(APPLICATION_SECONDS, busy / made) if made else 0.0
