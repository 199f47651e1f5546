"""The operators that process one row at a time: each becomes one Map.

| logical          | map function     |
|------------------|------------------|
| Filter           | Select           |
| Project          | Compute          |
| Unnest           | Explode          |
| LateralAggregate | ExplodeAggregate |
| AssignWindows    | ToWindows        |
| AssignExpiry     | ToExpiry         |
| AssignRowTime    | ToRowTime        |
| AssignEnd        | Compute          |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.graph import (
    Compute,
    Explode,
    ExplodeAggregate,
    Map,
    MapFunction,
    Select,
    ToExpiry,
    ToRowTime,
    ToWindows,
    Vertex,
)
from fsql.compiler.logical import (
    AssignEnd,
    AssignExpiry,
    AssignRowTime,
    AssignWindows,
    Filter,
    LateralAggregate,
    Project,
    Unnest,
)

if TYPE_CHECKING:
    from fsql.compiler.lowering.draft import Draft

RowOperator = (
    Filter
    | Project
    | Unnest
    | LateralAggregate
    | AssignWindows
    | AssignExpiry
    | AssignRowTime
    | AssignEnd
)


def lower_row_operator(draft: Draft, plan: RowOperator, rows: int) -> int:
    """Append the Map of `plan` after vertex `rows` and return it."""
    # `logical.depth` walks the whole plan, which is quadratic for long chains of these operators.
    unchanged = isinstance(plan, Filter | Project | AssignExpiry | AssignRowTime | AssignEnd)
    levels = draft[rows].depth if unchanged else draft[rows].depth + 1
    function = Map(_function(plan))
    return draft.add(Vertex(function, (rows,), plan.schema, levels, type(plan).__name__))


def _function(plan: RowOperator) -> MapFunction:  # noqa: PLR0911 - one line for each operator
    match plan:
        case Filter():
            return Select(plan.predicate)
        case Project() | AssignEnd():
            return Compute(plan.expressions)
        case Unnest():
            return Explode(plan.array, plan.ordinality_name is not None)
        case LateralAggregate():
            return ExplodeAggregate(
                plan.array, plan.ordinality, plan.predicate, plan.keys, plan.aggregates
            )
        case AssignWindows():
            return ToWindows(
                plan.time_column, plan.size_us, plan.slide_us, plan.offset_us, plan.zone
            )
        case AssignExpiry():
            return ToExpiry(plan.time_column, plan.wait_us, plan.delay_us, plan.grain_us)
        case AssignRowTime():
            return ToRowTime(plan.type)
