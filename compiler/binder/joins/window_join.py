"""Window joins: LEFT, RIGHT, FULL, SEMI and ANTI joins whose ON equates the ends of two windows.

A window is complete when it closes: a row without a partner then never gets one. The rows of both sides are
grouped by window and key, and each group is joined separately when its window closes:

    x LEFT JOIN y ON x.window_end = y.window_end AND x.k = y.k
        →  UNION ALL of (window end, k, row of x, NULL) and (window end, k, NULL, row of y)
        →  WindowAggregate by window end and k: ARRAY_AGG of the rows of x, and of those of y
        →  Unnest the rows of x, then those of y, or one that is NULL

So results are final, and state and event time are as for window aggregates.  Late rows are counted below the
UNION, where they are rows of their side.  A row that cannot
have a partner, because a key is NULL or a condition on its side is not TRUE, is in a group without the other
side.  Conditions over both sides choose among the partners of each row, by a `LateralAggregate`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.analysis.delays import delay_us
from fsql.compiler.analysis.properties import Bound, window_columns
from fsql.compiler.analysis.window_ends import window_ends
from fsql.compiler.binder.joins.join import always_on_time, columns_in, window_starts
from fsql.compiler.bound.pending import replace_pending
from fsql.compiler.expression import (
    AggregateCall,
    AggregateFunction,
    Case,
    Cast,
    ColumnRef,
    FieldAccess,
    Literal,
)
from fsql.compiler.functions.calls import call, combine_balanced
from fsql.compiler.logical import (
    REACHED,
    CountLateRows,
    JoinKind,
    LateralAggregate,
    Plan,
    Project,
    Union,
    Unnest,
    WindowAggregate,
    append_only,
    grain_us,
)
from fsql.compiler.planner.rows import column_refs, filter_relation
from fsql.compiler.records import dataclass
from fsql.compiler.sqltypes import INT, array_of, row_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fsql.compiler.analysis.properties import WindowColumns
    from fsql.compiler.bound.source_spans import SourceSpans
    from fsql.compiler.expression import Expression
    from fsql.compiler.sqltypes import SqlType

    Columns = tuple[int, int]
    Pair = tuple[Expression, Expression]


_LEFT: Final = 0
_RIGHT: Final = 1


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions of ON: equalities, conditions on one side over its own columns, and those over both."""

    equal: Sequence[Pair]
    of_left: Sequence[Expression]
    of_right: Sequence[Expression]
    of_both: Sequence[Expression]


def window_join(
    kind: JoinKind,
    left: Plan,
    right: Plan,
    on: Conditions,
    source_spans: SourceSpans,
    *,
    counts_late: bool,
) -> Plan | None:
    """Return the join of two windowed relations; None if it does not equate ends of windows."""
    if kind is JoinKind.INNER or not (append_only(left) and append_only(right)):
        return None
    ends = window_ends(left), window_ends(right)
    equal = [pair for each in on.equal if (pair := _columns_of(each)) is not None]
    end = next(
        (pair for pair in equal if _bounds(pair, ends) == (Bound.END, Bound.END)),
        None,
    ) or _end_by_start(equal, left, right)
    if end is None:
        return None
    bounds = [end]
    times = [[i for i, bound in known.items() if bound is Bound.TIME] for known in ends]
    if [len(found) for found in times] == [1, 1]:
        bounds.append((times[_LEFT][0], times[_RIGHT][0]))
    columns = window_columns(left), window_columns(right)
    bounds += [pair for pair in equal if all(map(_is_start, columns, pair))]
    return _WindowJoin(kind, (left, right), on, bounds, source_spans, counts_late).plan()


def _is_start(columns: WindowColumns, index: int) -> bool:
    column = columns[index]
    return column is not None and column.bound is Bound.START


def _columns_of(pair: Pair) -> Columns | None:
    """Return the columns to which a pair of keys refer."""
    left, right = pair
    if isinstance(left, ColumnRef) and isinstance(right, ColumnRef):
        return left.index, right.index
    return None


def _bounds(pair: Columns, ends: Sequence[Mapping[int, Bound]]) -> tuple[Bound | None, ...]:
    return tuple(known.get(index) for known, index in zip(ends, pair, strict=True))


def _end_by_start(equal: Sequence[Columns], left: Plan, right: Plan) -> Columns | None:
    """Return the ends of windows that are equal because their starts and their sizes are equal."""
    starts = window_starts(left), window_starts(right)
    for pair in equal:
        found = [known.get(index) for known, index in zip(starts, pair, strict=True)]
        one, other = found
        if one is not None and other is not None and one[1] == other[1]:
            return one[0], other[0]
    return None


