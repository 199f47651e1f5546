"""The choice of the next tick of a running job, from measurements: a pure function, with reasons.

Output never depends on it.  These are chosen, each with its reason:

owners      which workers own hash bins (`owner_choice`)
policies    folds with too many repairs become ORDERED, and SPECULATIVE after these (`fold_policies`)
filters     conditions that drop many rows at a low cost come first (`filter_orders`)
hot keys    rows of hot keys are pre-aggregated if a single key makes a worker the busiest
replicas    the side of a join goes to all workers if that sends fewer bytes (`replicas`)
rows        other workers than those that read a table process a part of it (`rebalancing`)
lingers     readers wait for more rows where calls take most of a worker's time (`lingers`)

Bins do not move in a tick that begins to pre-aggregate, rebalances, or changes replicas or a linger, which
changes all loads.  No linger changes in a tick that rebalances.
Pre-aggregation never ends by itself: if no key is hot, it only examines some hashes of each batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.plan_choices import NO_CHOICES, PlanChoices
from fsql.compiler.reasons import Reason
from fsql.compiler.records import dataclass
from fsql.compiler.statistics import TICK_SECONDS
from fsql.optimizer.filter_orders import choose_filter_orders
from fsql.optimizer.fold_policies import choose_policies
from fsql.optimizer.hot_keys import advise_divisions, choose_pre_aggregations
from fsql.optimizer.lingers import choose_lingers
from fsql.optimizer.owner_choice import OWNERS, choose_owners, reason_to_wait
from fsql.optimizer.rebalancing import choose_rebalancing
from fsql.optimizer.replicas import choose_replicas, sizes_of_statistics
from fsql.optimizer.tick_costs import TICK_SECONDS as LEAST_SECONDS
from fsql.optimizer.tick_costs import intervals_of, owners_cost

if TYPE_CHECKING:
    from fsql.compiler.owners import Owners
    from fsql.compiler.tick_plan import TickPlan
    from fsql.optimizer.load_history import LoadHistory
    from fsql.optimizer.replay import PastTick
    from fsql.optimizer.statistics import Statistics


@dataclass(frozen=True, slots=True)
class Situation:
    """The current plan with its owners, and further input of the optimizer.

    `since` is the interval of the last tick.  `ages` are the ages, in intervals, of the ticks that the
    optimizer has proposed.  `hosted` says whether worker 0 runs in the process of the coordinator,
    `chooses_policies` whether no policy was requested.  `past` has the ticks that were taken since the number
    of workers changed, the newest first; `first` are the owners before all of them, None if they are unknown.
    `seconds` is the length of an interval.  `history` has the loads of bins; without it, a load is assumed to
    last.  `over_estimate` is how many seconds more than estimated ticks of this job took.
    """

    plan: TickPlan
    since: int = 0
    ages: tuple[int, ...] = ()
    hosted: bool = False
    chooses_policies: bool = True
    first: Owners | None = None
    past: tuple[PastTick, ...] = ()
    seconds: float = TICK_SECONDS
    history: LoadHistory | None = None
    over_estimate: float = 0.0

    def owners_at(self, age: int) -> Owners:
        """Return the owners in an interval; the newest has the age 0."""
        later = [tick.owners for tick in self.past if tick.age <= age]
        return later[-1] if later else self.plan.assignment.owners

    @property
    def least_cost(self) -> float:
        """Return the least that a tick costs, in seconds."""
        return LEAST_SECONDS + self.over_estimate


@dataclass(frozen=True, slots=True)
class TickChoice:
    """The changes of the next tick, if any: owners or choices; and a reason for each decision.

    `cost` is the estimated cost of the tick in seconds, as if ticks took what the model says.
    """

    owners: Owners | None
    choices: PlanChoices
    reasons: tuple[Reason, ...]
    cost: float = LEAST_SECONDS

    @property
    def lines(self) -> tuple[str, ...]:
        """Return the reasons as sentences."""
        return tuple(map(str, self.reasons))

    @property
    def is_change(self) -> bool:
        """Return whether there is a change to propose."""
        return self.owners is not None or self.choices != NO_CHOICES


def choose_tick(situation: Situation, statistics: Statistics) -> TickChoice:
    """Return the changes that the next tick of a job should make."""
    owners, reason = choose_owners(situation, statistics)
    least_rows, of_hot_keys = choose_pre_aggregations(
        situation.plan, statistics, situation.since, situation.least_cost
    )
    if least_rows and owners is not None:
        owners, reason = None, Reason(OWNERS, "stay; the pre-aggregation changes the loads")
    rebalancing = choose_rebalancing(situation, statistics)
    if rebalancing.tables and owners is not None:
        owners, reason = None, Reason(OWNERS, "stay; the rebalancing changes the loads")
    policies, reasons = choose_policies(situation, statistics, rebalancing)
    lingers, of_lingers = choose_lingers(situation, statistics)
    if lingers and rebalancing.tables:
        lingers, of_lingers = (), (Reason("lingers", "stay; the rebalancing changes the loads"),)
    if lingers and owners is not None:
        owners, reason = None, Reason(OWNERS, "stay; the linger changes the loads")
    of_hot_keys += advise_divisions(situation.plan, statistics)
    measured = len(intervals_of(statistics, 0, situation.plan.workers))
    filters, of_filters = choose_filter_orders(
        situation.plan, statistics, situation.least_cost, measured
    )
    replicas, of_replicas = choose_replicas(
        situation.plan,
        sizes_of_statistics(situation.plan, statistics),
        waits=reason_to_wait(situation, measured),
    )
    if replicas and owners is not None:
        owners, reason = None, Reason(OWNERS, "stay; the replicas change the loads")
    choices = PlanChoices(policies, filters, least_rows, rebalancing.tables, lingers, replicas)
    more = *of_hot_keys, *of_replicas, *of_filters, *rebalancing.reasons, *of_lingers
    cost = LEAST_SECONDS if owners is None else owners_cost(situation, statistics, owners)
    return TickChoice(owners, choices, (reason, *reasons, *more), cost)
