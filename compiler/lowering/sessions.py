"""`AssignSessions`: one drifting-state cycle, bucketed by the partition, after which late rows branch off.

    rows ─▶ the cycle of `cycle` ─▶ Broadcast ─┬─▶ Map(Select: without bounds) ─▶ Map(Compute) ─▶ LateSink
                                               └─▶ Map(Select: with bounds) ─▶ the rows of sessions

Whether a row is late depends on the sessions that are open, so it is decided with the state.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from fsql.compiler.analysis.delays import delay_us
from fsql.compiler.expression import Call, ColumnRef
from fsql.compiler.graph import (
    CombineSessions,
    Compute,
    Map,
    Select,
    SessionClosing,
    Vertex,
)
from fsql.compiler.logical import depth, grain_us
from fsql.compiler.lowering.cycle import add_cycle
from fsql.compiler.sqltypes import BOOLEAN

if TYPE_CHECKING:
    from fsql.compiler.logical import AssignSessions
    from fsql.compiler.lowering.draft import Draft


def lower_sessions(draft: Draft, plan: AssignSessions, rows: int) -> int:
    """Append the vertices of `plan` after vertex `rows`; return the vertex of its rows."""
    origin, below, levels = type(plan).__name__, plan.input, depth(plan)
    closing = SessionClosing(plan.end_column, delay_us(below, plan.time_column), grain_us(below))
    combine = CombineSessions(plan.partition, plan.time_column, closing, plan.order_column)
    width = len(below.schema)
    bounds = tuple(dataclasses.replace(each, nullable=True) for each in plan.schema[width:])
    made = (*plan.schema[:width], *bounds)
    both = add_cycle(draft, plan, combine, (plan.partition,), (rows,), closing, made=made)
    end = ColumnRef(bounds[1].type, nullable=True, index=width + 1)

    def where(function: str) -> Map:
        return Map(Select(Call(BOOLEAN, nullable=False, function=function, arguments=(end,))))

    late = draft.add(Vertex(where("is_null"), (both,), made, levels, origin))
    own = tuple(
        ColumnRef(column.type, column.nullable, index) for index, column in enumerate(below.schema)
    )
    kept = draft.add(Vertex(Map(Compute(own)), (late,), below.schema, levels, origin))
    draft.add_late_port(plan, kept)
    return draft.add(Vertex(where("is_not_null"), (both,), plan.schema, levels, origin))
