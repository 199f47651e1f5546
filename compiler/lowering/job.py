"""The walk from a job's plans to one graph.

Plan nodes are interned, so a memo keyed on the node lowers common subplans once; `Draft` shares them through
a Broadcast.  Subplans that differ only in the numbers of their scans are lowered once as well (`copies`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fsql.compiler import logical
from fsql.compiler.analysis.slices import inputs_of
from fsql.compiler.lowering.aggregate import lower_aggregate
from fsql.compiler.lowering.changes import lower_changelog, lower_changes
from fsql.compiler.lowering.copies import copies_of, lower_copy, without_copies
from fsql.compiler.lowering.draft import Draft
from fsql.compiler.lowering.join import lower_join
from fsql.compiler.lowering.over import lower_over
from fsql.compiler.lowering.rank import lower_rank
from fsql.compiler.lowering.row_operators import RowOperator, lower_row_operator
from fsql.compiler.lowering.scan import lower_scan
from fsql.compiler.lowering.sessions import lower_sessions
from fsql.compiler.lowering.sink import lower_insert
from fsql.compiler.lowering.union import lower_union
from fsql.compiler.lowering.window import lower_late_rows, lower_window_aggregate
from fsql.compiler.serialize import operator_ids

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler.graph import Graph


class Lowered(NamedTuple):
    """A graph, and for each operator the index of the vertex that has its rows.

    Operators between windows and an aggregate that is computed from slices have no such vertex.
    """

    graph: Graph
    vertices: Mapping[logical.Plan, int]


def lower(job: logical.Job) -> Graph:
    """Return the drifting-state graph of `job`.

    Vertices are in dependency order, except for the back edge of a cycle.
    """
    return lower_operators(job).graph


def lower_operators(job: logical.Job) -> Lowered:
    """Return the drifting-state graph of `job`, and where the rows of its operators are."""
    draft = Draft(operator_ids(job))
    lowered: dict[logical.Plan, int] = {}
    copies = copies_of(job)
    wanted = without_copies(job, copies)
    for number, insert in enumerate(job.inserts):
        for plan in logical.operators(insert.query):
            if plan in lowered or plan not in wanted:
                continue
            if plan in copies:
                original = copies[plan]
                lowered[plan] = lower_copy(draft, plan, original, lowered[original])
            else:
                inputs = tuple(lowered[below] for below in inputs_of(plan))
                lowered[plan] = _lower_operator(draft, plan, inputs)
        lower_insert(draft, insert, number, lowered[insert.query])
    for plan, original in copies.items():
        for own, theirs in zip(logical.operators(plan), logical.operators(original), strict=True):
            if theirs in lowered:
                lowered.setdefault(own, lowered[theirs])
    graph, indexes = draft.finish()
    return Lowered(graph, {plan: indexes[rows] for plan, rows in lowered.items()})


def _lower_operator(  # noqa: C901 - one case for each operator
    draft: Draft, plan: logical.Plan, inputs: tuple[int, ...]
) -> int:
    match plan:
        case logical.Scan():
            rows = lower_scan(draft, plan)
        case logical.ApplyChanges():
            rows = lower_changes(draft, plan, *inputs)
        case logical.ToChangelog():
            rows = lower_changelog(draft, plan, *inputs)
        case logical.Aggregate():
            rows = lower_aggregate(draft, plan, *inputs)
        case logical.WindowAggregate():
            rows = lower_window_aggregate(draft, plan, *inputs)
        case logical.CountLateRows():
            rows = lower_late_rows(draft, plan, *inputs)
        case logical.AssignSessions():
            rows = lower_sessions(draft, plan, *inputs)
        case logical.Over():
            rows = lower_over(draft, plan, *inputs)
        case logical.Rank():
            rows = lower_rank(draft, plan, *inputs)
        case logical.Join():
            rows = lower_join(draft, plan, *inputs)
        case logical.Union():
            rows = lower_union(draft, plan, inputs)
        case _:
            assert isinstance(plan, RowOperator), type(plan)
            rows = lower_row_operator(draft, plan, *inputs)
    return rows
