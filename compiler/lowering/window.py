"""`WindowAggregate` and `CountLateRows`: late rows go to a port of the barrier.

    rows ─▶ Broadcast ─┬─▶ Map(Late) ─▶ LateSink
                       └─▶ Map(OnTime) ─▶ the cycle of `cycle`, its Grouping with `closing`

    rows of a join ─▶ Broadcast ─┬─▶ Map(Expired) ─▶ LateSink
                                 └─▶ the join

Lateness is decided by the row's own root, before any state.  So it does not depend on items in flight, and
all rows in a bucket precede the punctuation that closes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.analysis.delays import delay_us
from fsql.compiler.graph import Closing, CombineAggregate, Expired, Late, Map, OnTime
from fsql.compiler.logical import append_only, grain_us, has_late_rows, least_scan_number
from fsql.compiler.lowering.cycle import add_cycle

if TYPE_CHECKING:
    from fsql.compiler.logical import CountLateRows, Rank, WindowAggregate
    from fsql.compiler.lowering.draft import Draft


def lower_window_aggregate(draft: Draft, plan: WindowAggregate, rows: int) -> int:
    """Append the vertices of `plan` after vertex `rows`; return the vertex of its rows."""
    closing, on_time = lower_closing(draft, plan, plan.window_end, rows)
    combine = CombineAggregate(
        plan.keys,
        plan.aggregates,
        scan_number=least_scan_number(plan),
        input_append_only=append_only(plan.input),
        closing=closing,
        final=plan.final,
    )
    return add_cycle(draft, plan, combine, (plan.keys,), (on_time,), closing)


def lower_late_rows(draft: Draft, plan: CountLateRows, rows: int) -> int:
    """Append the port for the late rows of a side of a join; return the vertex of all rows, `rows`."""
    expired = Expired(plan.time_column, plan.wait_us, plan.delay_us, plan.grain_us)
    draft.add_late_port(plan, draft.add_after(Map(expired), rows, type(plan).__name__))
    return rows


def lower_closing(
    draft: Draft, plan: WindowAggregate | Rank, window_end: int, rows: int
) -> tuple[Closing, int]:
    """Append the port for late rows, if they are counted here.

    Return when windows close, and the vertex of the rows on time.
    """
    origin = type(plan).__name__
    closing = Closing(window_end, delay_us(plan.input, window_end), grain_us(plan.input))
    if has_late_rows(plan):
        draft.add_late_port(plan, draft.add_after(Map(Late(closing)), rows, origin))
    return closing, draft.add_after(Map(OnTime(closing)), rows, origin)
