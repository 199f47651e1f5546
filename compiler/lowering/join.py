"""`Join`: both sides meet in the buckets of one cycle.

left ─▶ Map(Side 0) ─┐
                     ├─▶ Merge ─▶ the cycle of `cycle`, bucketed by the keys of the row's side
right ─▶ Map(Side 1) ┘
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.analysis.delays import join_delay_us
from fsql.compiler.graph import CombineJoin, Map, Side
from fsql.compiler.logical import append_only, depth, grain_us
from fsql.compiler.lowering.cycle import add_cycle

if TYPE_CHECKING:
    from fsql.compiler.logical import Join
    from fsql.compiler.lowering.draft import Draft


def lower_join(draft: Draft, plan: Join, left: int, right: int) -> int:
    """Append the vertices of `plan` after its sides; return the vertex of the pairs."""
    sides = tuple(
        draft.add_behind(Map(Side(side)), rows, type(plan).__name__)
        for side, rows in enumerate((left, right))
    )
    combine = CombineJoin(
        plan.left_keys,
        plan.right_keys,
        left_width=len(plan.left.schema),
        right_width=len(plan.right.schema),
        left_depth=depth(plan.left),
        right_depth=depth(plan.right),
        time_range=plan.time_range,
        delay_us=join_delay_us(plan),
        grain_us=grain_us(plan),
        input_append_only=append_only(plan),
    )
    return add_cycle(draft, plan, combine, (plan.left_keys, plan.right_keys), sides)
