"""Which window aggregates are computed from slices, and what prevents it for others.

Overlapping windows have most of their rows in common.  The rows of a **slice** are in the same windows: for
HOP, those between two neighbouring bounds of windows.  An aggregate that merges (`aggregate_algebra`) is
computed once for each slice, and the windows are computed from slices, so a row costs the same however many
windows it is in.

    WindowAggregate ─▶ Project, Filter, … ─▶ AssignWindows ─▶ rows            rows that are never removed
                                          └▶ Filter(window_end <= column)     (CUMULATE: windows up to an end)

It is possible if the group depends on the window only by keys that are its bounds: no condition in between,
no other key and no argument reads a bound.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from fsql.compiler.aggregate_algebra import algebra_of
from fsql.compiler.expression import Call, ColumnRef
from fsql.compiler.logical import (
    AssignWindows,
    Filter,
    Project,
    WindowAggregate,
    WindowBound,
    append_only,
)
from fsql.compiler.node import walk
from fsql.compiler.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fsql.compiler.logical import Plan
    from fsql.compiler.node import Node

_BOUNDS: Final = tuple(WindowBound)


@dataclass(frozen=True, slots=True)
class Slicing:
    """How a window aggregate is computed from slices.

    `windows` are those of its rows, up to the column `until` if there is one; `between` are the filters and
    projections above, the lowest first.  `bounds` are the columns of its input with bounds of windows.
    """

    windows: AssignWindows
    until: int | None
    between: tuple[Filter | Project, ...]
    bounds: Mapping[int, WindowBound]


@lru_cache(maxsize=256)
def slicing_of(plan: WindowAggregate) -> Slicing | None:
    """Return how an aggregate is computed from slices, None if it is not."""
    found = _find(plan)
    return found if isinstance(found, Slicing) else None


def why_not_sliced(plan: WindowAggregate) -> str | None:
    """Return why each row of an aggregate of overlapping windows is copied into each of its windows.

    None if it is not, or if windows do not overlap.
    """
    found = _find(plan)
    return found if isinstance(found, str) else None


def windows_of_row(plan: WindowAggregate) -> int:
    """Return how many windows a row of an aggregate is in, at most."""
    below: Plan = plan.input
    while isinstance(below, Filter | Project):
        below = below.input
    if not isinstance(below, AssignWindows):
        return 1
    return -(-below.size_us // below.slide_us)


def inputs_of(plan: Plan) -> tuple[Plan, ...]:
    """Return the operators whose rows an operator reads in the graph."""
    slicing = slicing_of(plan) if isinstance(plan, WindowAggregate) else None
    return plan.inputs if slicing is None else (slicing.windows.input,)


def _find(  # noqa: C901, PLR0911, PLR0912 - one line for each condition
    plan: WindowAggregate,
) -> Slicing | str | None:
    between: list[Filter | Project] = []
    below = plan.input
    while isinstance(below, Filter | Project):
        between.insert(0, below)
        below = below.input
    if not isinstance(below, AssignWindows) or below.size_us <= below.slide_us:
        return None
    width = len(below.input.schema)
    bounds: dict[int, WindowBound] = dict(zip(range(width, width + 3), _BOUNDS, strict=True))
    until = _until(between[0], width) if between else None
    if until is not None:
        del between[0]
    if not plan.final:
        return "each row changes the results of all of its windows (EMIT CHANGES)"
    if not append_only(plan.input):
        return "rows can be removed"
    if below.zone != "UTC":
        return "windows are in local time"
    for each in between:
        if isinstance(each, Filter):
            if _reads(bounds, (each.predicate,)):
                return "a condition reads the bounds of windows"
            continue
        kept = {}
        for index, expression in enumerate(each.expressions):
            if isinstance(expression, ColumnRef) and expression.index in bounds:
                kept[index] = bounds[expression.index]
            elif _reads(bounds, (expression,)):
                return "a column is computed from the bounds of windows"
        bounds = kept
    if bounds.get(plan.window_end) is not WindowBound.END:
        return "the end of the window is not that of its rows"
    if any(_reads(bounds, (key,)) for key in plan.keys if not isinstance(key, ColumnRef)):
        return "a key is computed from the bounds of windows"
    if _reads(bounds, plan.aggregates):
        return "an aggregate reads the bounds of windows"
    for call in plan.aggregates:
        if not algebra_of(call).merges:
            return f"{call.function.value} depends on the order in which rows arrive"
    return Slicing(below, until, tuple(between), bounds)


def _reads(bounds: Iterable[int], nodes: Iterable[Node]) -> bool:
    """Return whether one of some expressions reads one of these columns."""
    return any(
        isinstance(node, ColumnRef) and node.index in bounds
        for root in nodes
        for node in walk(root)
    )


def _until(plan: Filter | Project, width: int) -> int | None:
    """Return the column below windows that their ends must not exceed, if that is the condition."""
    if not isinstance(plan, Filter):
        return None
    match plan.predicate:
        case Call(function="le", arguments=(ColumnRef(index=end), ColumnRef(index=until))) if (
            end == width + 1 and until < width
        ):
            return until
        case _:
            return None
