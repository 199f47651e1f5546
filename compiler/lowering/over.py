"""`Over`: one drifting-state cycle, bucketed by the partition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.graph import CombineOver
from fsql.compiler.logical import may_tie
from fsql.compiler.lowering.cycle import add_cycle

if TYPE_CHECKING:
    from fsql.compiler.logical import Over
    from fsql.compiler.lowering.draft import Draft


def lower_over(draft: Draft, plan: Over, rows: int) -> int:
    """Append the cycle of `plan` after vertex `rows`; return the vertex of its rows."""
    combine = CombineOver(
        plan.partition, plan.calls, may_tie=may_tie(plan.input), idle_us=plan.idle_us
    )
    return add_cycle(draft, plan, combine, (plan.partition,), (rows,))
