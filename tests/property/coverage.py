"""What a case and its runs have shown: a property that never meets these proves little."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from fsql.compiler import logical
from fsql.compiler.logical import Aggregate, Join, Over, Plan, Rank, WindowAggregate
from fsql.runtime.ports import DeadLetter
from fsql.tests.property.flow import routed_by_result

if TYPE_CHECKING:
    from fsql.tests.property.cases import Case
    from fsql.tests.property.ways import Outcome

MUST_BE_MET: Final = (
    *("two sources", "three splits", "self join", "window over window", "aggregate over aggregate"),
    *("join into aggregate", "running aggregate", "ranks", "time range", "late rows", "rejects"),
    *("row errors", "malformed row stops", "equal times", "ties", "updates", "several inserts"),
)
"""What the cases of a suite must have met, whatever runs them."""


def features(case: Case, outcome: Outcome) -> Counter[str]:
    """Return which features a case has, from its plan, its input and what it released."""
    plans = [plan for insert in case.job.inserts for plan in logical.operators(insert.query)]
    inputs = case.inputs.values()
    code = 0 if outcome.error is None else outcome.error[0]
    met = {
        "two sources": len(case.job.tables) > 1,
        "three splits": any(sum(map(bool, splits)) > 2 for splits in inputs),
        "several inserts": len(case.job.inserts) > 1,
        "self join": any(isinstance(plan, Join) and _same_table(plan) for plan in plans),
        "window over window": any(_over(plan, WindowAggregate, WindowAggregate) for plan in plans),
        "aggregate over aggregate": any(_over(plan, Aggregate, Aggregate) for plan in plans),
        "join into aggregate": any(
            _over(plan, Aggregate, Join) or _over(plan, WindowAggregate, Join) for plan in plans
        ),
        "running aggregate": any(isinstance(plan, Over) for plan in plans),
        "frames": any(
            isinstance(plan, Over) and not all(call.is_running for call in plan.calls)
            for plan in plans
        ),
        "ranks": any(isinstance(plan, Rank) for plan in plans),
        "time range": any(isinstance(plan, Join) and plan.time_range for plan in plans),
        "late rows": any(outcome.late),
        "rejects": bool(outcome.dead_letters),
        "row errors": 501 <= code <= 505,
        "malformed row stops": code > 510,
        "equal times": _equal_times(case),
        "ties": any(
            logical.append_only(insert.query) and logical.may_tie(insert.query) and lines
            for insert, lines in zip(case.job.inserts, outcome.released, strict=True)
        ),
        "updates": any('"op":"+U"' in text for lines in outcome.released for _, text in lines),
        "routed by result": any(routed_by_result(insert.query) for insert in case.job.inserts),
        "something released": any(outcome.released),
        "error": code != 0,
        "cases": True,
    }
    return Counter(name for name, is_met in met.items() if is_met)


def _same_table(plan: Join) -> bool:
    return bool({*logical.tables(plan.left)} & {*logical.tables(plan.right)})


def _over(plan: Plan, above: type[Plan], below: type[Plan]) -> bool:
    """Say whether `plan` is of the one kind and reads, at any distance, one of the other."""
    under = (node for node in logical.operators(plan) if node is not plan)
    return isinstance(plan, above) and any(isinstance(node, below) for node in under)


def _equal_times(case: Case) -> bool:
    """Say whether rows of different splits of a table have the same event time."""
    for table in case.job.tables:
        index = next((i for i, c in enumerate(table.columns) if c.time_attribute), None)
        if index is not None:
            times = sorted(
                (row[index], number)
                for number, split in enumerate(case.inputs[table.ordinal])
                for row in split
                if not isinstance(row, DeadLetter) and row[index] is not None
            )
            if any(a[0] == b[0] and a[1] != b[1] for a, b in pairwise(times)):
                return True
    return False
