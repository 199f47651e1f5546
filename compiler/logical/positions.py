"""Analyses of plans: their operators and tables, and the positions of their rows.

They are computed on demand.  Further analyses are `properties` (keys) and `delays` (event time).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeGuard

from fsql.compiler.logical.changes import ApplyChanges, ToChangelog
from fsql.compiler.logical.groups import Aggregate, LateralAggregate, WindowAggregate
from fsql.compiler.logical.joins import HotKeys, Join, JoinKind, Union
from fsql.compiler.logical.rankings import Rank
from fsql.compiler.logical.rows import (
    AssignExpiry,
    AssignWindows,
    CountLateRows,
    Filter,
    Scan,
    Unnest,
)
from fsql.compiler.logical.sessions import AssignSessions

if TYPE_CHECKING:
    from fsql.compiler.logical.declared import Table
    from fsql.compiler.logical.plan import Plan


ROOT_LEVELS: Final = 2
"""The number of path levels that keep a root position: its time and its origin."""
_ORDER_LEVELS: Final = 2
"""The number of path levels before these that order rows: the start of a session and a column."""


def operators(plan: Plan) -> tuple[Plan, ...]:
    """Return every operator of `plan`, each once, inputs before the operators that read them."""
    found: dict[Plan, None] = {}
    # An explicit stack: views can make plans deeper than the recursion limit.
    waiting: list[tuple[Plan, bool]] = [(plan, False)]
    while waiting:
        node, below_done = waiting.pop()
        if below_done:
            found[node] = None
        elif node not in found:
            waiting.append((node, True))
            waiting.extend((below, False) for below in reversed(node.inputs))
    return tuple(found)


def tables(plan: Plan) -> tuple[Table, ...]:
    """Return the tables that `plan` scans, in the order of their first scan."""
    return tuple(dict.fromkeys(node.table for node in operators(plan) if isinstance(node, Scan)))


def least_scan_number(plan: Plan) -> int:
    """Return the least scan number of `plan`."""
    return min(node.scan_number for node in operators(plan) if isinstance(node, Scan))


def depth(plan: Plan) -> int:
    """Return the number of path columns of the rows of `plan`."""
    depths: dict[Plan, int] = {}
    for node in operators(plan):
        below = max((depths[each] for each in node.inputs), default=0)
        match node:
            case Scan() | ApplyChanges() | Aggregate() | WindowAggregate() | Rank():
                depths[node] = 1
            case ToChangelog():
                depths[node] = 2
            case Join(hot_keys=HotKeys()):
                depths[node] = below + ROOT_LEVELS + below
            case Unnest() | LateralAggregate() | AssignWindows() | Join():
                depths[node] = below + 1
            case AssignSessions(order_column=order):
                depths[node] = below + session_levels(order)
            case _:
                depths[node] = below
    return depths[plan]


def session_levels(order_column: int | None) -> int:
    """Return the number of path columns that sessions put before those of their input."""
    return ROOT_LEVELS if order_column is None else _ORDER_LEVELS + ROOT_LEVELS


def append_only(plan: Plan) -> bool:
    """Return whether `plan` never retracts a row.

    Operators below a ToChangelog or a Rank at the end of the input, or on the right of a join with `once`,
    may do so.
    """
    met = {plan}
    waiting = [plan]
    while waiting:
        node = waiting.pop()
        if _retracts(node):
            return False
        below = node.inputs
        if isinstance(node, ToChangelog) or (isinstance(node, Rank) and node.at_end):
            below = ()
        elif isinstance(node, Join) and node.once:
            below = (node.left,)
        waiting += [each for each in below if each not in met]
        met.update(below)
    return True


def _retracts(node: Plan) -> bool:
    """Return whether an operator can itself retract rows."""
    match node:
        case ApplyChanges() | Aggregate() | WindowAggregate(final=False) | Rank(final=False):
            return True
        case Join(kind=kind, once=once):
            return kind is not JoinKind.INNER and not once
        case _:
            return False


def has_late_rows(
    plan: Plan,
) -> TypeGuard[WindowAggregate | AssignSessions | Rank | CountLateRows]:
    """Return whether rows can be late for the operator `plan`, which counts them."""
    match plan:
        case WindowAggregate(counted_below=below):
            return not below
        case Rank(window_end=end):
            return end is not None
        case _:
            return isinstance(plan, AssignSessions | CountLateRows)


def has_expiring_rows(plan: Plan) -> bool:
    """Return whether the windows of `plan` end when rows can no longer be joined, so that no row is late."""
    below = plan.input if isinstance(plan, WindowAggregate) else None
    while isinstance(below, Filter):
        below = below.input
    return isinstance(below, AssignExpiry)


def may_tie(plan: Plan) -> bool:
    """Return whether two rows of the append-only `plan` may share a position (root and path).

    Rows of different scans have different paths.  Those of one scan can meet in a UNION ALL: in LATERAL, its
    parts are computed from the same rows.
    """
    return any(
        isinstance(node, WindowAggregate | Rank)
        or (isinstance(node, Join) and node.once)
        or (isinstance(node, Union) and _shares_scans(node))
        for node in operators(plan)
    )


def _shares_scans(union: Union) -> bool:
    """Return whether two branches read the same scan."""
    return sum(len(_scans(branch)) for branch in union.inputs) > len(_scans(union))


def _scans(plan: Plan) -> list[Scan]:
    return [node for node in operators(plan) if isinstance(node, Scan)]


def grain_us(plan: Plan) -> int:
    """Return the grain of the watermark after `plan`: the greatest of the tables that it scans."""
    return max(table.grain_us for table in tables(plan))


def close_time(window_end_us: int, delay: int, grain: int) -> int:
    """Return the time of the punctuation at which a window that ends at `window_end_us` closes.

    It is the least T whose watermark `floor((T - delay) / grain) * grain` reaches the end.
    """
    return -(-window_end_us // grain) * grain + delay


def session_close_time(end_us: int, delay: int, grain: int) -> int:
    """Return the time of the punctuation at which a session that ends at `end_us` closes.

    It is the least T whose watermark is greater than the end: a row at the end is part of the session.
    """
    return close_time(end_us + 1, delay, grain)


def expiry_time(until_us: int, root_time: int, delay: int, grain: int) -> int:
    """Return the end of the window of a row that can be joined up to `until_us` (see `AssignExpiry`).

    If the watermark at the row's root has already passed that time, the window ends at this watermark, so
    that it closes at the next punctuation.
    """
    return max(until_us, watermark_at(root_time, delay, grain)) + 1


def watermark_at(root_time: int, delay: int, grain: int) -> int:
    """Return the watermark at a root position of this time."""
    return (root_time - delay) // grain * grain
