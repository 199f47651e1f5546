"""ASOF joins: `a ASOF JOIN b ON a.k = b.k AND a.at >= b.at`, with the last row of b up to the time of a.

With `<` or `<=` it is the next one (`next_rows.py`).  Over a stream, the
times are event time, the rows of b are versions of their key (`versions.py`), and a row of a is joined when
no earlier row of b can arrive.  If several rows of b have the same time, the last in the total order is
joined, of next ones the first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.binder.joins.asof_contents import asof_contents, has_identity
from fsql.compiler.binder.joins.join import (
    all_below,
    all_from,
    equality_keys,
    shift_columns,
    side_by_side,
)
from fsql.compiler.binder.joins.next_rows import with_next_rows
from fsql.compiler.binder.joins.outer_join import with_columns
from fsql.compiler.binder.joins.temporal_join import FoundVersions
from fsql.compiler.binder.joins.versions import VersionedSide, rename_fields, with_versions
from fsql.compiler.binder.relation import Relation
from fsql.compiler.binder.report import not_implemented, refusal
from fsql.compiler.diagnostics import Diagnostic, Label
from fsql.compiler.expression import Call, ColumnRef
from fsql.compiler.functions.calls import call
from fsql.compiler.logical import JoinKind, append_only
from fsql.compiler.planner.joins.changed_versions import changed_versions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler import syntax
    from fsql.compiler.binder.context import Context
    from fsql.compiler.expression import Expression
    from fsql.compiler.text.source import Span


_SWAPPED: Final = {"le": "ge", "lt": "gt", "ge": "le", "gt": "lt"}
_NEXT: Final = frozenset({"le", "lt"})
_EXAMPLE: Final = "write ON a.k = b.k AND a.at >= b.at, with the event times of both sides"


def join_as_of(
    clause: syntax.JoinClause,
    left: Relation,
    right: Relation,
    on: Sequence[Expression],
    context: Context,
) -> Relation:
    """Return the join of each row of the left with the last row of the right up to its time, or the next one.

    Raises:
        Refusal: E301, E304, E308, E310, E323.
    """
    span = clause.span
    if clause.using or clause.natural:
        raise not_implemented("USING of an ASOF JOIN", span, help=_EXAMPLE)
    appended = append_only(left.plan) and append_only(right.plan)
    if not appended and not has_identity(left.plan, right.plan):
        raise refusal(
            "E310",
            "ASOF JOIN of rows that can be retracted, and have no key",
            span,
            help="give a table on one of its sides a PRIMARY KEY",
        )
    equalities = equality_keys(on, left.width, context.source_spans)
    rest = [condition for condition in on if condition not in equalities]
    found = [
        (each, bound)
        for each in rest
        if (bound := _bound(each, left, right, clause, context, in_time=appended))
    ]
    if len(found) != 1:
        raise refusal(
            "E323",
            f"ASOF JOIN {'with several comparisons' if found else 'without a comparison'} of times",
            span,
            help=_EXAMPLE,
        )
    [(condition, (mine, theirs, function))] = found
    others = [each for each in rest if each is not condition]
    if others:
        raise not_implemented(
            "conditions of an ASOF JOIN other than equalities and one comparison of times",
            _span(others[0], clause, context),
            help="write them in a subquery on the right side, or in WHERE",
        )
    if not equalities:
        raise refusal(
            "E308", "ASOF JOIN without an equality between its sides", span, help=_EXAMPLE
        )
    pairs = [pair for each in equalities.values() for pair in each]
    kind = JoinKind.LEFT if clause.kind == "ASOF LEFT" else JoinKind.INNER
    if not appended:
        return _with_tables(kind, left, right, pairs, (mine, theirs, function), context, span)
    rows = VersionedSide(left.plan, mine, tuple(one for one, _ in pairs))
    others_side = VersionedSide(right.plan, theirs, tuple(other for _, other in pairs))
    if function in _NEXT:
        context.report.warn(_keeps_left(span))
        plan = with_next_rows(kind, rows, others_side, context, span, after=function == "lt")
    else:
        plan = with_versions(kind, rows, others_side, context, span, before=function == "gt")
    return Relation(plan, rename_fields(side_by_side(left, right), plan))


def _with_tables(
    kind: JoinKind,
    left: Relation,
    right: Relation,
    pairs: Sequence[tuple[Expression, Expression]],
    bound: tuple[int, int, str],
    context: Context,
    span: Span,
) -> Relation:
    """Return the join where a side is a table with a key, whose rows are replaced and removed.

    If the equalities include the key of the right, its rows are versions, as in a temporal join: the table
    has one of them at a time.  Rows of a left table with a key are joined with versions by their changes.
    """
    mine, theirs, function = bound
    changes = changed_versions(left.plan), changed_versions(right.plan)
    rows = (
        left
        if append_only(left.plan)
        else changes[0] and with_columns(left.fields, changes[0].plan)
    )
    keys: Sequence[tuple[Expression, Expression]] = pairs
    conditions: list[Expression] = []
    versions = right if append_only(right.plan) else None
    if versions is None and changes[1] is not None:
        equated = {other.index for _, other in pairs if isinstance(other, ColumnRef)}
        if equated.issuperset(changes[1].key):
            versions = right.with_plan(changes[1].plan)
            keys, conditions = _split_keys(pairs, changes[1].key, left.width, context)
    if (
        rows is None
        or versions is None
        or function in _NEXT
        or not rows.plan.schema[mine].time_attribute
        or not versions.plan.schema[theirs].time_attribute
    ):
        context.report.warn(_keeps_both(span))
        plan = asof_contents(kind, left.plan, right.plan, pairs, bound)
        return with_columns(side_by_side(left, right), plan)
    left_key = None if changes[0] is None or rows is left else changes[0].key
    plan = with_versions(
        kind if left_key is None else JoinKind.LEFT,
        VersionedSide(rows.plan, mine, tuple(one for one, _ in keys)),
        VersionedSide(versions.plan, theirs, tuple(other for _, other in keys)),
        context,
        span,
        before=function == "gt",
    )
    found = FoundVersions(kind, left_key, theirs if versions is right else None, theirs)
    return found.relation(left, right, plan, conditions, context)


def _split_keys(
    pairs: Sequence[tuple[Expression, Expression]],
    key: tuple[int, ...],
    width: int,
    context: Context,
) -> tuple[list[tuple[Expression, Expression]], list[Expression]]:
    """Return the pairs that equate the columns of a key, and the other equalities as conditions."""
    keys: list[tuple[Expression, Expression]] = []
    conditions: list[Expression] = []
    left = set(key)
    for mine, other in pairs:
        if isinstance(other, ColumnRef) and other.index in left:
            left.remove(other.index)
            keys.append((mine, other))
        else:
            conditions.append(call("eq", mine, shift_columns(other, width, context.source_spans)))
    return keys, conditions


def _keeps_both(span: Span) -> Diagnostic:
    """Return the warning of a join of what tables contain."""
    return Diagnostic(
        "W302",
        "ASOF JOIN of rows that are replaced keeps all rows of both sides",
        Label(span),
        notes=(
            (
                "if the equalities have the key of the right side, and event times are compared by >= or >,"
                " it keeps the last row of each key"
            ),
        ),
    )


def _bound(
    condition: Expression,
    left: Relation,
    right: Relation,
    clause: syntax.JoinClause,
    context: Context,
    *,
    in_time: bool,
) -> tuple[int, int, str] | None:
    """Return the times of both sides that a condition compares, and by which function.

    None if the condition is not a comparison between the sides.  Unless `in_time`, any columns do.

    Raises:
        Refusal: E304 if it compares columns that are not event time.
    """
    if not isinstance(condition, Call) or condition.function not in _SWAPPED:
        return None
    one, other = condition.arguments
    function = condition.function
    if all_from(one, left.width) and all_below(other, left.width):
        one, other, function = other, one, _SWAPPED[function]
    if not all_below(one, left.width) or not all_from(other, left.width):
        return None
    other = shift_columns(other, -left.width, context.source_spans)
    if not in_time and isinstance(one, ColumnRef) and isinstance(other, ColumnRef):
        return one.index, other.index, function
    mine, theirs = _event_time(one, left), _event_time(other, right)
    if mine is None or theirs is None:
        raise refusal(
            "E304",
            "ASOF JOIN compares columns that are not event time",
            _span(condition, clause, context),
            help="compare the columns for which CREATE TABLE declares WATERMARK FOR",
        )
    return mine, theirs, function


def _keeps_left(span: Span) -> Diagnostic:
    """Return the warning of a join with the next row."""
    return Diagnostic(
        "W302", "ASOF JOIN with the next row keeps all rows of the left side", Label(span)
    )


def _event_time(expression: Expression, side: Relation) -> int | None:
    """Return the event-time column to which an expression refers."""
    if not isinstance(expression, ColumnRef):
        return None
    return expression.index if side.plan.schema[expression.index].time_attribute else None


def _span(condition: Expression, clause: syntax.JoinClause, context: Context) -> Span:
    """Return where a condition is written; for one that is not in the text, where the join is."""
    return next(iter(context.source_spans.of(condition)), clause.span)
