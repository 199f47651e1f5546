"""`Aggregate`: one drifting-state cycle, bucketed by the keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.graph import CombineAggregate
from fsql.compiler.logical import append_only, least_scan_number
from fsql.compiler.lowering.cycle import add_cycle

if TYPE_CHECKING:
    from fsql.compiler.logical import Aggregate
    from fsql.compiler.lowering.draft import Draft


def lower_aggregate(draft: Draft, plan: Aggregate, rows: int) -> int:
    """Append the cycle of `plan` after vertex `rows`; return the vertex of its rows."""
    combine = CombineAggregate(
        plan.keys,
        plan.aggregates,
        scan_number=least_scan_number(plan),
        input_append_only=append_only(plan.input),
        closing=None,
        final=False,
        idle_us=plan.idle_us,
    )
    return add_cycle(draft, plan, combine, (plan.keys,), (rows,))
