"""An analysis of plans: which event-time columns are the end, or the time, of the window of a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.analysis.properties import Bound
from fsql.compiler.expression import ColumnRef
from fsql.compiler.logical import (
    AssignSessions,
    AssignWindows,
    CountLateRows,
    Filter,
    Join,
    LateralAggregate,
    Over,
    Plan,
    Project,
    Rank,
    Union,
    Unnest,
    WindowAggregate,
    operators,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Bounds = Mapping[int, Bound]

_NONE: Final[Bounds] = {}


def window_ends(plan: Plan) -> Bounds:
    """Return the columns of `plan` that are the end or the time of a window, and event time.

    Unlike `window_columns`, it does not state which operator assigned the windows: there may be several.
    """
    found: dict[Plan, Bounds] = {}
    for node in operators(plan):
        found[node] = _bounds(node, [found[below] for below in node.inputs])
    schema = plan.schema
    return {index: bound for index, bound in found[plan].items() if schema[index].time_attribute}


def _bounds(plan: Plan, below: Sequence[Bounds]) -> Bounds:
    match plan:
        case Filter() | Unnest() | LateralAggregate() | Over() | Rank() | CountLateRows():
            return below[0]
        case AssignWindows() | AssignSessions():
            first = len(plan.schema) - len(Bound)
            added = {first + place: bound for place, bound in enumerate(Bound) if place > 0}
            return {**below[0], **added}
        case Project(expressions=values) | WindowAggregate(keys=values):
            return {
                place: below[0][value.index]
                for place, value in enumerate(values)
                if isinstance(value, ColumnRef) and value.index in below[0]
            }
        case Union():
            first_branch, *others = below
            return {
                index: bound
                for index, bound in first_branch.items()
                if all(other.get(index) is bound for other in others)
            }
        case Join(left=left):
            width = len(left.schema)
            return {**below[0], **{width + index: bound for index, bound in below[1].items()}}
        case _:
            return _NONE
