"""Joins: what ON and WHERE say of two relations, sorted into keys, a time range and the rest.

Both inner joins with ON and comma joins with WHERE end here.  A condition from WHERE is only taken where
it says the same inside of the join: an equality or a bound of time that cannot fail.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fsql.compiler.binder.pending import replaced
from fsql.compiler.binder.relation import Relation, filtered
from fsql.compiler.binder.report import refusal
from fsql.compiler.binder.time_range import find_time_range
from fsql.compiler.expression import Call, ColumnRef, Expression
from fsql.compiler.functions.evaluate import fallible
from fsql.compiler.logical import Join
from fsql.compiler.node import walk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.binder.scope import Layer
    from fsql.compiler.binder.source_spans import SourceSpans
    from fsql.compiler.logical import TimeRange
    from fsql.compiler.text.source import Span


def side_by_side(left: Relation, right: Relation, span: Span) -> Layer:
    """Return the fields of both relations, as the columns of their join.

    Raises:
        Refusal: E205, if two relations have one name.
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
    return left.fields + tuple(field.shifted(left.width) for field in right.fields)


@dataclass(frozen=True, slots=True)
class Joined:
    """Two relations joined, and those of WHERE's conditions that the join has taken over.

    `half_bounded` says that time is bounded from one direction only, which bounds nothing.
    """

    relation: Relation
    taken: frozenset[Expression]
    time_range: TimeRange | None
    half_bounded: bool


def join(
    left: Relation,
    right: Relation,
    on: Sequence[Expression],
    where: Sequence[Expression],
    span: Span,
    source_spans: SourceSpans,
) -> Joined | None:
    """Return the join by the conditions, which are over both relations' columns; None without a key.

    What of `on` is neither a key nor a time range becomes a filter above the join.

    Raises:
        Refusal: E205, E309.
    """
    fields = side_by_side(left, right, span)
    keys = _keys((*on, *(each for each in where if not fallible(each))), left, source_spans)
    if not keys:
        return None
    # Sums with a timestamp can fail, as expressions; as bounds of a range they are never computed.
    schema = (*left.plan.schema, *right.plan.schema)
    bounds = find_time_range((*on, *where), schema, left.width)
    time_range = None if bounds is None else bounds.time_range
    if time_range is not None and time_range.low_us > time_range.high_us:
        raise refusal("E309", "the time range of the join is empty", span)
    taken = frozenset(keys)
    if bounds is not None and time_range is not None:
        taken |= frozenset(bounds.conditions)
    plan = Join(
        left.plan,
        right.plan,
        tuple(one for one, _ in keys.values()),
        tuple(other for _, other in keys.values()),
        time_range,
    )
    relation = Relation(filtered(plan, [each for each in on if each not in taken]), fields)
    return Joined(relation, taken, time_range, bounds is not None and time_range is None)


def fallible_key(left: Relation, where: Sequence[Expression], source_spans: SourceSpans) -> bool:
    """Say whether `where` has an equality between the sides that it would not do to compute early."""
    return bool(_keys([each for each in where if fallible(each)], left, source_spans))


def _keys(
    conditions: Sequence[Expression], left: Relation, source_spans: SourceSpans
) -> dict[Expression, tuple[Expression, Expression]]:
    """Return the equalities between the sides: each with its two keys, over the side's own columns."""
    keys: dict[Expression, tuple[Expression, Expression]] = {}
    for condition in conditions:
        if isinstance(condition, Call) and condition.function == "eq":
            one, other = condition.arguments
            for mine, theirs in ((one, other), (other, one)):
                if _all_below(mine, left.width) and _all_from(theirs, left.width):
                    keys[condition] = mine, shifted(theirs, -left.width, source_spans)
    return keys


def _columns(expression: Expression) -> list[int]:
    return [node.index for node in walk(expression) if isinstance(node, ColumnRef)]


def _all_below(expression: Expression, width: int) -> bool:
    columns = _columns(expression)
    return bool(columns) and max(columns) < width


def _all_from(expression: Expression, width: int) -> bool:
    columns = _columns(expression)
    return bool(columns) and min(columns) >= width


def shifted(expression: Expression, by: int, source_spans: SourceSpans) -> Expression:
    """Return the expression for rows in which `by` columns stand before those it is over."""
    return replaced(
        expression,
        lambda part: (
            ColumnRef(part.type, part.nullable, part.index + by)
            if isinstance(part, ColumnRef)
            else None
        ),
        source_spans,
    )
