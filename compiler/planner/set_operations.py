"""UNION, INTERSECT and EXCEPT, over rows that are equal where NULL equals NULL.

INTERSECT and EXCEPT are an aggregate of both sides by all columns, which counts the rows of each:

    left   a a b        a: 2, 0   b: 1, 1   c: 0, 1        INTERSECT  b        EXCEPT  a
    right  b c

With ALL, equal rows of a side are numbered first: the second `a` matches the second `a`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.expression import AggregateCall, AggregateFunction, Literal
from fsql.compiler.functions.calls import call
from fsql.compiler.logical import (
    Aggregate,
    FrameEnd,
    Over,
    OverCall,
    Plan,
    Project,
    Rank,
    RankFunction,
    Union,
    append_only,
)
from fsql.compiler.planner.rows import column_refs, filter_relation, project
from fsql.compiler.sqltypes import BIGINT

if TYPE_CHECKING:
    from collections.abc import Sequence


_COUNT_ALL = AggregateCall(AggregateFunction.COUNT, None, BIGINT, nullable=False)


def union_all(branches: Sequence[Plan]) -> Plan:
    """Return all rows of branches that have columns of the same types; adjacent ones become one operator."""
    return Union(
        tuple(
            inner
            for branch in branches
            for inner in (branch.branches if isinstance(branch, Union) else (branch,))
        )
    )


def matched_rows(left: Plan, right: Plan, *, present: bool, all_rows: bool) -> Plan:
    """Return the rows of `left` that are `present` on the right, or are not; with `all_rows` each for one."""
    names = _names(left)
    sides = [_number_rows(side) for side in (left, right)] if all_rows else [left, right]
    one, none = (Literal(BIGINT, nullable=value is None, value=value) for value in (1, None))
    marked = [
        Project(side, (*column_refs(side), *marks), (*_names(side), "left", "right"))
        for side, marks in zip(sides, ((one, none), (none, one)), strict=True)
    ]
    both = Union(tuple(marked))
    *keys, in_left, in_right = column_refs(both)
    counts = tuple(
        AggregateCall(AggregateFunction.COUNT, mark, BIGINT, nullable=False)
        for mark in (in_left, in_right)
    )
    rows = Aggregate(both, tuple(keys), _names(both)[: len(keys)], counts, ("left", "right"))
    lefts, rights = column_refs(rows)[len(keys) :]
    zero = Literal(BIGINT, nullable=False, value=0)
    wanted = call("gt" if present else "eq", rights, zero)
    kept = filter_relation(rows, [call("gt", lefts, zero), wanted])
    return project(kept, column_refs(kept)[: len(names)], names)


def distinct_rows(plan: Plan) -> Plan:
    """Return the distinct rows, for UNION without ALL."""
    return Aggregate(plan, tuple(column_refs(plan)), _names(plan), (), ())


def _number_rows(plan: Plan) -> Plan:
    """Return the rows with a number that distinguishes equal ones, from 1."""
    rows = tuple(column_refs(plan))
    if append_only(plan):
        return Over(plan, rows, (OverCall(_COUNT_ALL, FrameEnd.CURRENT_ROW),), ("number",))
    return Rank(plan, rows, (), RankFunction.ROW_NUMBER, "number")


def _names(plan: Plan) -> tuple[str, ...]:
    return tuple(column.name for column in plan.schema)
