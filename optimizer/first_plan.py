"""The choices for the first tick of a job, from a profile of its input at rest: pure, with reasons.

Output never depends on them.  The owners of bins, the folds whose hot keys are pre-aggregated, and the order
of filters are chosen by the rules of a running job (`choose_tick`), with these differences:

* No fold has run, so there is no estimate of the cost of folds: each row of each fold has the same cost.
* A rate is that of one worker that reads as fast as it can: rows divided by the seconds of reading.
* Folds that get their rows from other folds are not profiled.  Their bins stay, unless they should be where
  those of a fold with a profile are (`local_exchanges`).
* Pre-aggregation leaves few rows of hot keys, so these do not count for the choice of owners.
* Policies, rebalancing and lingers depend on measurements of a running job only (`choices_left_to_ticks`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.owner_map import BIN_SHIFT
from fsql.compiler.plan_choices import PlanChoices
from fsql.compiler.reasons import Reason
from fsql.compiler.tick_plan import FoldHead
from fsql.optimizer.choose_tick import Situation, TickChoice
from fsql.optimizer.condition_pairs import condition_pairs
from fsql.optimizer.filter_orders import choose_filter_orders
from fsql.optimizer.fold_policies import choose_policies
from fsql.optimizer.hot_keys import advise_divisions, choose_pre_aggregations
from fsql.optimizer.levelling import by_owners, level_exchanges
from fsql.optimizer.lingers import choose_lingers
from fsql.optimizer.local_exchanges import exchanges_in_groups
from fsql.optimizer.owner_choice import OWNERS, bins_have_moved, bins_move
from fsql.optimizer.rebalancing import Rebalancing, choose_rebalancing
from fsql.optimizer.replay import IMBALANCE, over_mean
from fsql.optimizer.replicas import choose_replicas, sizes_of_profile
from fsql.optimizer.statistics import Cost, HeavyKey, Load, Statistics

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler.owners import Owners
    from fsql.compiler.tick_plan import TickPlan
    from fsql.optimizer.profile import Profile


def choose_first(plan: TickPlan, profile: Profile) -> TickChoice:
    """Return the changes of a plan that was chosen without statistics, before the job runs."""
    statistics = as_statistics(profile)
    least_rows, of_hot_keys = choose_pre_aggregations(plan, statistics)
    owners, reason = _owners(plan, profile, dict(least_rows))
    of_hot_keys += advise_divisions(plan, statistics)
    filters, of_filters = choose_filter_orders(plan, statistics)
    replicas, of_replicas = choose_replicas(plan, sizes_of_profile(plan, profile))
    choices = PlanChoices((), filters, least_rows, replicated=replicas)
    return TickChoice(owners, choices, (reason, *of_hot_keys, *of_replicas, *of_filters))


def choices_left_to_ticks(plan: TickPlan, *, chooses_policies: bool) -> tuple[Reason, ...]:
    """Return the reasons for the choices of which there is no estimate before the job has run.

    `chooses_policies` says whether no policy was requested.
    """
    situation, nothing = Situation(plan, chooses_policies=chooses_policies), Statistics()
    _, of_policies = choose_policies(situation, nothing, Rebalancing())
    _, of_lingers = choose_lingers(situation, nothing)
    return *of_policies, *choose_rebalancing(situation, nothing).reasons, *of_lingers


def as_statistics(profile: Profile) -> Statistics:
    """Return a profile as the statistics of a worker that reads as fast as it can."""
    seconds = sum(each.busy_seconds for each in profile.splits)
    if seconds <= 0:
        return Statistics()
    rows = {(each.operator, each.side): each.rows for each in profile.sides}
    return Statistics(
        loads=tuple(
            Load(each.operator, each.side, each.bin, each.rows / seconds, 0.0)
            for each in profile.bins
        ),
        heavy=tuple(
            HeavyKey(*each[:4], each.rows / total, each.error / total)
            for each in profile.heavy
            if (total := rows.get((each.operator, each.side), 0)) > 0
        ),
        costs=tuple(
            Cost(
                *(each.operator, each.rows_in / seconds, 0.0, each.busy_seconds / seconds),
                *(each.busy_seconds / each.rows_in, None, each.rows_out / each.rows_in),
            )
            for each in profile.operators
            if each.rows_in > 0
        ),
        pairs=condition_pairs(
            {
                each.operator: (float(each.rows_in), float(each.rows_out))
                for each in profile.operators
            }
        ),
    )


def _owners(
    plan: TickPlan, profile: Profile, pre_aggregated: Mapping[str, int]
) -> tuple[Owners | None, Reason]:
    now = plan.assignment.owners
    if now.workers == 1:
        return None, Reason(OWNERS, "stay; there is one worker")
    folds = [each.head.operator for each in plan.stages if isinstance(each.head, FoldHead)]
    known = {each.operator for each in profile.bins if each.rows > 0}
    unknown = [operator for operator in folds if operator not in known]
    if not known & set(folds):
        return None, Reason(OWNERS, "stay; no estimate of the rows of any fold")
    rows = _rows_by_bin(profile, set(folds), pre_aggregated)
    after = level_exchanges(now, rows, [0.0] * now.workers, exchanges_in_groups(plan))
    before, most = (over_mean(by_owners(each, rows)) for each in (now, after))
    moved = now.moved_bins(after, folds)
    text = (
        f"the busiest worker gets {before:.2f} times the mean of the rows,"
        f" and would get {most:.2f} times after {bins_have_moved(moved)}; no estimate of what a row takes"
    )
    if unknown:
        text += f", nor of the rows of {', '.join(unknown)}"
    if before <= 1 + IMBALANCE or most > before * (1 - IMBALANCE / 2):
        return None, Reason(OWNERS, f"stay; {text}")
    return after, Reason(OWNERS, f"{bins_move(moved)}; {text}", changes=True)


def _rows_by_bin(
    profile: Profile, folds: set[str], pre_aggregated: Mapping[str, int]
) -> dict[str, dict[int, float]]:
    """Return the rows of each bin of each exchange."""
    found: dict[str, dict[int, float]] = {}
    for each in profile.bins:
        if each.operator in folds:
            rows = found.setdefault(each.operator, {})
            rows[each.bin] = rows.get(each.bin, 0.0) + each.rows
    for key in profile.heavy:
        number, rows = key.hash >> BIN_SHIFT, found.get(key.operator, {})
        if key.operator in pre_aggregated and number in rows:
            rows[number] = max(0.0, rows[number] - key.rows)
    return found