@dataclass(frozen=True, slots=True)
class _WindowJoin:
    """One window join; `bounds` are the bounds of the window that both sides have, the end first."""

    kind: JoinKind
    sides: tuple[Plan, Plan]
    on: Conditions
    bounds: Sequence[Columns]
    source_spans: SourceSpans
    counts_late: bool

    def plan(self) -> Plan:
        """Return the columns of both sides; for SEMI and ANTI those of the left side."""
        groups = self._groups()
        if not self.on.of_both:
            return self._products(groups)
        kept = (self.kind.keeps_left or not self.kind.makes_pairs, self.kind.keeps_right)
        if kept == (True, True):
            alone = self._filter_groups(groups, _RIGHT, JoinKind.ANTI)
            return Union((self._filter_groups(groups, _LEFT, JoinKind.LEFT), alone))
        first = _RIGHT if self.kind is JoinKind.RIGHT else _LEFT
        return self._filter_groups(
            groups, first, JoinKind.LEFT if self.kind.makes_pairs else self.kind
        )

    def _groups(self) -> WindowAggregate:
        """Return a row for each window and key: the key, then an array of the rows of each side."""
        both = Union((self._branch(_LEFT), self._branch(_RIGHT)))
        columns, names = column_refs(both), tuple(column.name for column in both.schema)
        keys, calls = tuple(columns[:-2]), tuple(_all_rows(column) for column in columns[-2:])
        arrays = ("left_rows", "right_rows")
        return WindowAggregate(
            both,
            keys,
            names[:-2],
            calls,
            arrays,
            window_end=0,
            final=True,
            counted_below=True,
        )

    def _counted(self, side: int) -> Plan:
        """Return the rows of a side; those whose window has closed are counted, with its columns."""
        plan, end = self.sides[side], self.bounds[0]
        if not self.counts_late or always_on_time(plan, end[side]):
            return plan
        ends = list(zip(self.sides, end, strict=True))
        delay = max(delay_us(each, column) for each, column in ends)
        grain = max(grain_us(each) for each in self.sides)
        return CountLateRows(plan, end[side], REACHED, delay, grain)

    def _branch(self, side: int) -> Plan:
        """Return the rows of a side with bounds, keys, whether alone, and a row of each side."""
        plan = self._counted(side)
        keys = [pair[side] for pair in self.on.equal if _columns_of(pair) not in self.bounds]
        required = [call("is_not_null", key) for key in keys if key.nullable]
        required += self.on.of_right if side == _RIGHT else self.on.of_left
        alone: Expression = Literal(INT, nullable=False, value=0)
        if self._keeps(side) and required:
            branch = combine_balanced("and", required), alone
            # The number differs by side, so that these rows do not match.
            lonely = Literal(INT, nullable=False, value=side + 1)
            alone = Case(INT, nullable=False, branches=(branch,), otherwise=lonely)
        elif required:
            plan = filter_relation(plan, required)
        columns = column_refs(plan)
        row = call("row", *(columns[index] for index in self._fields(side)))
        rows: list[Expression] = [
            Cast(self._row_type(side), nullable=False, argument=row),
            Literal(self._row_type(1 - side), nullable=True, value=None),
        ]
        bounds = [columns[pair[side]] for pair in self.bounds]
        names = [
            *(self.sides[_LEFT].schema[pair[_LEFT]].name for pair in self.bounds),
            *(f"key_{index}" for index in range(len(keys))),
            *("alone", "left", "right"),
        ]
        ordered = rows if side == _LEFT else rows[::-1]
        return Project(plan, (*bounds, *keys, alone, *ordered), tuple(names))

    def _keeps(self, side: int) -> bool:
        """Return whether rows of a side without a partner are returned."""
        return self.kind.keeps_right if side == _RIGHT else self.kind.keeps_left

    def _is_padded(self, side: int) -> bool:
        """Return whether rows with NULLs for a side are returned."""
        return self.kind.keeps_right if side == _LEFT else self.kind.keeps_left

    def _fields(self, side: int) -> list[int]:
        """Return the columns of the rows in the array of a side; the bounds are keys."""
        shift = 0 if side == _LEFT else len(self.sides[_LEFT].schema)
        width = len(self.sides[side].schema)
        compared = {index - shift for each in self.on.of_both for index in columns_in(each)}
        if side == _LEFT or self.kind.makes_pairs:
            bounds = set() if self._is_padded(side) else {pair[side] for pair in self.bounds}
            compared |= {index for index in range(width) if index not in bounds}
        # A row has at least one field.
        return [index for index in range(width) if index in compared] or [0]

    def _row_type(self, side: int) -> SqlType:
        schema = self.sides[side].schema
        return row_of((schema[index].name, schema[index].type) for index in self._fields(side))

    def _products(self, groups: Plan) -> Plan:
        """Return the join if all rows of a group are partners of each other."""
        lefts, rights = column_refs(groups)[-2:]
        if not self.kind.makes_pairs:
            found = "is_null" if self.kind is JoinKind.ANTI else "is_not_null"
            some = filter_relation(groups, [call(found, rights)])
            rows = Unnest(some, lefts, "row", ordinality_name=None)
            return self._columns(rows, column_refs(rows)[-1], None)
        if self.kind.keeps_right:
            lefts = _or_null_row(lefts)
        if self.kind.keeps_left:
            rights = _or_null_row(rights)
        rows = Unnest(groups, lefts, "left_row", ordinality_name=None)
        rows = Unnest(rows, rights, "right_row", ordinality_name=None)
        left, right = column_refs(rows)[-2:]
        return self._columns(rows, left, right)

    def _filter_groups(self, groups: Plan, first: int, kind: JoinKind) -> Plan:
        """Return the rows of the side `first`, each with the rows of its group for which all conditions hold.

        The kind is LEFT, SEMI or ANTI, as if that side were the left one.
        """
        arrays = column_refs(groups)[-2:]
        rows: Plan = Unnest(groups, arrays[first], "row", ordinality_name=None)
        own = column_refs(rows)[-1]
        candidate = ColumnRef(self._row_type(1 - first), nullable=True, index=len(rows.schema))
        conditions = [
            self._over_rows(each, *((own, candidate) if first == _LEFT else (candidate, own)))
            for each in self.on.of_both
        ]
        rows = LateralAggregate(
            rows,
            arrays[1 - first],
            ordinality=False,
            predicate=combine_balanced("and", conditions),
            keys=(),
            key_names=(),
            aggregates=(_all_rows(candidate),),
            aggregate_names=("partners",),
        )
        partners = column_refs(rows)[-1]
        if kind is JoinKind.LEFT:
            rows = Unnest(rows, _or_null_row(partners), "partner", ordinality_name=None)
            partner: Expression | None = column_refs(rows)[-1]
        else:
            found = "is_null" if kind is JoinKind.ANTI else "is_not_null"
            rows, partner = filter_relation(rows, [call(found, partners)]), None
        if first == _LEFT:
            return self._columns(rows, own, partner)
        return self._columns(rows, partner, own)

    def _over_rows(self, condition: Expression, left: Expression, right: Expression) -> Expression:
        """Return a condition over columns of both sides as a condition over their rows."""
        width, indexes = len(self.sides[_LEFT].schema), (self._fields(_LEFT), self._fields(_RIGHT))

        def field(part: Expression) -> Expression | None:
            if not isinstance(part, ColumnRef):
                return None
            if part.index < width:
                row, index = left, indexes[_LEFT].index(part.index)
            else:
                row, index = right, indexes[_RIGHT].index(part.index - width)
            return FieldAccess(part.type, part.nullable, row, index)

        return replace_pending(condition, field, self.source_spans)

    def _columns(self, rows: Plan, left: Expression | None, right: Expression | None) -> Plan:
        """Return the columns of both rows; NULLs for a side without a row."""
        made: list[Expression] = []
        names: list[str] = []
        for side, row in enumerate((left, right)):
            if side == _RIGHT and not self.kind.makes_pairs:
                break
            padded, fields = self._is_padded(side), self._fields(side)
            kept = {} if padded else {pair[side]: i for i, pair in enumerate(self.bounds)}
            for index, column in enumerate(self.sides[side].schema):
                names.append(column.name)
                if row is None:
                    made.append(Literal(column.type, nullable=True, value=None))
                elif index in kept:
                    made.append(column_refs(rows)[kept[index]])
                else:
                    field = fields.index(index)
                    made.append(FieldAccess(column.type, column.nullable or padded, row, field))
        return Project(rows, tuple(made), tuple(names))


def _all_rows(row: Expression) -> AggregateCall:
    """Return the array of the rows that are not NULL; NULL if there are none."""
    return AggregateCall(
        AggregateFunction.ARRAY_AGG, row, array_of(row.type), nullable=True, ignore_nulls=True
    )


def _or_null_row(array: Expression) -> Expression:
    """Return an array of rows; if there are none, an array of one NULL row."""
    return call("coalesce", array, Literal(array.type, nullable=False, value=(None,)))
