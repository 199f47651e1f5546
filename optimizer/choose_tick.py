"""The choice of the next tick of a running job, from measurements: a pure function, with reasons.

Output never depends on it.  These are chosen, each with its reason:

owners      which workers own hash bins (`owner_choice`)
policies    folds with too many repairs become ORDERED, and SPECULATIVE after these (`fold_policies`)
filters     conditions that drop many rows at a low cost come first (`filter_orders`)
hot keys    rows of hot keys are pre-aggregated if a single key makes a worker the busiest
rows        other workers than those that read a table process a part of it (`rebalancing`)
lingers     readers wait for more rows where calls take most of a worker's time (`lingers`)

Bins do not move in a tick that begins to pre-aggregate, rebalances, or changes a linger, which changes all
loads.  No linger changes in a tick that rebalances.
Pre-aggregation never ends by itself: if no key is hot, it only examines some hashes of each batch.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from fsql.compiler.plan_choices import NO_CHOICES, PlanChoices
from fsql.compiler.records import dataclass
from fsql.compiler.statistics import TICK_SECONDS
from fsql.optimizer.filter_orders import choose_filter_orders
from fsql.optimizer.fold_policies import choose_policies
from fsql.optimizer.hot_keys import advise_divisions, choose_pre_aggregations
from fsql.optimizer.lingers import choose_lingers
from fsql.optimizer.owner_choice import choose_owners
from fsql.optimizer.rebalancing import choose_rebalancing

if TYPE_CHECKING:
    from fsql.compiler.owners import Owners
    from fsql.compiler.tick_plan import TickPlan
    from fsql.optimizer.load_history import LoadHistory
    from fsql.optimizer.replay import PastTick
    from fsql.optimizer.statistics import Statistics

_STAYS: Final = re.compile(r"\bstays?\b")


@dataclass(frozen=True, slots=True)
class Situation:
    """The current plan with its owners, and further input of the optimizer.

    `since` is the interval of the last tick.  `ages` are the ages, in intervals, of the ticks that the
    optimizer has proposed.  `hosted` says whether worker 0 runs in the process of the coordinator,
    `chooses_policies` whether no policy was requested.  `past` has the ticks that were taken since the number
    of workers changed, the newest first; `first` are the owners before all of them, None if they are unknown.
    `seconds` is the length of an interval.  `history` has the loads of bins; without it, a load is assumed to
    last.
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


@dataclass(frozen=True, slots=True)
class TickChoice:
    """The changes of the next tick, if any: owners or choices; and a reason for each decision."""

    owners: Owners | None
    choices: PlanChoices
    reasons: tuple[str, ...]

    @property
    def is_change(self) -> bool:
        """Return whether there is a change to propose."""
        return self.owners is not None or self.choices != NO_CHOICES


def is_of_change(reason: str) -> bool:
    """Return whether a reason is that of a change; of others, the first clause says that something stays.

    >>> is_of_change("linger of words: 20 ms, was none; calls take 52% of worker 0")
    True
    >>> is_of_change("owners: stay; the linger changes the loads")
    False
    """
    return not _STAYS.search(reason.partition(";")[0])


def choose_tick(situation: Situation, statistics: Statistics) -> TickChoice:
    """Return the changes that the next tick of a job should make."""
    owners, reason = choose_owners(situation, statistics)
    least_rows, of_hot_keys = choose_pre_aggregations(situation.plan, statistics, situation.since)
    if least_rows and owners is not None:
        owners, reason = None, "owners: stay; the pre-aggregation changes the loads"
    rebalancing = choose_rebalancing(situation, statistics)
    if rebalancing.tables and owners is not None:
        owners, reason = None, "owners: stay; the rebalancing changes the loads"
    policies, reasons = choose_policies(situation, statistics, rebalancing)
    lingers, of_lingers = choose_lingers(situation, statistics)
    if lingers and rebalancing.tables:
        lingers, of_lingers = (), ("lingers: stay; the rebalancing changes the loads",)
    if lingers and owners is not None:
        owners, reason = None, "owners: stay; the linger changes the loads"
    of_hot_keys += advise_divisions(situation.plan, statistics)
    filters, of_filters = choose_filter_orders(situation.plan, statistics)
    choices = PlanChoices(policies, filters, least_rows, rebalancing.tables, lingers)
    more = *of_hot_keys, *of_filters, *rebalancing.reasons, *of_lingers
    return TickChoice(owners, choices, (reason, *reasons, *more))
