"""Joins that have no equality between their sides, or no time range: whether they are meant, and help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.analysis.properties import derived_keys
from fsql.compiler.binder.joins.join import columns_in, fallible_key, join
from fsql.compiler.binder.report import Refusal, refusal
from fsql.compiler.logical import WindowAggregate, operators

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.binder.relation import Relation
    from fsql.compiler.binder.source_spans import SourceSpans
    from fsql.compiler.expression import Expression
    from fsql.compiler.logical import Plan
    from fsql.compiler.text.source import Span


NO_KEY: Final = "without an equality, one worker compares each row with all rows of the other side"
HALF_BOUNDED: Final = "time is bounded from one direction only"
UPDATING_WINDOW: Final = (
    "of windows with EMIT CHANGES, only equal bounds on both sides limit what is kept"
)
"""The notes of warnings of joins that keep all rows."""


def pairs_all_rows(
    left: Relation,
    right: Relation,
    where: Sequence[Expression],
    span: Span,
    source_spans: SourceSpans,
) -> bool:
    """Return whether relations between commas are meant to be joined without an equality between them.

    They are if one has at most one row, such as an aggregate without GROUP BY, or if a condition of `where`
    is over both.  An equality that can fail has to be in ON, unless it bounds the time.
    """
    if any(() in derived_keys(side.plan) for side in (left, right)):
        return True
    columns = [columns_in(condition) for condition in where]
    if not any(found and min(found) < left.width <= max(found) for found in columns):
        return False
    if not fallible_key(left, where, source_spans):
        return True
    joined = join(left, right, (), where, span, source_spans, keyed=False)
    return joined is not None and joined.time_range is not None


def no_equality(
    left: Relation,
    right: Relation,
    where: Sequence[Expression],
    span: Span,
    source_spans: SourceSpans,
) -> Refusal:
    """Return the refusal of relations between commas that nothing connects."""
    late = fallible_key(left, where, source_spans)
    return refusal(
        "E308",
        "join without an equality between its sides",
        span,
        note="an equality that can fail is used as a key in ON only" if late else None,
        help="write it in ON: FROM a JOIN b ON …"
        if late
        else f"{_equality_help(left, right)}; to pair all rows, write CROSS JOIN",
    )


def _equality_help(left: Relation, right: Relation) -> str:
    """Return help that adds an equality to WHERE, with columns of equal name and type if there are any."""
    names = {field.name.lower(): field for field in left.fields}
    for field in right.fields:
        mate = names.get(field.name.lower())
        if mate is not None and mate.column.type == field.column.type:
            pair = f"{mate.qualifier or 'a'}.{mate.name} = {field.qualifier or 'b'}.{field.name}"
            return f"add an equality to WHERE, such as {pair}"
    return "add an equality of a column of each side to WHERE"


def time_names(left: Relation, right: Relation) -> list[str]:
    """Return the name of an event-time column of each side; nothing if a side has none."""
    times = [
        next((f"{f.qualifier}.{f.name}" for f in side.fields if f.column.time_attribute), None)
        for side in (left, right)
    ]
    return [time for time in times if time is not None] if all(times) else []


def has_updating_window(plan: Plan) -> bool:
    """Return whether a plan has a window with EMIT CHANGES."""
    return any(isinstance(node, WindowAggregate) and not node.final for node in operators(plan))
