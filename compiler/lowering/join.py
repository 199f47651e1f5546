"""`Join`: both sides meet in the buckets of one cycle.

left ─▶ Map(Side 0) ─┐
                     ├─▶ Merge ─▶ the cycle of `cycle`, bucketed by the keys of the row's side
right ─▶ Map(Side 1) ┘

If the join has hot keys, the rows of both sides first get one more key, the part:

left ─▶ Map(ToParts) ─▶ Map(Side 0) ─ … ─▶ the cycle ─▶ Map(Compute), without the parts
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.analysis.delays import join_delay_us
from fsql.compiler.analysis.window_changes import equal_bounds
from fsql.compiler.expression import Call, Case, ColumnRef, Literal
from fsql.compiler.functions.null_safe import instead_of_null
from fsql.compiler.graph import Closing, CombineJoin, Compute, Map, Side, ToParts, Vertex
from fsql.compiler.logical import append_only, depth, grain_us
from fsql.compiler.lowering.cycle import add_cycle
from fsql.compiler.schema import Column
from fsql.compiler.sqltypes import BIGINT, BOOLEAN, INT

if TYPE_CHECKING:
    from fsql.compiler.expression import Expression
    from fsql.compiler.logical import HotKeys, Join
    from fsql.compiler.lowering.draft import Draft

    Keys = tuple[Expression, ...]

_PART = Column("part", BIGINT, nullable=False)


def lower_join(draft: Draft, plan: Join, left: int, right: int) -> int:
    """Append the vertices of `plan` after its sides; return the vertex of the pairs."""
    left_keys, right_keys = _keys(plan)
    hot = plan.hot_keys
    if hot is not None:
        left, left_keys = _add_parts(draft, hot, 0, left, left_keys)
        right, right_keys = _add_parts(draft, hot, 1, right, right_keys)
    sides = tuple(
        draft.add_after(Map(Side(side)), rows, type(plan).__name__)
        for side, rows in enumerate((left, right))
    )
    combine = CombineJoin(
        left_keys,
        right_keys,
        left_width=len(draft[left].schema),
        right_width=len(draft[right].schema),
        left_depth=depth(plan.left),
        right_depth=depth(plan.right),
        time_range=plan.time_range,
        delay_us=join_delay_us(plan),
        grain_us=grain_us(plan),
        input_append_only=not plan.once and append_only(plan),
        kind=plan.kind,
        closing=_closing(plan),
        by_position=hot is not None,
        once=plan.once,
        condition=plan.condition,
        broadcast=plan.broadcast,
    )
    keys = left_keys, right_keys
    if hot is None:
        return add_cycle(draft, plan, combine, keys, sides)
    width = combine.left_width
    # A part is a key, and no column of the result: that has the columns of both sides without it.
    made = (*plan.schema[: width - 1], _PART, *plan.schema[width - 1 :], _PART)
    pairs = add_cycle(draft, plan, combine, keys, sides, made=made)
    columns = tuple(
        ColumnRef(column.type, column.nullable, index)
        for index, column in enumerate(made)
        if column is not _PART
    )
    levels, name = draft[pairs].depth, type(plan).__name__
    return draft.add(Vertex(Map(Compute(columns)), (pairs,), plan.schema, levels, name))


def _add_parts(draft: Draft, hot: HotKeys, side: int, rows: int, keys: Keys) -> tuple[int, Keys]:
    """Append the parts to the rows of a side; return their vertex, and the keys with the part."""
    function = ToParts(keys[hot.number], hot.values, hot.parts, copied=side != hot.divided)
    below = draft[rows]
    schema = (*below.schema, _PART)
    vertex = Vertex(Map(function), (rows,), schema, below.depth, "Join")
    part = ColumnRef(_PART.type, _PART.nullable, len(below.schema))
    return draft.add(vertex), (*keys, part)


def _closing(plan: Join) -> Closing | None:
    """Return when windows close, if updating rows of windows are joined on equal bounds; else None."""
    equal = equal_bounds(plan)
    return None if equal is None else Closing(equal.key, equal.delay_us, grain_us(plan))


def _keys(plan: Join) -> tuple[Keys, Keys]:
    """Return the keys, without NULL on the sides whose rows are kept without a partner.

    On these sides NULL is replaced, and one more key distinguishes rows with a NULL key from all others, also
    of the other side, so that they match nothing.
    """
    keeps = plan.kind.keeps_left, plan.kind.keeps_right
    sides = plan.left_keys, plan.right_keys
    if not any(
        keep and any(key.nullable for key in keys) for keep, keys in zip(keeps, sides, strict=True)
    ):
        return sides
    left, right = (
        (*(_fill_null(key) for key in keys), _null_mark(keys, side + 1))
        if keep
        else (*keys, _integer(0))
        for side, (keep, keys) in enumerate(zip(keeps, sides, strict=True))
    )
    return left, right


def _fill_null(key: Expression) -> Expression:
    if not key.nullable:
        return key
    return Call(
        key.type, nullable=False, function="coalesce", arguments=(key, instead_of_null(key.type))
    )


def _null_mark(keys: Keys, mark: int) -> Expression:
    """Return `mark` where a key is NULL, else 0."""
    branches = tuple(
        (Call(BOOLEAN, nullable=False, function="is_null", arguments=(key,)), _integer(mark))
        for key in keys
        if key.nullable
    )
    if not branches:
        return _integer(0)
    return Case(INT, nullable=False, branches=branches, otherwise=_integer(0))


def _integer(value: int) -> Literal:
    return Literal(INT, nullable=False, value=value)
