"""LEFT, RIGHT, FULL, SEMI and ANTI joins: the effect of the conditions of ON.

All conditions of ON determine which rows match; none of them drops a row that is kept.  Equalities between
the sides are keys.  A condition on one side alone filters that side if only its partners are returned; if the
side is kept, it becomes a key that is NULL, and so matches nothing, where the condition is not TRUE.

Any other condition is over both sides, so that a row has a match only if one of its pairs has.  Then the
result is composed of the pairs, and of the rows that are not in any pair:

    x LEFT JOIN y ON p   →   pairs UNION ALL (x ANTI JOIN pairs ON all columns of x, with NULLs)

Joins of windows (`window_join`) and with a time range (`interval_join`) are final.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fsql.compiler.binder.joins.join import (
    all_from,
    columns_in,
    equality_keys,
    join,
    renumber,
    shift_columns,
    side_by_side,
)
from fsql.compiler.binder.joins.window_join import Conditions, window_join
from fsql.compiler.binder.relation import Relation
from fsql.compiler.binder.report import Refusal, not_implemented
from fsql.compiler.expression import Case, Literal
from fsql.compiler.logical import Join, JoinKind, Plan, Project, Union, append_only
from fsql.compiler.planner.joins.interval_join import IntervalJoin
from fsql.compiler.planner.lifetimes import join_while_alive, without_times
from fsql.compiler.planner.rows import ZERO, column_refs, filter_relation, null_safe_keys
from fsql.compiler.sqltypes import INT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.binder.scope import Layer
    from fsql.compiler.bound.lifetimes import SideLifetimes
    from fsql.compiler.bound.source_spans import SourceSpans
    from fsql.compiler.expression import Expression
    from fsql.compiler.text.source import Span


_Keys = tuple[tuple["Expression", ...], tuple["Expression", ...]]


def outer_join(  # noqa: PLR0913 - the parts of a join
    kind: JoinKind,
    left: Relation,
    right: Relation,
    on: Sequence[Expression],
    source_spans: SourceSpans,
    *,
    span: Span,
    changes: bool,
    lifetimes: SideLifetimes | None = None,
    counts_late: bool = True,
) -> Relation:
    """Return the join by the conditions, which are over both relations' columns.

    Without an equality between the sides, the key is a constant.  Unless `counts_late`, another join of the
    same rows counts those that are late.  With `changes`, a join with a time range is updating, like one
    without.  With `lifetimes`, a join without a time range keeps rows for that long, and is final.

    Raises:
        Refusal: E309; E301 for lifetimes of rows that can be retracted, or with `changes`.
    """
    equalities = equality_keys(on, left.width, source_spans)
    rest = [condition for condition in on if condition not in equalities]
    of_right = [each for each in rest if all_from(each, left.width)]
    of_left = [each for each in rest if all(i < left.width for i in columns_in(each))]
    pairs = [pair for found in equalities.values() for pair in found] or [(ZERO, ZERO)]
    own = [shift_columns(each, -left.width, source_spans) for each in of_right]
    of_both = [each for each in rest if each not in of_left and each not in of_right]
    conditions = Conditions(pairs, of_left, own, of_both)
    windowed = window_join(
        kind, left.plan, right.plan, conditions, source_spans, counts_late=counts_late
    )
    final = windowed
    if final is None and not changes:
        final = _with_time_range(kind, left, right, on, span, source_spans, counts_late=counts_late)
    if final is None and lifetimes is not None:
        if changes:
            raise _changes_refusal(kind, lifetimes.span)
        whole = Join(left.plan, right.plan, *_keys(pairs), None)
        final = _join_while_kept(kind, whole, rest, lifetimes, source_spans)
    if final is not None:
        plan = final
    elif of_both:
        matching = Join(left.plan, right.plan, *_keys(pairs), None)
        plan = by_pairs(kind, left.plan, right.plan, filter_relation(matching, rest))
    else:
        left_plan, right_plan = left.plan, right.plan
        if kind.keeps_left:
            pairs += [(zero_where(each), ZERO) for each in of_left]
        else:
            left_plan = filter_relation(left_plan, of_left)
        if kind.keeps_right:
            pairs += [(ZERO, zero_where(each)) for each in own]
        else:
            right_plan = filter_relation(right_plan, own)
        plan = Join(left_plan, right_plan, *_keys(pairs), None, kind)
    fields = side_by_side(left, right) if kind.makes_pairs else left.fields
    return with_columns(fields, plan)


def _with_time_range(
    kind: JoinKind,
    left: Relation,
    right: Relation,
    on: Sequence[Expression],
    span: Span,
    source_spans: SourceSpans,
    *,
    counts_late: bool,
) -> Plan | None:
    """Return the join with a time range of rows that are never retracted; None for other rows."""
    if not (append_only(left.plan) and append_only(right.plan)):
        return None
    late_for = kind if counts_late else None
    joined = join(left, right, on, (), span, source_spans, late_for=late_for, keyed=False)
    if joined is None or joined.time_range is None:
        return None
    pairs = joined.relation.plan
    return IntervalJoin(kind, left.plan, right.plan, pairs, joined.time_range).plan()


def _changes_refusal(kind: JoinKind, span: Span) -> Refusal:
    return not_implemented(
        f"a time to live in a {kind.value} join with EMIT CHANGES",
        span,
        help="remove EMIT CHANGES: rows are emitted when it is known that they have no match",
    )


def _join_while_kept(
    kind: JoinKind,
    whole: Join,
    conditions: Sequence[Expression],
    lifetimes: SideLifetimes,
    source_spans: SourceSpans,
) -> Plan:
    """Return the join whose pairs are those of `whole` by `conditions` while both rows are kept."""
    width, right_width = len(whole.left.schema), len(whole.right.schema)
    joined = join_while_alive(whole, lifetimes)
    assert joined.time_range is not None
    tests = [renumber(each, lambda i: i + (i >= width), source_spans) for each in conditions]
    pairs = filter_relation(joined, tests)
    plan = IntervalJoin(kind, joined.left, joined.right, pairs, joined.time_range).plan()
    return without_times(plan, width, *([right_width] if kind.makes_pairs else []))


def with_columns(fields: Layer, plan: Plan) -> Relation:
    """Return the relation of a join: its fields are as nullable as the columns of the join."""
    # The name of a field of a ROW keeps the column of the field, which may be NULL in any case.
    return Relation(
        plan,
        tuple(f if f.member else replace(f, column=plan.schema[f.index]) for f in fields),
    )


def _keys(pairs: Sequence[tuple[Expression, Expression]]) -> _Keys:
    return tuple(one for one, _ in pairs), tuple(other for _, other in pairs)


def zero_where(condition: Expression) -> Expression:
    """Return a key that is 0 where the condition is TRUE, else NULL."""
    nothing = Literal(INT, nullable=True, value=None)
    return Case(INT, nullable=True, branches=((condition, ZERO),), otherwise=nothing)


def by_pairs(kind: JoinKind, left: Plan, right: Plan, matching: Plan) -> Plan:
    """Return the join whose pairs are `matching`."""
    if not kind.makes_pairs:
        return _join_pairs(kind, left, matching, 0)
    width = len(left.schema)
    names = tuple(column.name for column in matching.schema)
    branches = [Project(matching, tuple(column_refs(matching)), names)]
    if kind.keeps_left:
        alone = _join_pairs(JoinKind.ANTI, left, matching, 0)
        branches.append(Project(alone, (*column_refs(alone), *_nulls(right)), names))
    if kind.keeps_right:
        alone = _join_pairs(JoinKind.ANTI, right, matching, width)
        branches.append(Project(alone, (*_nulls(left), *column_refs(alone)), names))
    return Union(tuple(branches))


def _join_pairs(kind: JoinKind, side: Plan, matching: Plan, first: int) -> Plan:
    """Return the rows of a side that are (SEMI) or are not (ANTI) in the pairs' columns from `first` on."""
    in_pairs = column_refs(matching)[first : first + len(side.schema)]
    pairs = [
        pair
        for one, other in zip(column_refs(side), in_pairs, strict=True)
        for pair in null_safe_keys(one, other)
    ]
    return Join(side, matching, *_keys(pairs), None, kind)


def _nulls(side: Plan) -> list[Expression]:
    """Return a NULL for each column of a side."""
    return [Literal(column.type, nullable=True, value=None) for column in side.schema]
