"""Sessions, by their definition: one row after the other, each looking at all sessions of its key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fsql.compiler import logical
from fsql.tests.reference.delays import behind
from fsql.tests.reference.order import order_key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fsql.tests.reference.order import Key
    from fsql.tests.reference.relations import Root, Row, Values


@dataclass
class Session:
    """A session of a key: the rows so far."""

    key: Key
    start: int
    end: int
    rows: list[Row]


def session_closing(plan: logical.AssignSessions, end: int) -> Root:
    """Return the position at which a session closes: where the watermark is behind its end."""
    grain = logical.grain_us(plan.input)
    return (end // grain + 1) * grain + behind(plan.input, plan.time_column), -1


def sessions(
    plan: logical.AssignSessions, rows: Sequence[Row], partition: Callable[[Row], Values | None]
) -> tuple[list[Session], list[Row]]:
    """Return the sessions that `rows` make, closed or not, and the late ones among the rows.

    `partition` returns the values of the partition of a row; where one fails, None, and the row is in none.
    """
    found: list[Session] = []
    late: list[Row] = []
    for row in sorted(rows, key=lambda row: (row.root, row.path, row.values[plan.time_column])):
        values = partition(row)
        if values is None:
            continue
        key = tuple(map(order_key, values))
        start, end = row.values[plan.time_column], row.values[plan.end_column]
        assert isinstance(start, int)
        assert isinstance(end, int)
        touched = [
            other
            for other in found
            if other.key == key
            and row.root <= session_closing(plan, other.end)
            and other.start <= end
            and start <= other.end
        ]
        if not touched and row.root > session_closing(plan, end):
            late.append(row)
            continue
        made = Session(key, start, end, [row])
        for other in touched:
            found.remove(other)
            made.start, made.end = min(made.start, other.start), max(made.end, other.end)
            made.rows += other.rows
        found.append(made)
    return found, late
