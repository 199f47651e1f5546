"""`Rank`: one drifting-state cycle, bucketed by the partition; of windows, after a port for late rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.graph import CombineRank
from fsql.compiler.logical import append_only, least_scan_number, may_tie
from fsql.compiler.lowering.cycle import add_cycle
from fsql.compiler.lowering.window import lower_closing

if TYPE_CHECKING:
    from fsql.compiler.logical import Rank
    from fsql.compiler.lowering.draft import Draft


def lower_rank(draft: Draft, plan: Rank, rows: int) -> int:
    """Append the cycle of `plan` after vertex `rows`; return the vertex of its rows."""
    closing = None
    if plan.window_end is not None:
        closing, rows = lower_closing(draft, plan, plan.window_end, rows)
    combine = CombineRank(
        plan.partition,
        plan.order,
        plan.function,
        ranked=plan.rank_name is not None,
        skipped=plan.skipped,
        limit=plan.limit,
        scan_number=least_scan_number(plan),
        by_position=append_only(plan.input),
        may_tie=append_only(plan.input) and may_tie(plan.input),
        closing=closing,
        final=plan.final,
    )
    return add_cycle(draft, plan, combine, (plan.partition,), (rows,), closing)
