"""Where windows end and close, and when rows expire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeGuard

from fsql.compiler import logical
from fsql.tests.reference.delays import behind, up
from fsql.tests.reference.sessions import session_closing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsql.tests.reference.relations import Root, Values

Window = logical.WindowAggregate | logical.AssignSessions | logical.Rank

PUNCTUATION: Final = -1


def has_closing(plan: logical.Plan) -> TypeGuard[Window]:
    """Return whether an operator has windows that close."""
    return isinstance(plan, Window) and not (
        isinstance(plan, logical.Rank) and plan.window_end is None
    )


def window_end(plan: logical.WindowAggregate | logical.Rank, values: Values) -> int:
    """Return the end of the window that a row is in."""
    assert plan.window_end is not None
    end = values[plan.window_end]
    assert isinstance(end, int)
    return end


def closing(plan: Window, end: int) -> Root:
    """Return the position at which a window closes: where the watermark reaches its end."""
    if isinstance(plan, logical.AssignSessions):
        return session_closing(plan, end)
    grain = logical.grain_us(plan.input)
    assert plan.window_end is not None
    shown = plan.shown_us if isinstance(plan, logical.WindowAggregate) else None
    time = up(end, grain) + (behind(plan.input, plan.window_end) if shown is None else shown)
    return time, PUNCTUATION


def closings(plan: logical.Plan, window_ends: Mapping[Window, set[int]]) -> set[Root]:
    """Return where the windows below `plan` close."""
    below = logical.operators(plan)
    ends = [(window, end) for window, known in window_ends.items() for end in known]
    return {closing(window, end) for window, end in ends if window in below}


def expired(plan: logical.CountLateRows, values: Values, root: Root) -> bool:
    """Return whether a row comes when the watermark is beyond all rows that it could be joined with."""
    time = values[plan.time_column]
    assert isinstance(time, int)
    return (root[0] - plan.delay_us) // plan.grain_us * plan.grain_us > time + plan.wait_us


def expiry(plan: logical.AssignExpiry, values: Values, root: Root) -> int:
    """Return when a row can no longer be joined: behind the watermark where it comes."""
    time = values[plan.time_column]
    assert isinstance(time, int)
    passed = (root[0] - plan.delay_us) // plan.grain_us * plan.grain_us
    return max(time + plan.wait_us, passed) + 1
