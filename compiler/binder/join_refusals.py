"""Help for joins that have no equality between their sides, or no time range."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.binder.report import Refusal, refusal

if TYPE_CHECKING:
    from fsql.compiler.binder.relation import Relation
    from fsql.compiler.text.source import Span


def cross_join(span: Span) -> Refusal:
    """Return the refusal of a CROSS JOIN that would pair all rows."""
    return refusal(
        "E308",
        "CROSS JOIN without an equality between its sides",
        span,
        help="to pair all rows, add a constant column to both sides and join on it",
    )


def equality_help(clause: str, left: Relation, right: Relation) -> str:
    """Return help that adds an equality: with two columns of equal name and type, if there are any."""
    names = {field.name.lower(): field for field in left.fields}
    for field in right.fields:
        mate = names.get(field.name.lower())
        if mate is not None and mate.column.type == field.column.type:
            pair = f"{mate.qualifier or 'a'}.{mate.name} = {field.qualifier or 'b'}.{field.name}"
            return f"add an equality to {clause}, such as {pair}"
    return f"add an equality of a column of each side to {clause}"


def time_names(left: Relation, right: Relation) -> list[str]:
    """Return the name of an event-time column of each side; nothing if a side has none."""
    times = [
        next((f"{f.qualifier}.{f.name}" for f in side.fields if f.column.time_attribute), None)
        for side in (left, right)
    ]
    return [time for time in times if time is not None] if all(times) else []
