"""Running totals in an order that is not that of event time: `SUM(x) OVER (PARTITION BY k ORDER BY y)`.

Each row may precede others, and so change their totals.  The result is updating, and is composed of updating
operators, by the positions of rows in the order:

    SUM(x) OVER (PARTITION BY k ORDER BY y)
        →  positions: SELECT DISTINCT k, y FROM rows
        →  rows JOIN (SELECT positions.k, positions.y, SUM(x) FROM rows JOIN positions ON k = k AND y <= y
                      GROUP BY positions.k, positions.y) ON k = k AND y = y

With ROWS, rows that are equal in the order are numbered, so that each has a distinct position.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.analysis.properties import derived_keys, window_columns
from fsql.compiler.binder.group import check_windowed
from fsql.compiler.binder.join import ZERO
from fsql.compiler.binder.operators import call, make_call
from fsql.compiler.binder.rank import RankCall, rank, windowed_partition
from fsql.compiler.binder.relation import column_refs, filter_relation
from fsql.compiler.binder.report import not_implemented
from fsql.compiler.binder.unordered_frames import (
    equal_keys,
    group_rows,
    in_order,
    join_groups,
    join_rows,
    names_of,
)
from fsql.compiler.expression import ColumnRef, Literal
from fsql.compiler.logical import FrameEnd, JoinKind, OrderKey, Plan, Project, RankFunction
from fsql.compiler.sqltypes import BOOLEAN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.binder.running_call import RunningCall
    from fsql.compiler.expression import Expression
    from fsql.compiler.text.source import Span

    Order = tuple[OrderKey, ...]

_FALSE: Final = Literal(BOOLEAN, nullable=False, value=False)


def add_partition_frames(
    plan: Plan,
    partition: tuple[Expression, ...],
    order: Order,
    calls: Sequence[RunningCall],
    span: Span,
) -> Plan:
    """Return `plan` with a column for each call; a frame is from the row to one end of its partition.

    Raises:
        Refusal: E301 within windows and for other frames; E305.
    """
    if windowed_partition(plan, partition):
        raise not_implemented(
            "running total of rows of a window that are not in the order of event time",
            span,
            help="order by the event-time column, ascending",
        )
    check_windowed(plan, window_columns(plan), span, clause="PARTITION BY")
    if any(each.call.aggregate.parameter is not None for each in calls):
        raise not_implemented("NTH_VALUE in this order", span)
    if any(each.call.end_preceding for each in calls):
        raise not_implemented(
            "this window frame in this order",
            span,
            help="write ROWS UNBOUNDED PRECEDING, or numbers of rows at both ends",
        )
    if any(make_call("lt", each.expression, each.expression) is None for each in order):
        raise not_implemented(
            "running total in the order of an ARRAY, ROW or MAP", span, help="order by its parts"
        )
    rows, by_row = plan, order
    if not all(each.peers for each in calls) and not _is_unique(plan, partition, order):
        equal = (*partition, *(key.expression for key in order))
        number = RankCall(RankFunction.ROW_NUMBER, equal, order)
        rows = rank(plan, number, "number", None, span)
        by_row = (*order, OrderKey(column_refs(rows)[-1], descending=False, nulls_first=False))
    frames: dict[tuple[bool, bool, bool], list[int]] = {}
    for index, each in enumerate(calls):
        exclusive = each.call.frame_end is FrameEnd.ONE_PRECEDING
        frames.setdefault((each.peers, each.to_end, exclusive), []).append(index)
    made, columns = rows, dict.fromkeys(range(len(calls)), 0)
    for (peers, to_end, exclusive), indexes in frames.items():
        columns |= {index: len(made.schema) + i for i, index in enumerate(indexes)}
        keys = order if peers else by_row
        aggregates = [in_order(calls[index].call.aggregate, keys) for index in indexes]
        totals = _Totals(rows, partition, keys)
        below = totals.pairs(to_end=to_end, exclusive=exclusive)
        grouped = group_rows(below, totals.position_columns(), aggregates)
        pairs = equal_keys(totals.own_position(), grouped)
        # A frame without its row may be empty.
        kind = JoinKind.LEFT if exclusive else JoinKind.INNER
        made = join_groups(made, grouped, pairs, kind, aggregates)
    width, values = len(plan.schema), column_refs(made)
    kept = [*values[:width], *(values[columns[index]] for index in range(len(calls)))]
    names = [column.name for column in plan.schema]
    names += names_of([each.call.aggregate for each in calls])
    return Project(made, tuple(kept), tuple(names))


def _is_unique(plan: Plan, partition: Sequence[Expression], order: Order) -> bool:
    """Return whether no two rows are equal in partition and order."""
    ordered = (*partition, *(key.expression for key in order))
    columns = {each.index for each in ordered if isinstance(each, ColumnRef)}
    return any(columns.issuperset(key) for key in derived_keys(plan))


class _Totals:
    """The rows of a partition with the positions that are not before, or not after them."""

    def __init__(self, rows: Plan, partition: tuple[Expression, ...], order: Order) -> None:
        self._rows = rows
        self._partition = partition
        self._order = order
        self._positions = group_rows(rows, self.own_position(), ())

    def own_position(self) -> tuple[Expression, ...]:
        """Return the expression of each row's position, over the columns of the rows."""
        return (*self._partition, *(key.expression for key in self._order))

    def position_columns(self) -> tuple[Expression, ...]:
        """Return the columns of `pairs` that have the position."""
        first = len(self._rows.schema)
        return tuple(
            ColumnRef(column.type, column.nullable, first + index)
            for index, column in enumerate(self._positions.schema)
        )

    def pairs(self, *, to_end: bool, exclusive: bool) -> Plan:
        """Return each position with the rows of its frame."""
        pairs = equal_keys(self._partition, self._positions) or [(ZERO, ZERO)]
        both = join_rows(self._rows, self._positions, pairs, JoinKind.INNER)
        of_position = self.position_columns()[len(self._partition) :]
        within: Expression | None = None
        for key, theirs in zip(reversed(self._order), reversed(of_position), strict=True):
            mine = key.expression
            first, second = (theirs, mine) if to_end else (mine, theirs)
            if within is None:
                within = (
                    _before(first, second, key)
                    if exclusive
                    else call("not", _before(second, first, key))
                )
                continue
            within = call(
                "or", _before(first, second, key), call("and", _equal(mine, theirs), within)
            )
        assert within is not None
        return filter_relation(both, [within])


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
