"""Joins that keep all rows of both sides: without a time range, or without an equality between the sides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fsql.compiler.analysis.properties import derived_keys
from fsql.compiler.binder.joins.join import fallible_key, keeps_rows, unbounded_join
from fsql.compiler.logical import WindowAggregate, operators

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fsql.compiler.binder.context import Context
    from fsql.compiler.binder.joins.join import BoundJoin
    from fsql.compiler.binder.relation import Relation
    from fsql.compiler.expression import Expression
    from fsql.compiler.logical import Plan
    from fsql.compiler.text.source import Span


_NO_KEY: Final = "without an equality, one worker compares each row with all rows of the other side"
_LATE_KEY: Final = (
    "an equality that can fail is used as a key in ON only: one worker compares each row with all rows of the"
    " other side"
)
_HALF_BOUNDED: Final = "time is bounded from one direction only"
_UPDATING_WINDOW: Final = (
    "of windows with EMIT CHANGES, only equal bounds on both sides limit what is kept"
)
"""The notes of warnings of joins that keep all rows."""


def warn_of_kept_rows(
    joined: BoundJoin,
    left: Relation,
    right: Relation,
    where: Sequence[Expression],
    span: Span,
    context: Context,
) -> None:
    """Warn of an inner join that keeps all rows of both sides, if it does."""
    if not keeps_rows(joined.relation.plan, left.plan, right.plan):
        return
    note = _HALF_BOUNDED if joined.half_bounded else None
    if not joined.keyed:
        late = fallible_key(left, where, context.source_spans)
        note = _LATE_KEY if late else _NO_KEY
    if _has_updating_window(left.plan) or _has_updating_window(right.plan):
        note = _UPDATING_WINDOW
    context.report.warn(unbounded_join(span, _time_names(left, right), note))


def has_one_row(*sides: Relation) -> bool:
    """Return whether a side has at most one row, such as an aggregate without GROUP BY."""
    return any(() in derived_keys(side.plan) for side in sides)


def _time_names(left: Relation, right: Relation) -> list[str]:
    """Return the name of an event-time column of each side; nothing if a side has none."""
    times = [
        next((f"{f.qualifier}.{f.name}" for f in side.fields if f.column.time_attribute), None)
        for side in (left, right)
    ]
    return [time for time in times if time is not None] if all(times) else []


def _has_updating_window(plan: Plan) -> bool:
    """Return whether a plan has a window with EMIT CHANGES."""
    return any(isinstance(node, WindowAggregate) and not node.final for node in operators(plan))
