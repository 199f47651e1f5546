"""`WindowAggregate` and `CountLateRows`: late rows go to a port of the barrier.

    rows ─▶ Broadcast ─┬─▶ Map(Late) ─▶ LateSink
                       └─▶ Map(OnTime) ─▶ the cycle of `cycle`, its Grouping with `closing`

If the aggregate is computed from slices (`analysis.slices`), its input is not that of `AssignWindows`:

    rows ─▶ Map(ToSlices) ─▶ projections, filters ─▶ Broadcast ─┬─▶ Map(LateWindows) ─▶ LateSink
                                                                └─▶ Map(OnTimeSlices) ─▶ the cycle of `cycle`

    rows of a join ─▶ Broadcast ─┬─▶ Map(Expired) ─▶ LateSink
                                 └─▶ the join

Lateness is decided by the row's own root, before any state.  So it does not depend on items in flight, and
all rows in a bucket precede the punctuation that closes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.analysis.delays import closing_delay_us
from fsql.compiler.analysis.slices import slicing_of
from fsql.compiler.expression import ColumnRef
from fsql.compiler.graph import (
    Closing,
    CombineAggregate,
    CombineSlices,
    Compute,
    Expired,
    Late,
    LateWindows,
    Map,
    OnTime,
    OnTimeSlices,
    Select,
    SliceClosing,
    ToSlices,
    Vertex,
)
from fsql.compiler.logical import (
    Filter,
    append_only,
    grain_us,
    has_late_rows,
    least_scan_number,
)
from fsql.compiler.lowering.cycle import add_cycle
from fsql.compiler.schema import Column

if TYPE_CHECKING:
    from fsql.compiler.analysis.slices import Slicing
    from fsql.compiler.logical import CountLateRows, Project, Rank, WindowAggregate
    from fsql.compiler.lowering.draft import Draft


def lower_window_aggregate(draft: Draft, plan: WindowAggregate, rows: int) -> int:
    """Append the vertices of `plan` after vertex `rows`; return the vertex of its rows.

    `rows` has the rows of `analysis.slices.inputs_of`.
    """
    slicing = slicing_of(plan)
    if slicing is not None:
        return _lower_slices(draft, plan, slicing, rows)
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


def _lower_slices(draft: Draft, plan: WindowAggregate, slicing: Slicing, rows: int) -> int:
    """Append the vertices of an aggregate that is computed from slices after vertex `rows`."""
    windows, origin = slicing.windows, type(plan).__name__
    function = ToSlices(
        windows.time_column,
        windows.size_us,
        windows.slide_us,
        windows.offset_us,
        slicing.until,
    )
    end = windows.schema[-2]
    schema = (*windows.schema, Column("last_end", end.type, nullable=False))
    name = type(windows).__name__
    rows = draft.add(Vertex(Map(function), (rows,), schema, draft[rows].depth + 1, name))
    for each in slicing.between:
        rows = _lower_between(draft, each, rows)
    closing = SliceClosing(
        plan.window_end,
        closing_delay_us(plan),
        grain_us(plan.input),
        len(plan.input.schema),
        windows.slide_us,
        (windows.offset_us + windows.size_us) % windows.slide_us,
    )
    if has_late_rows(plan):
        bounds = tuple(sorted(slicing.bounds.items()))
        late = Map(LateWindows(closing, windows.size_us, bounds))
        made = Vertex(late, (rows,), plan.input.schema, draft[rows].depth, origin)
        draft.add_late_port(plan, draft.add(made))
    on_time = draft.add_after(Map(OnTimeSlices(closing)), rows, origin)
    combine = CombineSlices(
        plan.keys,
        tuple(
            slicing.bounds.get(key.index) if isinstance(key, ColumnRef) else None
            for key in plan.keys
        ),
        plan.aggregates,
        least_scan_number(plan),
        closing,
        windows.size_us,
    )
    return add_cycle(draft, plan, combine, (combine.partition,), (on_time,), closing)


def _lower_between(draft: Draft, plan: Filter | Project, rows: int) -> int:
    """Append the Map of an operator between windows and their aggregate; the last column is passed on."""
    below = draft[rows]
    origin = type(plan).__name__
    if isinstance(plan, Filter):
        return draft.add_after(Map(Select(plan.predicate)), rows, origin)
    last = below.schema[-1]
    passed = ColumnRef(last.type, last.nullable, len(below.schema) - 1)
    function = Compute((*plan.expressions, passed))
    schema = (*plan.schema, last)
    return draft.add(Vertex(Map(function), (rows,), schema, below.depth, origin))


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
    closing = Closing(window_end, closing_delay_us(plan), grain_us(plan.input))
    if has_late_rows(plan):
        draft.add_late_port(plan, draft.add_after(Map(Late(closing)), rows, origin))
    return closing, draft.add_after(Map(OnTime(closing)), rows, origin)
