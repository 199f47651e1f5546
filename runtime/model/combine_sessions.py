"""Sessions: the open sessions of a partition, with their rows, after each item.

A row joins the sessions that it overlaps or touches; a punctuation releases the session that ends at it.  So
all sessions in a state are open at its root.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsql.compiler.logical import session_close_time
from fsql.compiler.records import dataclass
from fsql.runtime.batch import PUNCTUATION, Root
from fsql.runtime.model.item import Punctuation, Row, State

if TYPE_CHECKING:
    from fsql.compiler.graph import CombineSessions, SessionClosing
    from fsql.runtime.model.item import Values

NO_BOUNDS: Values = (None, None, None)


@dataclass(frozen=True, slots=True)
class Session:
    """The rows of a session so far, in the form in which they will be released."""

    start: int
    end: int
    rows: tuple[Row, ...]


def combine_sessions(
    function: CombineSessions,
    sessions: tuple[Session, ...] | None,
    item: Row | Punctuation,
    root: Root,
) -> State:
    """Return the state after `item`."""
    sessions = sessions or ()
    if isinstance(item, Punctuation):
        closed = [each for each in sessions if session_root(function.closing, each.end) == root]
        caused = tuple(row for session in closed for row in _released(function, session))
        return State(item, caused, tuple(each for each in sessions if each not in closed))
    start, end = item.values[function.time_column], item.values[function.closing.window_end]
    assert isinstance(start, int)
    assert isinstance(end, int)
    moved = Row(item.values, (*root, *item.path), item.weight)
    joined = [each for each in sessions if each.start <= end and start <= each.end]
    if not joined and root > session_root(function.closing, end):
        return State(item, (_with_bounds(function, moved, start, NO_BOUNDS),), sessions)
    others = tuple(each for each in sessions if each not in joined)
    made = Session(
        min([start, *(each.start for each in joined)]),
        max([end, *(each.end for each in joined)]),
        (*(row for each in joined for row in each.rows), moved),
    )
    return State(item, (), (*others, made))


def session_root(closing: SessionClosing, end: int) -> Root:
    """Return the position at which a session with the given end closes."""
    return Root(session_close_time(end, closing.delay_us, closing.grain_us), PUNCTUATION)


def _released(function: CombineSessions, session: Session) -> tuple[Row, ...]:
    bounds = (session.start, session.end, session.end - 1)
    return tuple(_with_bounds(function, row, session.start, bounds) for row in session.rows)


def _with_bounds(function: CombineSessions, row: Row, start: int, bounds: Values) -> Row:
    """Return a row with the bounds of its session, in the requested order."""
    path = row.path
    if function.order_column is not None:
        order = row.values[function.order_column]
        assert isinstance(order, int)
        path = (start, order, *path)
    return Row(row.values + bounds, path, row.weight)
