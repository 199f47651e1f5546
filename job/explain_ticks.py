"""`fsql explain --stage tick` of a job: its plan, what the last tick changed, and what the next one would.

The plan is the one in force.  The choice for the next tick is the one that `--auto` would make now, from the
statistics of the job, whether it runs, has finished, or was started without `--auto`.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler.assignment import Assignment
from fsql.compiler.explain import stages as explain
from fsql.compiler.explain.choices import changed_plan
from fsql.compiler.plan_choices import with_choices
from fsql.compiler.records import dataclass
from fsql.connectors.live.kinds import is_live
from fsql.job.choices_file import compile_and_plan
from fsql.job.explain_stage import scan_lines_of
from fsql.job.plan_in_force import plan_after, situation_of, taken_ticks
from fsql.job.ticks import has_coordination, job_of_state, read_ticks
from fsql.optimizer.choose_tick import choose_tick
from fsql.optimizer.collectors.bin_history import read_bin_history
from fsql.optimizer.collectors.written_results import newest_collected
from fsql.optimizer.statistics import source_text

if TYPE_CHECKING:
    from pathlib import Path

    from fsql.compiler.explain.document import JsonObject
    from fsql.compiler.tick_plan import TickPlan
    from fsql.job.compilation import Compiled
    from fsql.optimizer.choose_tick import TickChoice

_PLACES = {
    True: "coordinator: in the process of worker 0",
    False: "coordinator: in a process of its own",
}
_UNKNOWN = "coordinator: no record of its process; taken to be that of worker 0, as for live input"


@dataclass(frozen=True, slots=True)
class LastTick:
    """The tick since which a plan is in force; `difference` is that to the plan before, a line each."""

    number: int
    reason: str
    difference: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NextTick:
    """The choice from the newest statistics: a reason each, and how it would change the plan in force.

    `problems` are those of reading statistics, `source` says who has made them, and how old they are.
    """

    reasons: tuple[str, ...]
    difference: tuple[str, ...]
    problems: tuple[str, ...]
    source: str


@dataclass(frozen=True, slots=True)
class TicksOfJob:
    """The plan in force, how it came about, and what would be next."""

    compiled: Compiled
    plan: TickPlan
    last: LastTick | None
    next: NextTick

    def text(self) -> str:
        """Return it as text."""
        lines = []
        if self.last is None:
            lines.append("difference to the plan before: none, no tick was taken")
        else:
            lines.append(f"difference to the plan before tick {self.last.number}:")
            lines += _indented(self.last.difference)
            lines.append(f"  reason: {self.last.reason or 'none was given'}")
        lines += [
            f"the next tick, by the newest statistics ({self.next.source}):",
            *_indented(self.next.reasons, ""),
        ]
        lines += [f"  warning: statistics: {each}" for each in self.next.problems]
        lines += ["difference that it would make:", *_indented(self.next.difference)]
        plan = explain.tick_text(self.plan, scan_lines=scan_lines_of(self.compiled))
        return plan + "\n".join(lines) + "\n"

    def json(self, more_fields: JsonObject) -> str:
        """Return it as JSON: the plan, with two more fields and those that are given."""
        last, after = self.last, self.next
        more: JsonObject = {
            "last_tick": None
            if last is None
            else {"tick": last.number, "reason": last.reason, "difference": last.difference},
            "next_tick": {
                "reasons": after.reasons,
                "difference": after.difference,
                "problems": after.problems,
                "statistics": after.source,
            },
            **more_fields,
        }
        return explain.tick_json(self.plan, scan_lines=scan_lines_of(self.compiled), more=more)


def ticks_of_job(state: Path, *, deployed: bool) -> TicksOfJob:
    """Return the plan of the job in a state directory, with its last and its next tick.

    The description of a job says since its last start whether worker 0 is in the process of the coordinator.
    Where it does not, each node of a deployed job is taken to have its own process, and a run with live input
    to have worker 0 in that of the coordinator.

    Raises:
        FsqlError: E614, if there is no job; E615, E621, E623 or E643, if it cannot be read; or if its script
            does not compile.
    """
    job = job_of_state(state, "for the plan of a script: fsql explain SCRIPT --stage tick")
    compiled, at_start = compile_and_plan(job)
    records = read_ticks(state)[1] if has_coordination(state) else []
    taken = taken_ticks(job, records)
    hosted = job.hosted
    if hosted is None:
        hosted = not deployed and any(is_live(table) for table in compiled.job.tables)
    collected = newest_collected(state)
    history = read_bin_history(state, until=collected.interval)
    now = time.time() - collected.age * job.tick_seconds
    situation = situation_of(at_start, job, records, history, hosted=hosted, now=now)
    plan, last = situation.plan, None
    if taken:
        before = plan_after(at_start, taken[1]) if len(taken) > 1 else at_start
        proposal = taken[0].proposal
        last = LastTick(proposal.tick, proposal.reason_line, tuple(changed_plan(before, plan)))
    statistics = collected.statistics
    choice = choose_tick(situation, statistics)
    place = [_PLACES[hosted]] if job.hosted is not None else [_UNKNOWN] * hosted
    reasons = (*map(str, choice.reasons), *place)
    difference = tuple(changed_plan(plan, _plan_with(plan, choice)))
    return TicksOfJob(
        compiled,
        plan,
        last,
        NextTick(
            reasons,
            difference,
            statistics.problems,
            source_text(collected.collector, collected.age),
        ),
    )


def _plan_with(plan: TickPlan, choice: TickChoice) -> TickPlan:
    chosen = with_choices(plan, choice.choices)
    if choice.owners is None:
        return chosen
    return replace(chosen, assignment=Assignment(choice.owners, plan.assignment.readers))


def _indented(lines: tuple[str, ...], without: str = "none") -> list[str]:
    return [f"  {each}" for each in lines or ((without,) if without else ())]
