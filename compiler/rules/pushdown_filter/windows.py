"""Filters on a row's own columns move below its assignment to windows.

A row is in several hopping windows, so this saves the most where it is legal.  But the assignment can
fail: a window may reach out of the years 1 to 9999, and a row that fails there has to fail whatever
the predicate says of it.  So the filter that moves lets these rows through: they are those with a time
before some timestamp or after another, which are known from the windows alone.
"""

from __future__ import annotations

import dataclasses
from functools import reduce

from fsql.compiler.expression import Call, ColumnRef, Expression, Literal
from fsql.compiler.logical import AssignWindows, Filter, Plan
from fsql.compiler.rules.columns import columns_of
from fsql.compiler.rules.conjuncts import conjunction, split_movable
from fsql.compiler.sqltypes import BOOLEAN, TIMESTAMP_MAX, TIMESTAMP_MIN


def pushdown_filter_windows(node: Filter) -> Plan | None:
    """`Filter(AssignWindows(x), p AND q)` → `Filter(AssignWindows(Filter(x, p OR t)), q)`.

    This is for p over x's columns that cannot fail (it comes to see rows that are in no window), and t
    TRUE for exactly the rows that AssignWindows fails.
    """
    below = node.input
    if not isinstance(below, AssignWindows) or below.zone != "UTC":
        return None
    width = len(below.input.schema)
    moved, kept = split_movable(
        node.predicate, lambda conjunct: all(index < width for index in columns_of(conjunct))
    )
    low, high = times_with_windows(below)
    if not moved or low > TIMESTAMP_MAX or high < TIMESTAMP_MIN:
        return None
    time = ColumnRef(
        below.input.schema[below.time_column].type, nullable=False, index=below.time_column
    )
    failing: list[Expression] = []
    if low > TIMESTAMP_MIN:
        failing.append(_comparison("lt", time, low))
    if high < TIMESTAMP_MAX:
        failing.append(_comparison("gt", time, high))
    predicate = reduce(_or, failing, conjunction(moved))
    made = dataclasses.replace(below, input=Filter(below.input, predicate))
    return Filter(made, conjunction(kept)) if kept else made


def times_with_windows(plan: AssignWindows) -> tuple[int, int]:
    """Return the least and the greatest time whose windows lie within the range of TIMESTAMP.

    >>> from fsql.compiler.logical import Scan, Table, TimeKind
    >>> rows = Scan(Table("t", 0, (), (), TimeKind.START), 0)
    >>> low, high = times_with_windows(AssignWindows(rows, 0, size_us=10, slide_us=4))
    >>> low - TIMESTAMP_MIN, high - TIMESTAMP_MAX
    (6, -8)
    """
    # The least start in range; the window before it ends, and with it the times that have it.
    start = plan.offset_us - (plan.offset_us - TIMESTAMP_MIN) // plan.slide_us * plan.slide_us
    low = start + plan.size_us - plan.slide_us
    # The greatest start whose end is in range; the next window begins, and with it the times.
    room = TIMESTAMP_MAX - plan.size_us - plan.offset_us
    high = plan.offset_us + (room // plan.slide_us + 1) * plan.slide_us - 1
    return low, high


def _comparison(function: str, time: ColumnRef, bound: int) -> Expression:
    limit = Literal(time.type, nullable=False, value=bound)
    return Call(BOOLEAN, nullable=False, function=function, arguments=(time, limit))


def _or(left: Expression, right: Expression) -> Expression:
    return Call(BOOLEAN, left.nullable or right.nullable, "or", (left, right))
