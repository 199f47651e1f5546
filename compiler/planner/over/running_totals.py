"""Frames in an order that is not that of event time: `SUM(x) OVER (PARTITION BY k ORDER BY y)`.

Each row may precede others, and so change their frames.  The result is updating, and is composed of updating
operators, by the positions of rows in the order:

    SUM(x) OVER (PARTITION BY k ORDER BY y)
        →  positions: SELECT DISTINCT k, y FROM rows
        →  rows JOIN (SELECT positions.k, positions.y, SUM(x) FROM rows JOIN positions ON k = k AND y <= y
                      GROUP BY positions.k, positions.y) ON k = k AND y = y

    RANGE 10 PRECEDING      y BETWEEN positions.y - 10 AND positions.y
    GROUPS 2 PRECEDING      the same by DENSE_RANK
    ROWS 2 PRECEDING        the same by ROW_NUMBER

With ROWS whose ends are the row or its neighbours, rows that are equal in the order are numbered instead, so
that a row does not change the numbers of all others.  EXCLUDE compares positions with rows as well.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from fsql.compiler.analysis.properties import window_columns
from fsql.compiler.bound.aggregates import in_order, value_in_order
from fsql.compiler.bound.over import RankCall, comparable_key
from fsql.compiler.diagnostics.refusal import not_implemented
from fsql.compiler.expression import ColumnRef, Literal
from fsql.compiler.functions.calls import call, combine_balanced, make_call
from fsql.compiler.logical import JoinKind, OrderKey, Plan, Project, RankFunction
from fsql.compiler.planner.grouping import check_windowed
from fsql.compiler.planner.over.rank import rank, windowed_partition
from fsql.compiler.planner.over.ties import ascending, is_unique
from fsql.compiler.planner.over.unordered_frames import (
    equal_keys,
    group_rows,
    join_groups,
    join_rows,
    names_of,
)
from fsql.compiler.planner.rows import ZERO, column_refs, filter_relation
from fsql.compiler.sqltypes import BOOLEAN

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fsql.compiler.bound.over import FrameEdge, OrderedFrame, Ordering, RunningCall
    from fsql.compiler.expression import Expression
    from fsql.compiler.text.source import Span

    Order = tuple[OrderKey, ...]


_FALSE: Final = Literal(BOOLEAN, nullable=False, value=False)


def add_partition_frames(
    plan: Plan,
    ordering: Ordering,
    ties: Order,
    calls: Sequence[RunningCall],
    span: Span,
) -> Plan:
    """Return `plan` with a column for each call; `ties` order equal rows, if another operator moved them.

    Raises:
        Refusal: E301 within windows; E305.
    """
    partition, order = ordering
    if windowed_partition(plan, partition):
        raise not_implemented(
            "running total of rows of a window that are not in the order of event time",
            span,
            help="order by the event-time column, ascending",
        )
    check_windowed(plan, window_columns(plan), span, clause="PARTITION BY")
    if any(make_call("lt", each.expression, each.expression) is None for each in order):
        raise not_implemented(
            "running total in the order of an ARRAY, ROW or MAP", span, help="order by its parts"
        )
    frames: dict[OrderedFrame, list[int]] = {}
    for index, each in enumerate(calls):
        frames.setdefault(each.ordered_frame, []).append(index)
    numbered = _number(plan, ordering, ties, frames, span)
    rows = numbered.rows
    made, columns = rows, dict.fromkeys(range(len(calls)), 0)
    for frame, indexes in frames.items():
        columns |= {index: len(made.schema) + i for i, index in enumerate(indexes)}
        pairs = _Pairs(numbered, partition, frame)
        written = [calls[index].call.aggregate for index in indexes]
        aggregates = [in_order(each, pairs.order) for each in written]
        grouped = group_rows(pairs.rows_of_frames(), pairs.position_columns(), aggregates)
        equal = equal_keys(pairs.own_position(), grouped)
        # A frame without its row may be empty.
        kind = JoinKind.INNER if frame.has_row else JoinKind.LEFT
        made = join_groups(made, grouped, equal, kind, aggregates)
    width, values = len(plan.schema), column_refs(made)
    kept = [*values[:width]]
    kept += [
        value_in_order(values[columns[index]], each.call.aggregate)
        for index, each in enumerate(calls)
    ]
    names = [column.name for column in plan.schema]
    names += names_of([each.call.aggregate for each in calls])
    return Project(made, tuple(kept), tuple(names))


class _Numbered(NamedTuple):
    """Rows with the columns by which frames find them: see `_number`."""

    rows: Plan
    order: Order
    by_row: Order
    by_rank: Order
    by_group: Order


def _number(
    plan: Plan,
    ordering: Ordering,
    ties: Order,
    frames: Iterable[OrderedFrame],
    span: Span,
) -> _Numbered:
    """Return the rows with what frames need; `ties` order equal rows, if there are any.

    These are ORDER BY with a number of each row among equal ones, so that no two rows are equal; the number
    of each row in the partition; and that of its group of equal rows.
    """
    partition, order = ordering
    rows, by_row, by_rank, by_group = plan, (*order, *ties), order, order
    by_rows = any(
        (each.unit == "ROWS" and not _has_offset(each)) or _tells_rows_apart(each)
        for each in frames
    )
    if by_rows and not ties and not (order and is_unique(plan, ordering)):
        equal = (*partition, *(key.expression for key in order))
        number = RankCall(RankFunction.ROW_NUMBER, equal, order)
        rows = rank(rows, number, "number", None, span)
        by_row = (*order, ascending(rows))
    if any(each.unit == "ROWS" and _has_offset(each) for each in frames):
        rows = rank(rows, RankCall(RankFunction.ROW_NUMBER, partition, by_row), "rank", None, span)
        by_rank = (ascending(rows),)
    if any(each.unit == "GROUPS" and _has_offset(each) for each in frames):
        rows = rank(rows, RankCall(RankFunction.DENSE_RANK, partition, order), "group", None, span)
        by_group = (ascending(rows),)
    return _Numbered(rows, order, by_row, by_rank, by_group)


def numbers_equal_rows(frame: OrderedFrame) -> bool:
    """Return whether rows that are equal in ORDER BY may have different frames."""
    return frame.unit == "ROWS" or _tells_rows_apart(frame)


def _has_offset(frame: OrderedFrame) -> bool:
    """Return whether a frame is found by numbers: its ends are not only a row, or the one next to it."""
    if frame.unit == "ROWS" and _excludes_own_row(frame):
        return False
    return any(edge is not None and edge.offset is not None for edge in (frame.start, frame.end))


def _excludes_own_row(frame: OrderedFrame) -> bool:
    """Return whether a ROWS frame has all rows before its row, or all after it."""
    if frame.end is None and frame.start is not None:
        return frame.start.following and _is_one(frame.start)
    if frame.start is None and frame.end is not None:
        return not frame.end.following and _is_one(frame.end)
    return False


def _is_one(edge: FrameEdge) -> bool:
    return isinstance(edge.offset, Literal) and edge.offset.value == 1


def _tells_rows_apart(frame: OrderedFrame) -> bool:
    """Return whether EXCLUDE makes frames of equal rows differ."""
    return frame.excluded in {"CURRENT ROW", "TIES"}


class _Pairs:
    """The rows of each frame, with the position that has the frame."""

    def __init__(
        self,
        numbered: _Numbered,
        partition: tuple[Expression, ...],
        frame: OrderedFrame,
    ) -> None:
        self._rows = numbered.rows
        self._partition = partition
        self._frame = frame
        self._peers = numbered.order
        self._by_row = numbered.by_row
        counted = _has_offset(frame)
        if frame.unit == "ROWS":
            self.order = numbered.by_rank if counted else numbered.by_row
        elif frame.unit == "GROUPS":
            self.order = numbered.by_group if counted else numbered.order
        else:
            self.order = numbered.order
            if counted:
                key = comparable_key(frame, numbered.order)
                self.order = (replace(numbered.order[0], expression=key),)
        self._positions = group_rows(self._rows, self.own_position(), ())

    def own_position(self) -> tuple[Expression, ...]:
        """Return the expressions of each row's position, over the columns of the rows."""
        keys = list(self.order)
        if self._frame.excluded is not None:
            keys += self._by_row if _tells_rows_apart(self._frame) else self._peers
        return (*self._partition, *dict.fromkeys(key.expression for key in keys))

    def position_columns(self) -> tuple[Expression, ...]:
        """Return the columns of `rows_of_frames` that have the position."""
        first = len(self._rows.schema)
        return tuple(
            ColumnRef(column.type, column.nullable, first + index)
            for index, column in enumerate(self._positions.schema)
        )

    def rows_of_frames(self) -> Plan:
        """Return each position with the rows of its frame."""
        pairs = equal_keys(self._partition, self._positions) or [(ZERO, ZERO)]
        both = join_rows(self._rows, self._positions, pairs, JoinKind.INNER)
        start, end = self._frame.start, self._frame.end
        conditions = []
        if start is not None:
            conditions.append(self._is_within(start, is_start=True))
        if end is not None:
            conditions.append(self._is_within(end, is_start=False))
        if self._frame.excluded is not None:
            conditions.append(call("not", self._is_excluded()))
        return filter_relation(both, conditions)

    def _theirs(self, mine: Expression) -> Expression:
        """Return the column of the position for an expression over the row."""
        return self.position_columns()[self.own_position().index(mine)]

    def _is_within(self, edge: FrameEdge, *, is_start: bool) -> Expression:
        """Return whether the row is not before the start of the frame, or not after its end."""
        keys = [(key, key.expression, self._theirs(key.expression)) for key in self.order]
        if self._frame.unit == "ROWS" and _excludes_own_row(self._frame):
            return _lexicographic(keys, own_first=not is_start)
        if edge.offset is not None:
            ((key, mine, theirs),) = keys
            adds = edge.following != key.descending
            keys = [(key, mine, call("add" if adds else "subtract", theirs, edge.offset))]
        return call("not", _lexicographic(keys, own_first=is_start))

    def _is_excluded(self) -> Expression:
        """Return whether EXCLUDE leaves the row out."""
        equal = self._equals(self._peers)
        if self._frame.excluded == "GROUP":
            return equal
        same = self._equals(self._by_row)
        return (
            same if self._frame.excluded == "CURRENT ROW" else call("and", equal, call("not", same))
        )

    def _equals(self, keys: Order) -> Expression:
        return combine_balanced(
            "and", [_equal(key.expression, self._theirs(key.expression)) for key in keys]
        )


def _lexicographic(
    keys: Sequence[tuple[OrderKey, Expression, Expression]], *, own_first: bool
) -> Expression:
    """Return whether the row is before the position, or with `own_first` False after it."""
    before: Expression | None = None
    for key, mine, theirs in reversed(keys):
        one, other = (mine, theirs) if own_first else (theirs, mine)
        first = _before(one, other, key)
        if before is not None:
            first = call("or", first, call("and", _equal(mine, theirs), before))
        before = first
    assert before is not None
    return before


def _before(one: Expression, other: Expression, key: OrderKey) -> Expression:
    """Return whether one value precedes another in the order."""
    less = call("gt" if key.descending else "lt", one, other)
    if not (one.nullable or other.nullable):
        return less
    null, value = (one, other) if key.nulls_first else (other, one)
    with_null = call("and", call("is_null", null), call("is_not_null", value))
    return call("or", with_null, call("coalesce", less, _FALSE))


def _equal(one: Expression, other: Expression) -> Expression:
    """Return whether two values are equal, or both NULL."""
    equal = call("eq", one, other)
    if not (one.nullable or other.nullable):
        return equal
    both = call("and", call("is_null", one), call("is_null", other))
    return call("or", both, call("coalesce", equal, _FALSE))
