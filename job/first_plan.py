"""The plan with which a job starts, if a profile of its input is given.

The choices are part of the job's description, so all of its processes have them, and the file of the profile
is read only once.  A profile that cannot be read never affects the run, only its plan.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from fsql.compiler.assignment import Assignment
from fsql.compiler.explain.choices import changed_choices
from fsql.compiler.owners import ExchangeRanges, OwnerRanges, Owners, fault_of_ranges
from fsql.compiler.plan_choices import NO_CHOICES, PlanChoices, fault_of_choices, with_choices
from fsql.compiler.reasons import Reason
from fsql.compiler.records import dataclass
from fsql.optimizer.choose import HASH_BINS
from fsql.optimizer.first_plan import choose_first

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.compiler.tick_plan import TickPlan
    from fsql.optimizer.profile import Profile


@dataclass(frozen=True, slots=True)
class GivenProfile:
    """A requested profile; if it cannot be used, there is none, and `problem` is the reason."""

    profile: Profile | None
    problem: Reason | None = None


class FirstPlan(msgspec.Struct, frozen=True):
    """The choices before a job first starts, for the plan of a graph and for a number of workers.

    `owners` has worker, first bin and end (exclusive) of each range, and is empty if they are unchanged.
    `exchanges` has the owner maps of exchanges that have another one, by name.
    """

    graph: str
    workers: int
    owners: OwnerRanges = ()
    choices: PlanChoices = NO_CHOICES
    reasons: tuple[Reason, ...] = ()
    exchanges: ExchangeRanges = ()


def given_profile(path: Path) -> GivenProfile:
    """Return the profile in a file."""
    from fsql.optimizer.collectors.profile_file import read_profile

    try:
        return GivenProfile(read_profile(path))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error).partition("\n")[0]
        return GivenProfile(None, Reason(f'profile "{path}" is ignored', reason))


def first_plan(plan: TickPlan, graph: str, given: GivenProfile) -> FirstPlan:
    """Return the changes that a profile suggests to a plan that was chosen without it."""
    if given.profile is None:
        reasons = () if given.problem is None else (given.problem,)
        return FirstPlan(graph, plan.workers, reasons=reasons)
    choice = choose_first(plan, given.profile)
    first = FirstPlan(graph, plan.workers, choices=choice.choices, reasons=choice.reasons)
    if choice.owners is None:
        return first
    owners, exchanges = choice.owners.ranges, choice.owners.exchange_ranges
    return msgspec.structs.replace(first, owners=owners, exchanges=exchanges)


def with_first_plan(plan: TickPlan, graph: str, first: FirstPlan | None) -> TickPlan:
    """Return a plan with its first choices, as far as they still fit."""
    if first is None or first.graph != graph:
        return plan
    before = plan
    if not fault_of_choices(plan, first.choices):
        plan = with_choices(plan, first.choices)
    fits = not fault_of_ranges(first.owners, first.exchanges, plan.workers, plan.exchanges.values())
    if first.owners and first.workers == plan.workers and fits:
        owners = Owners.of_ranges(first.owners, first.exchanges, first.workers)
        plan = replace(plan, assignment=Assignment(owners, plan.assignment.readers))
        kept = tuple(each for each in plan.reasons if each.subject != HASH_BINS)
        plan = replace(plan, reasons=kept)
    changes = (Reason("", each, changes=True) for each in changed_choices(before, plan))
    return replace(plan, reasons=(*plan.reasons, *first.reasons, *changes))
