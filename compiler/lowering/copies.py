"""Subplans that compute the same over different scans: for example, a view that is used twice.

The scans of a copy have other numbers, which are in the paths of its rows, so the copies are distinct nodes.
After an operator whose path is only its least scan number, they differ only in that number: renumbering the
rows of the first copy yields the rows of the others.

    … ─▶ Map(Finish) ─▶ Broadcast ─┬─▶ …
                                   └─▶ Map(Renumber) ─▶ …

Late rows of the first copy are late rows of each copy, so they are counted and written for each.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from fsql.compiler.analysis.slices import inputs_of
from fsql.compiler.graph import Map, Renumber, Vertex
from fsql.compiler.logical import (
    Aggregate,
    Plan,
    Rank,
    Scan,
    WindowAggregate,
    depth,
    least_scan_number,
    operators,
)
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.compiler.logical import Job
    from fsql.compiler.lowering.draft import Draft

_NUMBERED = Aggregate | WindowAggregate | Rank
"""The operators whose path is their least scan number."""


def copies_of(job: Job) -> dict[Plan, Plan]:
    """Return each operator that computes the same as an earlier one, with the first such operator."""
    shapes: dict[Plan, _Shape] = {}
    numbers: dict[tuple[object, ...], int] = {}
    first: dict[int, Plan] = {}
    copies: dict[Plan, Plan] = {}
    for insert in job.inserts:
        for plan in operators(insert.query):
            if plan not in shapes:
                shapes[plan] = _shape(plan, shapes, numbers)
                original = first.setdefault(shapes[plan].number, plan)
                if original is not plan and isinstance(plan, _NUMBERED):
                    copies[plan] = original
    return copies


def without_copies(job: Job, copies: Mapping[Plan, Plan]) -> set[Plan]:
    """Return the operators that are lowered: those of the plans, except those that only copies read."""
    found: set[Plan] = set()
    waiting = [insert.query for insert in job.inserts]
    while waiting:
        plan = waiting.pop()
        if plan not in found:
            found.add(plan)
            waiting += [] if plan in copies else inputs_of(plan)
    return found


def lower_copy(draft: Draft, plan: Plan, original: Plan, rows: int) -> int:
    """Append the ports for the late rows of a copy; return the vertex of its rows."""
    for own, theirs in zip(operators(plan), operators(original), strict=True):
        draft.copy_late_port(own, theirs)
    renumber = Map(Renumber(least_scan_number(plan)))
    return draft.add(Vertex(renumber, (rows,), plan.schema, depth(plan), draft[rows].origin))


@dataclass(frozen=True, slots=True)
class _Shape:
    """A number for what an operator computes, regardless of scan numbers, and its least scan number."""

    number: int
    scan: int


def _shape(
    plan: Plan, shapes: Mapping[Plan, _Shape], numbers: dict[tuple[object, ...], int]
) -> _Shape:
    inputs = [shapes[below] for below in plan.inputs]
    own: tuple[object, ...]
    if isinstance(plan, Scan):
        own, scan = (plan.table,), plan.scan_number
    else:
        scan = min(below.scan for below in inputs)
        values = [getattr(plan, each.name) for each in dataclasses.fields(plan)]
        own = tuple(value for value in values if not _is_input(value))
    below = tuple((each.number, each.scan - scan) for each in inputs)
    return _Shape(numbers.setdefault((type(plan), *own, below), len(numbers)), scan)


def _is_input(value: object) -> bool:
    return isinstance(value, Plan) or (
        isinstance(value, tuple) and any(isinstance(each, Plan) for each in value)
    )
