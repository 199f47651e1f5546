"""Joins: the conditions of ON and WHERE, divided into keys, a time range and the rest.

Used for inner joins with ON and for comma joins with WHERE.  A condition of WHERE is moved into the join
only if its meaning does not change: an equality or a bound of time that cannot fail.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler.analysis.delays import delay_us
from fsql.compiler.analysis.properties import Bound, window_columns
from fsql.compiler.analysis.window_changes import equal_bounds
from fsql.compiler.binder.relation import Relation
from fsql.compiler.binder.report import refusal
from fsql.compiler.bound.pending import replace_pending
from fsql.compiler.diagnostics import Diagnostic, Label
from fsql.compiler.expression import Call, ColumnRef, Expression, TryCast
from fsql.compiler.functions.coercion import coerce, coercible, common_type
from fsql.compiler.functions.evaluate import fallible
from fsql.compiler.functions.time_zones import zone_of
from fsql.compiler.logical import (
    AssignRowTime,
    AssignSessions,
    AssignWindows,
    CountLateRows,
    Filter,
    Join,
    JoinKind,
    Over,
    Plan,
    Project,
    Scan,
    Union,
    Unnest,
    WindowAggregate,
    grain_us,
    operators,
)
from fsql.compiler.node import walk
from fsql.compiler.planner.joins.time_range import FoundRange, Times, find_time_range
from fsql.compiler.planner.lifetimes import join_while_alive, without_times
from fsql.compiler.planner.rows import ZERO, filter_relation, null_safe_keys
from fsql.compiler.records import dataclass
from fsql.compiler.sqltypes import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.compiler.binder.joins.broadcast import Broadcasts
    from fsql.compiler.binder.joins.skew import Skews
    from fsql.compiler.binder.scope import Layer
    from fsql.compiler.bound.lifetimes import SideLifetimes
    from fsql.compiler.bound.source_spans import SourceSpans
    from fsql.compiler.logical import TimeRange
    from fsql.compiler.text.source import Span


def side_by_side(left: Relation, right: Relation) -> Layer:
    """Return the fields of both relations, as the columns of their join."""
    return left.fields + tuple(field.shift(left.width) for field in right.fields)


def check_names(left: Relation, right: Relation, span: Span) -> None:
    """Check that the relations have distinct names.

    Raises:
        Refusal: E205.
    """
    names = {field.qualifier.lower() for field in left.fields if field.qualifier is not None}
    for field in right.fields:
        if field.qualifier is not None and field.qualifier.lower() in names:
            raise refusal(
                "E205",
                f'two relations in FROM have the name "{field.qualifier}"',
                span,
                help="rename one of them with AS",
            )


@dataclass(frozen=True, slots=True)
class BoundJoin:
    """The join of two relations, and the conditions of WHERE that it includes.

    `half_bounded` states that time is bounded in one direction only, which does not bound the state.
    Unless `keyed`, it has no equality between its sides.
    """

    relation: Relation
    taken: frozenset[Expression]
    time_range: TimeRange | None
    half_bounded: bool
    keyed: bool


def join(  # noqa: PLR0913 - the parts of a join
    left: Relation,
    right: Relation,
    on: Sequence[Expression],
    where: Sequence[Expression],
    span: Span,
    source_spans: SourceSpans,
    *,
    late_for: JoinKind | None = JoinKind.INNER,
    keyed: bool = True,
    lifetimes: SideLifetimes | None = None,
    skews: Skews | None = None,
    broadcasts: Broadcasts | None = None,
) -> BoundJoin | None:
    """Return the join by the conditions, which are over both relations' columns; None without a key.

    `late_for` is what the pairs are for: rows of sides that it keeps are not late; with None, late rows are
    not counted.  Conditions of `on` that are
    neither keys nor a time range become a filter above the join.  Unless `keyed`, the key may be a constant.
    With `lifetimes`, a join without a time range keeps rows for that long.  `skews` and `broadcasts` are the
    hints about it.

    Raises:
        Refusal: E309; E118 for a hint; E301 for lifetimes of rows that can be retracted.
    """
    fields = side_by_side(left, right)
    conditions = (*on, *(each for each in where if not fallible(each)))
    keys = equality_keys(conditions, left.width, source_spans)
    if not keys and keyed:
        return None
    pairs = [pair for found in keys.values() for pair in found] or [(ZERO, ZERO)]
    # Sums with a timestamp can fail as expressions, but as bounds of a range they are not evaluated.
    bounds = _time_range((*on, *where), left.plan, right.plan)
    time_range = None if bounds is None else bounds.time_range
    if time_range is not None and time_range.low_us > time_range.high_us:
        raise refusal("E309", "the time range of the join is empty", span)
    taken = frozenset(keys)
    if bounds is not None and time_range is not None:
        taken |= frozenset(bounds.conditions)
    sides = left.plan, right.plan
    if time_range is not None and late_for is not None:
        sides = _count_late_rows(*sides, time_range, late_for)
    whole = Join(
        *sides,
        tuple(one for one, _ in pairs),
        tuple(other for _, other in pairs),
        time_range,
    )
    if skews is not None:
        whole = replace(whole, hot_keys=skews.hot_keys(whole, left, right))
    if broadcasts is not None and whole.hot_keys is None:
        whole = replace(whole, hot_keys=broadcasts.parts(whole, left, right))
    plan: Plan = whole
    if lifetimes is not None and not _is_bounded(whole):
        plan = without_times(join_while_alive(whole, lifetimes), left.width, right.width)
    relation = Relation(filter_relation(plan, [each for each in on if each not in taken]), fields)
    half_bounded = bounds is not None and time_range is None
    return BoundJoin(relation, taken, time_range, half_bounded, bool(keys))


def _count_late_rows(
    left: Plan, right: Plan, bounds: TimeRange, kind: JoinKind
) -> tuple[Plan, Plan]:
    """Return the sides of a join with a time range, with those of their rows counted that no row can join.

    A row joins rows before it that are still kept, and rows after it.  Rows of a side that is kept without a
    partner are in the result in any case.
    """
    delay = max(delay_us(left, bounds.left_time), delay_us(right, bounds.right_time))
    grain = max(grain_us(left), grain_us(right))
    if not kind.keeps_left and not always_on_time(left, bounds.left_time):
        wait_us = max(bounds.high_us, bounds.high_us - bounds.low_us)
        left = CountLateRows(left, bounds.left_time, wait_us, delay, grain)
    if not kind.keeps_right and not always_on_time(right, bounds.right_time):
        wait_us = max(-bounds.low_us, bounds.high_us - bounds.low_us)
        right = CountLateRows(right, bounds.right_time, wait_us, delay, grain)
    return left, right


def always_on_time(plan: Plan, column: int) -> bool:
    """Return whether an event time is never behind the watermark: of the root, or of a closing window."""
    while True:
        match plan:
            case Filter() | Over() | CountLateRows():
                plan = plan.input
            case Unnest() if column < len(plan.input.schema):
                plan = plan.input
            case Project(expressions=expressions):
                value = expressions[column]
                if not isinstance(value, ColumnRef):
                    return False
                plan, column = plan.input, value.index
            case WindowAggregate(keys=keys, window_end=end, final=True):
                key = keys[column]
                return isinstance(key, ColumnRef) and key.index == end
            case Scan(table=table):
                return table.row_time and column == len(table.columns)
            case AssignRowTime() | AssignSessions():
                return column >= len(plan.input.schema)
            case _:
                return False


def fallible_key(left: Relation, where: Sequence[Expression], source_spans: SourceSpans) -> bool:
    """Return whether `where` has an equality between the sides that must not be evaluated early."""
    conditions = [each for each in where if fallible(each)]
    return bool(equality_keys(conditions, left.width, source_spans))


def equality_keys(
    conditions: Sequence[Expression], width: int, source_spans: SourceSpans
) -> dict[Expression, list[tuple[Expression, Expression]]]:
    """Return the equalities between the sides, each with its keys over the columns of each side.

    The left side has `width` columns.
    """
    keys: dict[Expression, list[tuple[Expression, Expression]]] = {}
    for condition in conditions:
        equated = _equality(condition)
        if equated is None:
            continue
        for mine, theirs in (equated, equated[::-1]):
            if all_below(mine, width) and all_from(theirs, width):
                other = shift_columns(theirs, -width, source_spans)
                same = condition.function == "eq" if isinstance(condition, Call) else False
                pairs = [(mine, other)] if same else null_safe_keys(mine, other)
                keys[condition] = [keys_of_one_type(*pair) for pair in pairs]
    return keys


def _equality(condition: Expression) -> tuple[Expression, Expression] | None:
    """Return the operands of an equality, by `=` or IS NOT DISTINCT FROM; None for other conditions."""
    match condition:
        case Call(function="eq", arguments=(one, other)):
            return one, other
        case Call(
            function="coalesce",
            arguments=(
                Call(function="eq", arguments=(one, other)),
                Call(
                    function="and",
                    arguments=(
                        Call(function="is_null", arguments=(null_one,)),
                        Call(function="is_null", arguments=(null_other,)),
                    ),
                ),
            ),
        ) if (null_one, null_other) == (one, other):
            return one, other
        case _:
            return None


def keys_of_one_type(one: Expression, other: Expression) -> tuple[Expression, Expression]:
    """Return keys of the same type, equal if and only if those given are.

    Of two types of DECIMAL without one that has the values of both, a number that the common type does not
    have is equal to none on the other side.
    """
    common = common_type([one.type, other.type])
    if common is None or common.kind is not Kind.DECIMAL:
        return one, other
    of_one, of_other = (
        coerce(each, common)
        if coercible(each.type, common)
        else TryCast(common, nullable=True, argument=each)
        for each in (one, other)
    )
    return of_one, of_other


def _time_range(conditions: Sequence[Expression], left: Plan, right: Plan) -> FoundRange | None:
    """Return the time range of a join that the conditions imply.

    An equality of window ends that are not multiples of the grain does not bound the time: such a window
    closes after its end, when a row at the end itself would be late.
    """
    grain = max(grain_us(left), grain_us(right))
    windows = [
        node
        for side in (left, right)
        for node in operators(side)
        if isinstance(node, AssignWindows)
    ]
    steps = (
        us for w in windows for us in (w.size_us, w.slide_us, w.offset_us, *zone_of(w.zone).offsets)
    )
    if any(us % grain for us in steps):
        conditions = [each for each in conditions if _equality(each) is None]
    width = len(left.schema)
    starts = {
        **window_starts(left),
        **{
            start + width: (end + width, size)
            for start, (end, size) in window_starts(right).items()
        },
    }
    return find_time_range(conditions, Times((*left.schema, *right.schema), width, starts))


def window_starts(plan: Plan) -> dict[int, tuple[int, int]]:
    """Return the starts of windows whose end is event time, each with the column of the end and the size."""
    columns = [(i, column) for i, column in enumerate(window_columns(plan)) if column is not None]
    ends = {
        column.windows: i
        for i, column in columns
        if column.bound is Bound.END and plan.schema[i].time_attribute
    }
    return {
        i: (ends[column.windows], column.windows.size_us)
        for i, column in columns
        if column.bound is Bound.START
        and column.windows in ends
        and isinstance(column.windows, AssignWindows)
        and column.windows.zone == "UTC"
    }


def columns_in(expression: Expression) -> list[int]:
    """Return the indexes of the columns in an expression."""
    return [node.index for node in walk(expression) if isinstance(node, ColumnRef)]


def all_below(expression: Expression, width: int) -> bool:
    """Return whether an expression has columns, and all of them before `width`."""
    columns = columns_in(expression)
    return bool(columns) and max(columns) < width


def all_from(expression: Expression, width: int) -> bool:
    """Return whether an expression has columns, and all of them from `width` on."""
    columns = columns_in(expression)
    return bool(columns) and min(columns) >= width


def shift_columns(expression: Expression, by: int, source_spans: SourceSpans) -> Expression:
    """Return the expression with its column indexes increased by `by`."""
    return renumber(expression, lambda index: index + by, source_spans)


def renumber(
    expression: Expression, change: Callable[[int], int], source_spans: SourceSpans
) -> Expression:
    """Return the expression with the index of each column changed."""
    return replace_pending(
        expression,
        lambda part: (
            ColumnRef(part.type, part.nullable, change(part.index))
            if isinstance(part, ColumnRef)
            else None
        ),
        source_spans,
    )


def keeps_rows(plan: Plan, *sides: Plan) -> bool:
    """Return whether a join keeps rows forever; its operators are those of `plan` above the sides."""
    below = {node for side in sides for node in operators(side)}
    made = [node for node in operators(plan) if node not in below]
    joins = [
        node
        for node in made
        if not isinstance(node, AssignRowTime | CountLateRows | Filter | Project | Union)
    ]
    return not all(isinstance(node, Join) and _is_bounded(node) for node in joins)


def _is_bounded(join: Join) -> bool:
    return join.time_range is not None or equal_bounds(join) is not None


def unbounded_join(span: Span, times: Sequence[str], note: str | None) -> Diagnostic:
    """Return the warning of a join without a time range."""
    helps = (
        (f"bound the time: AND {times[1]} BETWEEN {times[0]} AND {times[0]} + INTERVAL '1' HOUR",)
        if times
        else ()
    )
    return Diagnostic(
        "W302",
        "join without a time range keeps all rows of both sides",
        Label(span),
        notes=() if note is None else (note,),
        helps=helps,
    )
